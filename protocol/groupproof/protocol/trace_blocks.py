"""A trace in blocks of rows as numbers: what most rows say again and again is read once a block, and an observation is made of those alone that somebody looks at.

A row's *shape* is all of it that a member's next row repeats; `seq`, `at_ns` and `correlation` are arrays beside it. The numbers of the rows are their places in the
block. NDJSON is read here, by msgspec; columns in `trace_column_blocks.py`. numpy comes with the extra `groupproof[spark]` and is imported when somebody first asks for blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec

from groupproof.protocol.trace import Observation, Offsets, read_trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["NO_CORRELATION", "NoBlocks", "RowShape", "TraceBlock", "blocks_of_lines"]

NO_CORRELATION: Final = -1


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
