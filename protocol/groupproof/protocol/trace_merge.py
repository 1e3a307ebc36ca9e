"""Parquet files as one trace, in columns: several files are merged by `seq`, like `trace_columns.read_parquet` merges rows.

numpy and pyarrow come with the extra `groupproof[spark]`. Code that does not use blocks does not import this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from groupproof.protocol.trace_blocks import NoBlocks
from groupproof.protocol.trace_columns import NotColumns, batches_of, numbers_in, trace_schema
from groupproof.protocol.trace_parts import FileSlice, first_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["as_arrow", "merged_batches"]

_NEVER: Final = np.iinfo(np.int64).max
_AT_ONCE: Final = -1
_FILE_ROWS_MIN: Final = 1 << 12
"""The least number of rows that are read from a file at a time, even for many files."""


def merged_batches(slices: Sequence[FileSlice], root: Path, *, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files in batches of about `rows`, by `seq`, and in the order of the files for equal numbers. Texts are coded.

    A file is opened when its first row is due, if its statistics give that. Raise `NoBlocks` for a file that is out of order, `NotColumns`,
    `OSError`.
    """
    queues = [_Queue(part, root, max(_FILE_ROWS_MIN, rows // len(slices))) for part in slices]
    waiting: list[pa.Table] = []
    limit = _AT_ONCE
    while limit != _NEVER:
        limit = min((queue.until for queue in queues), default=_NEVER)
        if len(queues) == 1:
            limit = min(limit + 1, _NEVER)  # the order of equal numbers in other files is not awaited
        waiting += [some for queue in queues if (some := queue.below(limit)).num_rows]
        if waiting and (limit == _NEVER or sum(some.num_rows for some in waiting) > rows // 2):
            yield from _in_order(waiting)
            waiting.clear()
        for queue in queues:
            if queue.until <= limit != _NEVER:
                queue.read_on()


def _in_order(tables: Sequence[pa.Table]) -> list[pa.RecordBatch]:
    if len(tables) == 1 and max(column.num_chunks for column in tables[0].columns) == 1:
        return _batches(tables[0])
    whole = pa.concat_tables(tables, promote_options="default").unify_dictionaries().combine_chunks()
    seq = _numbers_of(whole)
    if len(tables) > 1 and (np.diff(seq) < 0).any():
        whole = whole.take(as_arrow(np.argsort(seq, kind="stable"))).combine_chunks()
    return _batches(whole)


def _batches(table: pa.Table) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = table.to_batches()
    return batches


@dataclass(slots=True, eq=False)
class _Queue:
    """Rows of one file that were read and not yet yielded. All of its rows below `until` are here."""

    part: FileSlice
    root: Path
    rows: int
    until: int = _AT_ONCE
    _rest: list[pa.Table] = field(default_factory=list)
    _batches: Iterator[pa.RecordBatch] | None = None

    def __post_init__(self) -> None:
        first = first_of(self.part)
        self.until = _AT_ONCE if first is None else first

    def read_on(self) -> None:
        if self._batches is None:
            self._batches = batches_of(self.part.file, self.root, rows=self.rows, row_groups=self.part.row_groups, is_coded=True)
        batch = next((batch for batch in self._batches if batch.num_rows), None)
        if batch is None:
            self.until = _NEVER
            return
        table = pa.Table.from_batches([_as_ours(batch)])
        if "seq" not in batch.schema.names:
            raise NotColumns("it lacks the column seq of a trace")
        seq = _numbers_of(table)
        if (np.diff(seq) < 0).any() or seq[0] < max(0, self.until):
            raise NoBlocks("rows of a file are out of order")
        self._rest.append(table)
        self.until = int(seq[-1])

    def below(self, limit: int) -> pa.Table:
        """Remove and return the rows with a `seq` below `limit`."""
        whole = pa.concat_tables(self._rest) if self._rest else _NO_ROWS
        count = len(whole) if limit == _NEVER else int(np.searchsorted(_numbers_of(whole), limit))
        self._rest = [whole.slice(count)] if count < len(whole) else []
        return whole.slice(0, count)


_NO_NUMBERS: Final = np.zeros(0, np.int64)
_NO_ROWS: Final = pa.table([pa.nulls(0, pa.int64())], ["seq"])


def _as_ours(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch in the types of a trace, with coded texts."""
    return pa.RecordBatch.from_arrays(
        [_typed(name, column) for name, column in zip(batch.schema.names, batch.columns, strict=True)], batch.schema.names
    )


def _typed(name: str, column: pa.Array) -> pa.Array:
    of_type = trace_schema().field(name).type
    try:
        if pa.types.is_dictionary(column.type) and column.type.value_type == of_type and column.type.index_type == pa.int32():
            return column
        typed = column if column.type == of_type else column.cast(of_type)
    except pa.ArrowException as error:
        raise NotColumns(f"its column {name} is {column.type}, where a trace has {of_type}") from error
    return typed.dictionary_encode() if of_type == pa.string() else typed


def _numbers_of(table: pa.Table) -> NDArray[np.int64]:
    seq = table.column("seq")
    if seq.null_count:
        raise NotColumns("its column seq has rows without a value")
    return numbers_in(seq.chunk(0)) if seq.num_chunks == 1 else np.concatenate([_NO_NUMBERS, *map(numbers_in, seq.chunks)])


def as_arrow(numbers: NDArray[np.int64]) -> pa.Array:
    """Return numbers as an Arrow array. `pyarrow.array` imports pandas, which takes as long as a million rows."""
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])
