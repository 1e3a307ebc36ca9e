"""Reads segment files of the offsets topic from a broker's log folder (`__consumer_offsets-N/00000000000000000000.log`), or copies of them."""

from __future__ import annotations

import heapq
import mmap
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from groupproof.harness.model.errors import WrongUsage
from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch, read_log
from groupproof.protocol.wire.offsets_topic import TOPIC

__all__ = ["batches_of", "is_segment", "partition_of_segment", "read_segments", "segments_in"]

_FOLDER: Final = re.compile(rf"{TOPIC}-(\d+)")
_HEAD_BYTES: Final = 17
_SIZE_MAX: Final = 1 << 30
_FORMATS: Final = (0, 1, 2)

Placed = tuple[int, int, LogBatch | BrokenBatch]
"""The time (ms) of the batch, its partition, the batch."""


def is_segment(head: bytes) -> bool:
    """Return whether a file with this beginning is a segment: an offset, a length and a known message format. No text begins so."""
    if len(head) < _HEAD_BYTES:
        return False
    offset, size = int.from_bytes(head[:8], "big"), int.from_bytes(head[8:12], "big")
    return offset < 1 << 48 and 0 < size < _SIZE_MAX and head[16] in _FORMATS


def segments_in(folder: Path) -> list[Path]:
    """Return the segments of the offsets topic below a folder, a broker's log folder or a partial copy."""
    return sorted(path for path in folder.rglob("*.log") if _FOLDER.fullmatch(path.parent.name))


def partition_of_segment(path: Path) -> int:
    """Return the partition by the name of the segment's folder; 0 where the name has none."""
    found = _FOLDER.fullmatch(path.absolute().parent.name)
    return int(found[1]) if found else 0


def read_segments(paths: Sequence[Path]) -> Iterator[Placed]:
    """Yield the batches of all partitions in the order of time, and within a partition in the order of the log. Raise `WrongUsage`."""
    partitions: dict[int, list[Path]] = {}
    for path in sorted(paths):
        partitions.setdefault(partition_of_segment(path), []).append(path)
    return heapq.merge(*(_partition(number, files) for number, files in partitions.items()), key=lambda placed: placed[:2])


def _partition(number: int, files: Sequence[Path]) -> Iterator[Placed]:
    """Yield a partition's batches. Time never goes back within a partition, so that merging keeps the log's order."""
    newest_ms = 0
    for file in files:
        for batch in batches_of(file):
            if isinstance(batch, LogBatch):
                newest_ms = max(newest_ms, batch.timestamp_ms)
            yield newest_ms, number, batch


def batches_of(file: Path) -> Iterator[LogBatch | BrokenBatch]:
    try:
        with file.open("rb") as opened:
            if not opened.seek(0, 2):
                return
            with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                yield from read_log(mapped)
    except OSError as error:
        raise WrongUsage(f"{file} can't be read: {error.strerror or error}") from error
