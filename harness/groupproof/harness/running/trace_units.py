"""Splits a trace into units that can be read separately, here or in other processes. No run has rows in two units.

Parquet files name the runs of each row group. A unit joins parts until they are worth a task. A trace in NDJSON is one unit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from groupproof.harness.judging.checkers.fleet import InOrder
from groupproof.harness.judging.checkers.live_group import GroupResult
from groupproof.harness.running.gc_pauses import rare_pauses
from groupproof.harness.running.trace_files import blocks, is_parquet, parts, stream, trace_bytes
from groupproof.harness.running.trace_reader import TraceReader
from groupproof.protocol.trace import Trace
from groupproof.protocol.trace_blocks import NoBlocks
from groupproof.protocol.trace_columns import NotColumns

if TYPE_CHECKING:
    from groupproof.protocol.trace_parts import TracePart

__all__ = ["TraceUnit", "UnitReading", "read_rows", "read_unit", "units_of"]

BLOCKS_FROM_BYTES: Final = 4_000_000
"""A smaller file of lines is read row by row: importing the block reader takes longer."""
_COLUMNS_SHARE: Final = 100
"""Of Parquet so many times fewer bytes are enough: it is shorter, and reading it row by row needs numpy and pyarrow too."""
UNIT_ROWS: Final = 1 << 20
"""Parts are joined to units of at least so many rows."""
_COLLECT_EVERY: Final = (200_000, 20, 20)
"""The thresholds of the garbage collector. It would walk all of a block and free nothing. So rarely it costs little, and memory does not grow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceUnit:
    """A file, or parts of a file or of a folder of files; `in_blocks` says how it is read."""

    file: Path
    parts: tuple[TracePart, ...] = ()
    in_blocks: bool = False


@dataclass(slots=True, kw_only=True)
class UnitReading:
    """A unit's contents: the runs to judge whole, and the results of groups judged during reading, with the number at which each begins."""

    whole: list[Trace] = field(default_factory=list)
    groups: list[tuple[int, GroupResult]] = field(default_factory=list)
    displaced: int = 0

    def add(self, reader: TraceReader) -> None:
        self.whole += reader.whole.values()
        self.groups += reader.fleet.placed_results()


def units_of(file: Path, rows: int | None = None) -> list[TraceUnit]:
    """Return the units of a file or a folder of Parquet files, each of at least `rows` rows; raise `WrongUsage` if it is no trace."""
    if not _is_large(file) or find_spec("numpy") is None or find_spec("pyarrow") is None:
        return [TraceUnit(file=file)]
    found = parts(file)
    if found is None:
        return [TraceUnit(file=file, in_blocks=True)]
    return [TraceUnit(file=file, parts=some, in_blocks=True) for some in _together(found, UNIT_ROWS if rows is None else rows)]


def _is_large(file: Path) -> bool:
    size = trace_bytes(file)
    return size >= BLOCKS_FROM_BYTES or (size >= BLOCKS_FROM_BYTES // _COLUMNS_SHARE and is_parquet(file))


def read_unit(unit: TraceUnit, cases: Collection[str]) -> UnitReading | None:
    """Return a unit's contents; None where the whole trace has to be read row by row, as when rows are out of order. Raise `WrongUsage`."""
    if not unit.in_blocks:
        return read_rows(unit.file, cases)
    from groupproof.harness.running.block_reader import BlockReader, OutOfOrder

    whole = UnitReading()
    try:
        with rare_pauses(*_COLLECT_EVERY):
            for part in unit.parts or (None,):
                reader = BlockReader(cases)
                reader.take_blocks(blocks(unit.file, part))
                whole.add(reader)
    except (OutOfOrder, NoBlocks, NotColumns):
        return None
    return whole


def read_rows(file: Path, cases: Collection[str]) -> UnitReading:
    """Read a trace row by row and return its contents; raise `WrongUsage`."""
    reader, order = TraceReader(cases), InOrder()
    reader.take(order.sorted(stream(file)))
    if order.late:
        reader = TraceReader(cases)
        reader.take(sorted(stream(file), key=lambda obs: obs.seq))
    whole = UnitReading(displaced=order.displaced)
    whole.add(reader)
    return whole


def _together(parts: Iterable[TracePart], rows: int) -> Iterator[tuple[TracePart, ...]]:
    """Yield the parts in their order, joined until they have at least `rows` rows."""
    some: list[TracePart] = []
    for part in parts:
        some.append(part)
        if sum(item.rows for item in some) >= rows:
            yield tuple(some)
            some.clear()
    if some:
        yield tuple(some)
