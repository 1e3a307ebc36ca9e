"""A trace as blocks of rows in numeric arrays. Values that most rows repeat are read once a block; observations are made on demand only.

A row's *shape* has the values that a member's next row repeats. `seq`, `at_ns` and `correlation` are arrays beside it. Row numbers are places in the
block. msgspec reads NDJSON here; `trace_column_blocks.py` reads columns. numpy comes with the extra `groupproof[spark]` and is imported at the first
use of blocks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

import msgspec

from groupproof.protocol.trace import Observation, Offsets, Partitions, read_trace_blocks
from groupproof.protocol.vocabulary import Api, TopicPartition

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = [
    "INSTANCE_FIELD",
    "NO_CORRELATION",
    "READ_FIELDS",
    "BlockOffsets",
    "BlockRows",
    "NoBlocks",
    "RowShape",
    "TraceBlock",
    "blocks_of_lines",
    "slices_from",
]

NO_CORRELATION: Final = -1


class NoBlocks(Exception):
    """A trace that does not fit into blocks, although it may be valid. Reading it row by row can decide."""


class RowShape(NamedTuple):
    """The values that a row shares with many others."""

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


@dataclass(frozen=True, slots=True, eq=False)
class BlockOffsets:
    """The offsets in the column `offsets` of some rows, in order. `row` has for each the index of its row, `partition` that of its partition."""

    partitions: Sequence[TopicPartition]
    row: Numbers
    partition: Numbers
    offset: Numbers


class BlockRows(Protocol):
    """Reads the other values of rows on demand."""

    def observations(self, places: Numbers) -> list[Observation]: ...

    def offsets(self, places: Numbers) -> BlockOffsets: ...

    def are_bare(self, places: Numbers, fields: Collection[str]) -> Flags: ...

    def name_partitions(self, places: Numbers) -> Flags: ...


@dataclass(frozen=True, slots=True, eq=False)
class TraceBlock:
    """Rows of a trace, in order. `shape` has for each row the index of its shape in `shapes`."""

    shapes: Sequence[RowShape]
    shape: Numbers
    seq: Numbers
    at_ns: Numbers
    correlation: Numbers
    source: BlockRows

    def observations(self, places: Numbers) -> list[Observation]:
        """Return the observations of these rows."""
        return self.source.observations(places) if len(places) else []

    def offsets(self, places: Numbers) -> BlockOffsets:
        """Return the column `offsets` of these rows; raise `NoBlocks`."""
        return self.source.offsets(places)

    def are_bare(self, places: Numbers, fields: Collection[str]) -> Flags:
        """Return for each row whether these fields have no value in its body. The body may name the instance if the column `instance` has one."""
        assert frozenset(fields) <= READ_FIELDS, "a line is read only for these"
        return self.source.are_bare(places, fields)

    def name_partitions(self, places: Numbers) -> Flags:
        """Return for each row whether its column `partitions` is not empty."""
        return self.source.name_partitions(places)


def slices_from(begin: Numbers, counts: Numbers) -> Numbers:
    """Return the places of consecutive slices, by the begin and the length of each."""
    import numpy as np

    places: Numbers = np.arange(counts.sum()) + np.repeat(begin - (np.cumsum(counts) - counts), counts)
    return places


# NDJSON ----------------------------------------------------------------------------------------------------------------------------

INSTANCE_FIELD: Final = "group_instance_id"
_NEWLINE: Final = ord("\n")
BLOCK_BYTES: Final = 1 << 26
"""The size from which a block is complete. Its lines are kept, for observations on demand."""


class _Body(msgspec.Struct, frozen=True, gc=False):
    group_instance_id: Any = None
    members: Any = None
    protocols: Any = None
    topic_partitions: Any = None
    subscribed_topic_names: Any = None
    subscribed_topic_regex: Any = None
    server_assignor: Any = None
    rack_id: Any = None
    assignment: Any = None


READ_FIELDS: Final = frozenset(_Body.__struct_fields__)
"""The fields that are read from the body of a line."""


_NO_FIELDS: Final = _Body()


class _Row(msgspec.Struct, kw_only=True, gc=False):
    """The columns of a line that blocks consist of, with the types, defaults and order of `Observation`, so that names are found fast."""

    seq: int
    at_ns: int
    run: str = ""
    case: str = ""
    who: str = "coordinator"
    node: int | None = None
    connection: int | None = None
    client: str | None = None
    kind: str
    api: str | None = None
    correlation: int | None = NO_CORRELATION
    group: str | None = None
    member: str | None = None
    instance: str | None = None
    generation: int | None = None
    member_epoch: int | None = None
    error: int | None = None
    partitions: Partitions = ()
    offsets: Offsets = ()
    body: _Body = _NO_FIELDS


_Who = Literal["coordinator", "member", "link", "shim", "kit", "tap"]
_Kind = Literal["request", "processed", "response", "transition", "fault", "timer", "event"]
if TYPE_CHECKING:
    _Title = str
else:
    _Title = Literal[tuple(api.title for api in Api)]


class _UsualRow(_Row, kw_only=True, gc=False):
    """A row with the words that nearly all rows have. They are not created again for each row, and are compared fast."""

    who: _Who = "coordinator"
    kind: _Kind
    api: _Title | None = None


_DECODERS: Final = (msgspec.json.Decoder(_UsualRow), msgspec.json.Decoder(_Row))
"""For the usual words, and for any."""
_SHAPE_OF: Final = attrgetter(*RowShape._fields)
_PARTITION, _OFFSET = itemgetter(0, 1), itemgetter(2)
_SEQ, _AT_NS, _CORRELATION = attrgetter("seq"), attrgetter("at_ns"), attrgetter("correlation")


class _Codes(dict[Any, int]):
    """Numbers its keys in the order of their first use."""

    def __missing__(self, key: Any) -> int:
        code = self[key] = len(self)
        return code


def blocks_of_lines(pieces: Iterable[bytes], *, block_bytes: int = BLOCK_BYTES) -> Iterator[TraceBlock]:
    """Yield NDJSON, which comes in pieces of whole lines, as blocks of at least `block_bytes`; raise `NoBlocks`.

    The decoded rows of a piece are freed before the next one, so that the same memory is reused and stays in the processor's cache.
    """
    block = _Lines()
    for piece in pieces:
        block.add(piece)
        if block.size >= block_bytes:
            yield block.whole()
            block = _Lines()
    if block.size:
        yield block.whole()


class _Lines:
    """The lines of a block as bytes, their numeric columns, and the values that few lines have."""

    def __init__(self) -> None:
        self.size = 0
        self._pieces: list[bytes] = []
        self._firsts = [0]
        self._codes = _Codes()
        self._columns: tuple[list[Numbers], ...] = ([], [], [], [])
        self._partitions = _Codes()
        self._offsets: tuple[list[Numbers], ...] = ([], [], [])
        self._fields: dict[int, frozenset[str]] = {}
        self._name_partitions: list[int] = []

    def add(self, text: bytes) -> None:
        rows, first = _rows_of(text), self._firsts[-1]
        self._pieces.append(text)
        self._firsts.append(first + len(rows))
        self.size += len(text)
        for column, of_rows in zip(self._columns, _numbers_of(rows, self._codes), strict=True):
            column.append(of_rows)
        self._add_offsets([(place, row.offsets) for place, row in enumerate(rows, first) if row.offsets])
        for place, row in [(place, row) for place, row in enumerate(rows, first) if row.partitions or row.body != _NO_FIELDS]:
            if row.partitions:
                self._name_partitions.append(place)
            if fields := _fields_of(row):
                self._fields[place] = fields

    def whole(self) -> TraceBlock:
        import numpy as np

        shape, seq, at_ns, correlation = (np.concatenate(column) for column in self._columns)
        return TraceBlock([RowShape(*key) for key in self._codes], shape, seq, at_ns, correlation, self)

    def observations(self, places: Numbers) -> list[Observation]:
        found: list[Observation] = []
        for piece, of_piece in groupby(places.tolist(), lambda place: bisect_right(self._firsts, place) - 1):
            text, first = self._pieces[piece], self._firsts[piece]
            ends = _ends_of(text)
            found += _observations(text[ends[place - first] + 1 : ends[place - first + 1]] for place in of_piece)
        return found

    def offsets(self, places: Numbers) -> BlockOffsets:
        import numpy as np

        place, partition, offset = (np.concatenate(column) for column in self._offsets)
        begin = place.searchsorted(places)
        counts = place.searchsorted(places, side="right") - begin
        named = slices_from(begin, counts)
        return BlockOffsets(list(self._partitions), np.repeat(np.arange(len(places)), counts), partition[named], offset[named])

    def _add_offsets(self, named: Sequence[tuple[int, Offsets]]) -> None:
        """Keep the offsets of rows as numbers, so that what was decoded is freed before the next piece."""
        import numpy as np

        whole = [offset for _, offsets in named for offset in offsets]
        places = np.repeat(np.array([place for place, _ in named], np.int64), [len(offsets) for _, offsets in named])
        partitions = np.fromiter(map(self._partitions.__getitem__, map(_PARTITION, whole)), np.int64, len(whole))
        try:
            offsets = np.fromiter(map(_OFFSET, whole), np.int64, len(whole))
        except OverflowError as error:
            raise NoBlocks(str(error)) from error
        for column, some in zip(self._offsets, (places, partitions, offsets), strict=True):
            column.append(some)

    def are_bare(self, places: Numbers, fields: Collection[str]) -> Flags:
        return ~self._are_in([place for place, there in self._fields.items() if not there.isdisjoint(fields)], places)

    def name_partitions(self, places: Numbers) -> Flags:
        return self._are_in(self._name_partitions, places)

    def _are_in(self, some: Sequence[int], places: Numbers) -> Flags:
        import numpy as np

        flags = np.zeros(self._firsts[-1], np.bool_)
        flags[np.array(some, np.int64)] = True
        asked: Flags = flags[places]
        return asked


def _ends_of(text: bytes) -> Sequence[int]:
    """Return the places before the first line and behind each line."""
    import numpy as np

    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == _NEWLINE)
    return np.concatenate([np.array([-1]), ends, np.array([len(text)])]).data


def _rows_of(text: bytes) -> Sequence[_Row]:
    import numpy as np

    rows = _decoded(text)
    lines = int(np.count_nonzero(np.frombuffer(text, np.uint8) == _NEWLINE)) + (not text.endswith(b"\n"))  # `bytes.count` takes ten times as long
    if b"\r" in text or len(rows) != lines:
        raise NoBlocks("a line is empty, or ends in another way")
    return rows


def _decoded(text: bytes) -> Sequence[_Row]:
    usual, of_any = _DECODERS
    try:
        try:
            return usual.decode_lines(text)
        except msgspec.ValidationError:
            return of_any.decode_lines(text)
    except (ValueError, RecursionError) as error:
        raise NoBlocks(str(error)) from error


def _numbers_of(rows: Sequence[_Row], codes: _Codes) -> tuple[Numbers, ...]:
    """Return the rows' shape codes, sequence numbers, instants and correlation ids."""
    import numpy as np

    columns = (map(codes.__getitem__, map(_SHAPE_OF, rows)), map(_SEQ, rows), map(_AT_NS, rows), map(_CORRELATION, rows))
    try:
        return tuple(np.fromiter(column, np.int64, len(rows)) for column in columns)
    except (OverflowError, TypeError) as error:  # a correlation id may be null, but no writer does that
        raise NoBlocks(str(error)) from error


def _fields_of(row: _Row) -> frozenset[str]:
    """Return the fields with a value in the body. The instance counts only where no column has it."""
    if row.body == _NO_FIELDS:
        return frozenset()
    there = (name for name in READ_FIELDS if getattr(row.body, name) is not None)
    return frozenset(name for name in there if name != INSTANCE_FIELD or not row.instance)


def _observations(lines: Iterable[bytes]) -> list[Observation]:
    try:
        return list(read_trace_blocks([b"\n".join(lines)]))
    except ValueError as error:
        raise NoBlocks(str(error)) from error
