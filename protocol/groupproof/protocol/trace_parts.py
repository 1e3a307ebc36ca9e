"""Splits Parquet into parts of a trace that have no run in common, by the statistics of its row groups. It reads no row.

pyarrow comes with the extra `groupproof[spark]`. Code that does not use blocks does not import this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from groupproof.protocol.trace_columns import DEFAULTS, columns_of_folders

__all__ = ["FileSlice", "TracePart", "first_of", "parts_of"]


@dataclass(frozen=True, slots=True)
class FileSlice:
    """Some row groups of a file, in order; None means all."""

    file: Path
    row_groups: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class TracePart:
    """Slices that form one trace. `rows` is their number of rows, 0 where it was not counted."""

    slices: tuple[FileSlice, ...]
    rows: int = 0


class _RowGroup(NamedTuple):
    """A row group, with the first and the last of its run names."""

    lowest: str
    highest: str
    file: int
    number: int
    rows: int


def parts_of(files: Sequence[Path], root: Path) -> list[TracePart]:
    """Return the rows of files as parts without a common run; one part where the statistics are missing or a file is out of order."""
    whole = [TracePart(tuple(FileSlice(file) for file in files))]
    groups: list[_RowGroup] = []
    for place, file in enumerate(files):
        found = _row_groups(place, file, root)
        if found is None:
            return whole
        groups += found
    parts = _apart(sorted(groups))
    return [_part(part, files) for part in parts] if len(parts) > 1 else whole


def first_of(part: FileSlice) -> int | None:
    """Return the lowest `seq` of a slice; None where Parquet has no statistics for it."""
    ranges = _ranges(pq.read_metadata(part.file), "seq")
    places = range(len(ranges)) if part.row_groups is None else part.row_groups
    lowest = [span[0] for number in places if (span := ranges[number]) is not None]
    return min(lowest) if lowest and len(lowest) == len(places) and isinstance(lowest[0], int) else None


def _apart(groups: Sequence[_RowGroup]) -> list[list[_RowGroup]]:
    """Group row groups, sorted by their first run, into parts between which no run continues."""
    parts: list[list[_RowGroup]] = [[]]
    highest = ""
    for group in groups:
        if parts[-1] and group.lowest > highest:
            parts.append([])
        parts[-1].append(group)
        highest = max(highest, group.highest)
    return parts


def _part(groups: Sequence[_RowGroup], files: Sequence[Path]) -> TracePart:
    numbers: dict[int, list[int]] = {}
    for group in groups:
        numbers.setdefault(group.file, []).append(group.number)
    slices = tuple(FileSlice(files[place], tuple(sorted(numbers[place]))) for place in sorted(numbers))
    return TracePart(slices, sum(group.rows for group in groups))


def _row_groups(place: int, file: Path, root: Path) -> list[_RowGroup] | None:
    """Return the row groups of a file with their runs; None where the statistics are missing, or a row group is out of order."""
    metadata = pq.read_metadata(file)
    seqs = _ranges(metadata, "seq")
    if any(span is None for span in seqs) or any(one[1] > next_one[0] for one, next_one in pairwise(seqs) if one and next_one):
        return None
    folder = columns_of_folders(file, root)
    if "run" in metadata.schema.names:
        runs = _ranges(metadata, "run")
    else:
        run = folder.get("run") or DEFAULTS["run"]
        runs = [(run, run)] * metadata.num_row_groups
    if any(span is None or not isinstance(span[0], str) for span in runs):
        return None
    return [_RowGroup(*span, place, number, metadata.row_group(number).num_rows) for number, span in enumerate(runs) if span]


def _ranges(metadata: Any, name: str) -> list[tuple[Any, Any] | None]:
    """Return the lowest and the highest value of a column in each row group, None where it is unknown."""
    names = [metadata.schema.column(number).path for number in range(len(metadata.schema.names))]
    if name not in names:
        return [None] * metadata.num_row_groups
    column = names.index(name)
    return [_range(metadata.row_group(number).column(column).statistics, name) for number in range(metadata.num_row_groups)]


def _range(statistics: Any, name: str) -> tuple[Any, Any] | None:
    if statistics is None or not statistics.has_min_max or not statistics.has_null_count:
        return None
    if statistics.null_count:
        return (DEFAULTS[name], statistics.max) if isinstance(DEFAULTS.get(name), str) else None
    return statistics.min, statistics.max
