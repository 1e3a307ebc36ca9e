"""What a reader of committed records keeps: nothing of a transaction that was aborted, all of the others, and every batch for its place."""

from __future__ import annotations

from collections.abc import Sequence

from groupproof.harness.subjects.offsets_topic.committed_batches import committed
from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch, LogRecord


def _batch(offset: int, producer: int = -1, *, marker: str | None = None) -> LogBatch:
    records: list[LogRecord] = [] if marker else [(offset, 5, b"k", b"v")]
    return LogBatch(offset, offset, 2, 0, producer, producer >= 0, 5, marker, records)


def _kept(batches: Sequence[LogBatch | BrokenBatch], *aborted: tuple[int, int]) -> list[int]:
    entries = [{"producer_id": producer, "first_offset": offset} for producer, offset in aborted]
    found = list(committed(batches, entries))
    assert len(found) == len(batches)
    assert not any(isinstance(batch, LogBatch) and (batch.is_transactional or batch.marker) for batch in found)
    return [record[0] for batch in found if isinstance(batch, LogBatch) for record in batch.records]


def test_records_of_an_aborted_transaction_are_passed_over_up_to_its_marker() -> None:
    log = [
        _batch(0),
        _batch(1, 7),
        _batch(2, 8),
        _batch(3),
        _batch(4, 7, marker="ABORT"),
        _batch(5, 7),
        _batch(6, 8, marker="COMMIT"),
        _batch(7, 7, marker="COMMIT"),
    ]

    assert _kept(log) == [0, 1, 2, 3, 5]
    assert _kept(log, (7, 1)) == [0, 2, 3, 5]
    assert _kept(log, (8, 2), (7, 1)) == [0, 3, 5]


def test_a_producer_may_abort_twice() -> None:
    log = [_batch(0, 7), _batch(1, 7, marker="ABORT"), _batch(2, 7), _batch(3, 7, marker="COMMIT"), _batch(4, 7), _batch(5, 7, marker="ABORT")]

    assert _kept(log, (7, 4), (7, 0)) == [2]


def test_reading_may_begin_within_an_aborted_transaction() -> None:
    assert _kept([_batch(5, 7), _batch(6, 7, marker="ABORT"), _batch(7)], (7, 1)) == [7]


def test_what_cannot_be_read_stays() -> None:
    broken = BrokenBatch(3, 10, "cut")
    assert list(committed([broken], ())) == [broken]
