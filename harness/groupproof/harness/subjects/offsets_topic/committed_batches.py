"""Removes the records of aborted transactions from a Fetch response, for a reader of committed records. Pure.

Source: Kafka's `CompletedFetch` of the consumer. The response names the aborted transactions by producer and first offset. From there on the
producer's batches are skipped, up to the marker that ends the transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch

__all__ = ["committed"]

_ABORT: Final = "ABORT"


def committed(batches: Iterable[LogBatch | BrokenBatch], aborted: Iterable[Mapping[str, Any]]) -> Iterator[LogBatch | BrokenBatch]:
    """Yield the batches in order. Batches without committed records are empty, so that a reader's position still advances."""
    ahead = sorted(((entry["first_offset"], entry["producer_id"]) for entry in aborted), reverse=True)
    open_producers: set[int] = set()
    for batch in batches:
        if isinstance(batch, BrokenBatch) or not (batch.is_transactional or batch.marker is not None):
            yield batch
            continue
        while ahead and ahead[-1][0] <= batch.last_offset:
            open_producers.add(ahead.pop()[1])
        if batch.marker == _ABORT:
            open_producers.discard(batch.producer_id)
        counts = batch.marker is None and batch.producer_id not in open_producers
        yield batch._replace(is_transactional=False, marker=None, records=batch.records if counts else [])
