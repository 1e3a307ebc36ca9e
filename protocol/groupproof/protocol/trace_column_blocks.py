"""Columns of a trace as blocks: from Parquet, or from the batches that Spark passes to a task.

Texts are dictionary codes where Parquet has them. numpy and pyarrow come with the extra `groupproof[spark]`. Code that does not use blocks does not
import this module.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_blocks import INSTANCE_FIELD, NO_CORRELATION, BlockOffsets, NoBlocks, RowShape, TraceBlock
from groupproof.protocol.trace_columns import DEFAULTS, NotColumns, from_batch, numbers_in, trace_schema
from groupproof.protocol.trace_merge import as_arrow, merged_batches
from groupproof.protocol.trace_parts import FileSlice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["blocks_of_batches", "blocks_of_parquet"]

BLOCK_ROWS: Final = 1 << 18
"""Rows in a block of Parquet. Larger blocks need fewer look-ups of a group's state."""


def blocks_of_parquet(part: Sequence[FileSlice], root: Path) -> Iterator[TraceBlock]:
    """Yield Parquet files as blocks, with the columns in the folder names below `root`; raise `NoBlocks`, `NotColumns`, `OSError`."""
    try:
        yield from blocks_of_batches(merged_batches(part, root, rows=BLOCK_ROWS))
    except pa.ArrowException as error:
        raise NoBlocks(str(error)) from error


def blocks_of_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[TraceBlock]:
    """Yield record batches of a trace's columns as blocks; raise `NotColumns`."""
    for batch in batches:
        if batch.num_rows:
            yield _block_of_batch(batch)


def _block_of_batch(batch: pa.RecordBatch) -> TraceBlock:
    columns = _Columns(batch)
    shapes, shape = columns.shapes()
    return TraceBlock(
        shapes, shape, columns.numbers("seq"), columns.numbers("at_ns"), columns.numbers("correlation", NO_CORRELATION), columns
    )  # fmt: skip


_CODES_MAX: Final = 1 << 62


class _Columns:
    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def _column(self, name: str) -> pa.Array | None:
        """Return a column in its trace type, texts plain or as codes; None where the column is missing."""
        place = self._batch.schema.get_field_index(name)
        if place < 0:
            return None
        column, of_type = self._batch.column(place), trace_schema().field(name).type
        if column.type == of_type or (pa.types.is_dictionary(column.type) and column.type.value_type == of_type):
            return column
        try:
            return column.cast(of_type)
        except pa.ArrowException as error:
            raise NotColumns(f"its column {name} is {column.type}, where a trace has {of_type}") from error

    def numbers(self, name: str, empty: int | None = None) -> Numbers:
        column = self._column(name)
        if column is None or column.null_count:
            if empty is None:
                raise _without_value(name)
            if column is None:
                return np.full(self._batch.num_rows, empty, np.int64)
        return numbers_in(column, empty or 0).astype(np.int64, copy=False)

    def shapes(self) -> tuple[list[RowShape], Numbers]:
        encoded = [self._encoded(name) for name in RowShape._fields]
        code, codes = np.zeros(self._batch.num_rows, np.int64), 1
        for values, places in encoded:
            if len(values) == 1:
                continue
            if codes * len(values) > _CODES_MAX:
                code, codes = _numbered(code)
            code *= len(values)  # in place: a new array of this size costs more than the sum
            code += places
            codes *= len(values)
        code, codes = _numbered(code)
        first = np.zeros(codes, np.int64)
        first[code[::-1]] = np.arange(len(code))[::-1]
        rows = zip(*([values[place] for place in places[first].tolist()] for values, places in encoded), strict=True)
        return [RowShape(*row) for row in rows], code

    def _encoded(self, name: str) -> tuple[list[Any], NDArray[np.int32]]:
        """Return the values of a column, and which of them each row has."""
        column, empty = self._column(name), DEFAULTS.get(name)
        if name == "kind" and (column is None or column.null_count):
            raise _without_value(name)
        if column is None or column.null_count == len(column):
            return [empty], np.zeros(self._batch.num_rows, np.int32)
        coded = _coded(column)
        values = coded.dictionary.to_pylist()
        return ([*values, empty] if column.null_count else values), numbers_in(coded.indices, len(values))

    def observations(self, places: Numbers) -> list[Observation]:
        return list(from_batch(self._batch.take(as_arrow(places))))

    def offsets(self, places: Numbers) -> BlockOffsets:
        column = self._column("offsets")
        if column is None:
            return BlockOffsets((), _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS)
        named = column.take(as_arrow(places))
        row = np.repeat(np.arange(len(places)), numbers_in(named.value_lengths()))
        topic, number, offset = named.flatten().flatten()
        if topic.null_count or number.null_count or offset.null_count:
            raise NoBlocks("an offset lacks its topic, its partition or its number")
        topics = topic.dictionary_encode()
        whole = (numbers_in(topics.indices).astype(np.int64) << _NUMBER_BITS) + numbers_in(number)
        codes = as_arrow(whole).dictionary_encode()
        names = topics.dictionary.to_pylist()
        partitions = [(names[(code + _HALF) >> _NUMBER_BITS], (code + _HALF) % (2 * _HALF) - _HALF) for code in codes.dictionary.to_pylist()]
        return BlockOffsets(partitions, row, numbers_in(codes.indices).astype(np.int64), numbers_in(offset))

    def name_partitions(self, places: Numbers) -> Flags:
        column = self._column("partitions")
        if column is None:
            return np.zeros(len(places), np.bool_)
        named: Flags = np.diff(numbers_in(column.take(as_arrow(places)).offsets)) > 0
        return named

    def are_bare(self, places: Numbers, fields: Collection[str]) -> Flags:
        body, bare = self._column("body"), np.ones(len(places), np.bool_)
        if body is None or not len(places):
            return bare
        coded = _coded(body.take(as_arrow(places)))
        codes = numbers_in(coded.indices, _NO_CODE)
        is_there = np.zeros(len(coded.dictionary) + 1, np.bool_)
        is_there[codes] = True
        there = np.flatnonzero(is_there[:_NO_CODE])
        bodies = coded.dictionary.take(as_arrow(there))
        text = _text_of(bodies)
        if _is_bare_text(text, fields):
            return bare
        instance = self._column("instance")
        instances = [None] * len(places) if instance is None else instance.take(as_arrow(places)).to_pylist()
        texts = dict(zip(there.tolist(), bodies.to_pylist(), strict=True))
        return np.array(
            [_is_bare_row(texts.get(code, "").encode(), fields, of_row) for code, of_row in zip(codes.tolist(), instances, strict=True)], np.bool_
        )


_NO_CODE: Final = -1
"""Of a row without a value: the place behind the last code."""
_NO_NUMBERS: Final = np.zeros(0, np.int64)
_NUMBER_BITS: Final = 32
_HALF: Final = 1 << (_NUMBER_BITS - 1)
"""A partition's number has so many bits, one of them for its sign."""


def _without_value(name: str) -> NotColumns:
    return NotColumns(f"its column {name} has rows without a value")


def _coded(column: pa.Array) -> pa.Array:
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _is_bare_row(body: bytes, fields: Collection[str], instance: str | None) -> bool:
    return _is_bare_text(body, [name for name in fields if name != INSTANCE_FIELD] if instance else fields)


def _is_bare_text(bodies: bytes, fields: Collection[str]) -> bool:
    """Return whether these fields are null or missing in all bodies. A backslash means that a name may be written differently."""
    return b"\\" not in bodies and all(_is_null(bodies, f'"{field}"'.encode()) for field in fields)


def _is_null(bodies: bytes, name: bytes) -> bool:
    count = bodies.count(name)
    return not count or count == bodies.count(name + b":null")


def _text_of(strings: pa.Array) -> bytes:
    """Return the concatenated bytes of strings."""
    data = strings.buffers()[2]
    return b"" if data is None else data.to_pybytes()


def _numbered(code: Numbers) -> tuple[Numbers, int]:
    """Return consecutive codes from 0 that differ where these differ, and their number."""
    coded = as_arrow(code).dictionary_encode()
    return numbers_in(coded.indices).astype(np.int64), len(coded.dictionary)
