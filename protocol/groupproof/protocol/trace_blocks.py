"""A trace in blocks of rows as numbers: what most rows say again and again is read once a block, and an observation is made of those alone that somebody looks at.

A row's *shape* is all of it that a member's next row repeats; `seq`, `at_ns` and `correlation` are arrays beside it. The numbers of the rows are their places in the
block. NDJSON is read by msgspec, Parquet by pyarrow; numpy and pyarrow come with the extra `groupproof[spark]` and are imported when somebody first asks for blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec

from groupproof.protocol.trace import Observation, Offsets, read_trace
from groupproof.protocol.trace_columns import DEFAULTS, NotColumns, batches_of, from_batch, offsets_in, trace_schema

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["NO_CORRELATION", "NoBlocks", "RowShape", "TraceBlock", "blocks_of_batches", "blocks_of_lines", "blocks_of_parquet"]

NO_CORRELATION: Final = -1
BLOCK_ROWS: Final = 1 << 18
"""Rows of a block of Parquet; the more, the fewer times is asked how a group stands."""


class NoBlocks(Exception):
    """A trace that is not as blocks need it, though it may be one; who reads it row by row can tell."""


class RowShape(NamedTuple):
    """What a row shares with many others."""

    run: str
    case: str
    who: str
    kind: str
    api: str | None
    group: str | None
    client: str | None
    member: str | None
    instance: str | None
    connection: int | None
    node: int | None
    generation: int | None
    member_epoch: int | None
    error: int | None


class _Source(Protocol):
    """Where the rest of the rows is read when somebody asks."""

    def observations(self, places: Numbers) -> list[Observation]: ...

    def offsets(self, places: Numbers) -> Sequence[Offsets]: ...

    def are_bare(self, places: Numbers) -> Flags: ...


@dataclass(frozen=True, slots=True, eq=False)
class TraceBlock:
    """Rows of a trace, in their order; `shape` holds for each the place of its shape in `shapes`."""

    shapes: Sequence[RowShape]
    shape: Numbers
    seq: Numbers
    at_ns: Numbers
    correlation: Numbers
    source: _Source

    def observations(self, places: Numbers) -> list[Observation]:
        """Return the observations of these rows."""
        return self.source.observations(places) if len(places) else []

    def offsets(self, places: Numbers) -> Sequence[Offsets]:
        """Return the column `offsets` of these rows."""
        return self.source.offsets(places) if len(places) else ()

    def are_bare(self, places: Numbers) -> Flags:
        """Tell of requests whether their bodies name no instance, no members and no protocols; with a column `instance` the body may name that too."""
        return self.source.are_bare(places)


# NDJSON ----------------------------------------------------------------------------------------------------------------------------


class _Body(msgspec.Struct, gc=False):
    group_instance_id: Any = None
    members: Any = None
    protocols: Any = None


class _Row(msgspec.Struct):
    """The columns of a line that blocks are made of, with the types and the defaults of `Observation`."""

    seq: int
    at_ns: int
    kind: str
    run: str = ""
    case: str = ""
    who: str = "coordinator"
    node: int | None = None
    connection: int | None = None
    client: str | None = None
    api: str | None = None
    correlation: int | None = None
    group: str | None = None
    member: str | None = None
    instance: str | None = None
    generation: int | None = None
    member_epoch: int | None = None
    error: int | None = None
    offsets: Offsets = ()
    body: _Body | None = None


_DECODER: Final = msgspec.json.Decoder(_Row)
_SHAPE_OF: Final = attrgetter(*RowShape._fields)


class _Codes(dict[Any, int]):
    """Numbers what it is asked for, in order of appearance."""

    def __missing__(self, key: Any) -> int:
        code = self[key] = len(self)
        return code


def blocks_of_lines(blocks: Iterable[bytes]) -> Iterator[TraceBlock]:
    """Yield NDJSON that comes in pieces of whole lines, as blocks; raise `NoBlocks`."""
    return map(_block_of_lines, blocks)


def _block_of_lines(text: bytes) -> TraceBlock:
    import numpy as np

    try:
        rows = _DECODER.decode_lines(text)
    except (ValueError, RecursionError) as error:
        raise NoBlocks(str(error)) from error
    if b"\r" in text or len(rows) != text.count(b"\n") + (not text.endswith(b"\n")):
        raise NoBlocks("a line is empty, or ends in another way")
    codes, count = _Codes(), len(rows)
    shape = np.fromiter(map(codes.__getitem__, map(_SHAPE_OF, rows)), np.int64, count)
    correlations = (NO_CORRELATION if row.correlation is None else row.correlation for row in rows)
    try:
        seq = np.fromiter((row.seq for row in rows), np.int64, count)
        at_ns = np.fromiter((row.at_ns for row in rows), np.int64, count)
        correlation = np.fromiter(correlations, np.int64, count)
    except OverflowError as error:
        raise NoBlocks(str(error)) from error
    return TraceBlock([RowShape(*key) for key in codes], shape, seq, at_ns, correlation, _Lines(text, rows))


class _Lines:
    def __init__(self, text: bytes, rows: list[_Row]) -> None:
        self._text, self._rows = text, rows
        self._lines: list[bytes] | None = None

    def observations(self, places: Numbers) -> list[Observation]:
        if self._lines is None:
            self._lines = self._text.split(b"\n")
        try:
            return list(read_trace(self._lines[place].decode() for place in places.tolist()))
        except ValueError as error:
            raise NoBlocks(str(error)) from error

    def offsets(self, places: Numbers) -> list[Offsets]:
        return [self._rows[place].offsets for place in places.tolist()]

    def are_bare(self, places: Numbers) -> Flags:
        import numpy as np

        return np.fromiter((_is_bare(self._rows[place]) for place in places.tolist()), np.bool_, len(places))


def _is_bare(row: _Row) -> bool:
    body = row.body
    return body is None or (body.members is None and body.protocols is None and (body.group_instance_id is None or bool(row.instance)))


# Columns ---------------------------------------------------------------------------------------------------------------------------


def blocks_of_parquet(file: Path, root: Path) -> Iterator[TraceBlock]:
    """Yield a file of Parquet as blocks, with what the folders below `root` name; raise `NoBlocks`, `OSError`."""
    import pyarrow as arrow

    try:
        yield from blocks_of_batches(batches_of(file, root, rows=BLOCK_ROWS))
    except arrow.ArrowException as error:
        raise NoBlocks(str(error)) from error


def blocks_of_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[TraceBlock]:
    """Yield record batches of a trace's columns as blocks; raise `NoBlocks`."""
    import pyarrow as arrow

    for batch in batches:
        try:
            if batch.num_rows:
                yield _block_of_batch(batch)
        except (NotColumns, arrow.ArrowException) as error:
            raise NoBlocks(str(error)) from error


def _block_of_batch(batch: pa.RecordBatch) -> TraceBlock:
    columns = _Columns(batch)
    shapes, shape = columns.shapes()
    return TraceBlock(
        shapes, shape, columns.numbers("seq"), columns.numbers("at_ns"), columns.numbers("correlation", NO_CORRELATION), columns
    )  # fmt: skip


_BODY_MARKS: Final = (b'"members"', b'"protocols"', b"\\")
"""A body without these names no members and no protocols, and each of its keys is written as it is read."""
_INSTANCE, _NO_INSTANCE = b'"group_instance_id"', b'"group_instance_id":null'
_CODES_MAX: Final = 1 << 62


class _Columns:
    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def _column(self, name: str) -> pa.Array | None:
        """Return a column with the type that a trace has for it; None where it is missing."""
        place = self._batch.schema.get_field_index(name)
        if place < 0:
            return None
        column, of_type = self._batch.column(place), trace_schema().field(name).type
        return column if column.type == of_type else column.cast(of_type)

    def numbers(self, name: str, empty: int | None = None) -> Numbers:
        import numpy as np

        column = self._column(name)
        if column is None or column.null_count:
            if empty is None:
                raise NoBlocks(f"{name} has rows without a value")
            if column is None:
                return np.full(self._batch.num_rows, empty, np.int64)
            column = column.fill_null(empty)
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)

    def shapes(self) -> tuple[list[RowShape], Numbers]:
        import numpy as np

        encoded = [self._encoded(name) for name in RowShape._fields]
        code, codes = np.zeros(self._batch.num_rows, np.int64), 1
        for values, places in encoded:
            if codes * len(values) > _CODES_MAX:
                code, codes = _numbered(code)
            code, codes = code * len(values) + places, codes * len(values)
        code, codes = _numbered(code)
        first = np.zeros(codes, np.int64)
        first[code[::-1]] = np.arange(len(code))[::-1]
        rows = zip(*([values[place] for place in places[first].tolist()] for values, places in encoded), strict=True)
        return [RowShape(*row) for row in rows], code

    def _encoded(self, name: str) -> tuple[list[Any], Numbers]:
        import numpy as np

        column, empty = self._column(name), DEFAULTS.get(name)
        if column is None or column.null_count == len(column):
            if name == "kind":
                raise NoBlocks("kind has rows without a value")
            return [empty], np.zeros(self._batch.num_rows, np.int64)
        coded = column.dictionary_encode()
        values = coded.dictionary.to_pylist()
        places = coded.indices.fill_null(len(values)) if column.null_count else coded.indices
        return [*values, empty], places.to_numpy().astype(np.int64)

    def observations(self, places: Numbers) -> list[Observation]:
        try:
            return list(from_batch(self._batch.take(_arrow_of(places))))
        except NotColumns as error:
            raise NoBlocks(str(error)) from error

    def offsets(self, places: Numbers) -> Sequence[Offsets]:
        column = self._column("offsets")
        return [()] * len(places) if column is None else offsets_in(column.take(_arrow_of(places)))

    def are_bare(self, places: Numbers) -> Flags:
        import numpy as np

        body, bare = self._column("body"), np.ones(len(places), np.bool_)
        if body is None or not len(places):
            return bare
        some = body.take(_arrow_of(places)).fill_null("{}")
        text = _text_of(some)
        if not any(mark in text for mark in _BODY_MARKS) and text.count(_INSTANCE) == text.count(_NO_INSTANCE):
            return bare
        instance = self._column("instance")
        instances = [None] * len(places) if instance is None else instance.take(_arrow_of(places)).to_pylist()
        return np.array([_is_bare_text(text.encode(), of_row) for text, of_row in zip(some.to_pylist(), instances, strict=True)], np.bool_)


def _is_bare_text(body: bytes, instance: str | None) -> bool:
    return not any(mark in body for mark in _BODY_MARKS) and (bool(instance) or body.count(_INSTANCE) == body.count(_NO_INSTANCE))


def _text_of(strings: pa.Array) -> bytes:
    """Return the bytes of strings, one after the other."""
    data = strings.buffers()[2]
    return b"" if data is None else data.to_pybytes()


def _numbered(code: Numbers) -> tuple[Numbers, int]:
    """Return codes from 0 on that differ where these do, and how many they are."""
    import numpy as np

    coded = _arrow_of(code).dictionary_encode()
    return coded.indices.to_numpy().astype(np.int64), len(coded.dictionary)


def _arrow_of(numbers: Numbers) -> pa.Array:
    """Return numbers as Arrow has them; `pyarrow.array` imports pandas, which takes as long as a million rows."""
    import numpy as np
    import pyarrow as arrow

    return arrow.Array.from_buffers(arrow.int64(), len(numbers), [None, arrow.py_buffer(np.ascontiguousarray(numbers))])
