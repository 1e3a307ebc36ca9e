"""Where two profiles differ: in which fields, and from which row on in which cells."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from groupproof.protocol.rules.cells import Cell, Cells, cell_name
from groupproof.protocol.rules.classic.classic_states import DEAD
from groupproof.protocol.rules.dialect import Table
from groupproof.protocol.rules.dialect_registry import on_change
from groupproof.protocol.rules.noted_reads import Reads
from groupproof.protocol.rules.profiles import Profile
from groupproof.protocol.rules.profiles import profile as profile_named

__all__ = ["ProfileContrast", "contrast_of"]

COMPARED_MAX: Final = 1024


class ProfileContrast(NamedTuple):
    """The fields in which two profiles differ, and in each cell the number of the first row that does."""

    fields: frozenset[str]
    rows: dict[str, int]
    is_of_everything: bool

    def is_read(self, reads: Reads) -> bool:
        """Return whether anything was read in which the profiles differ."""
        return (
            self.is_of_everything
            or not self.fields.isdisjoint(reads.fields)
            or any(reads.rows.get(cell, -1) >= number for cell, number in self.rows.items())
        )


@lru_cache(maxsize=COMPARED_MAX)
def contrast_of(name: str, other_name: str) -> ProfileContrast:
    """Return where two profiles differ, by their names."""
    one, other = profile_named(name), profile_named(other_name)
    if not _are_alike(one, other):
        return ProfileContrast(frozenset(), {}, is_of_everything=True)
    pairs = [(table, other.tables[key]) for key, table in one.tables.items()]
    fields = frozenset(field for field in one.fields.keys() | other.fields.keys() if one.fields.get(field) != other.fields.get(field))
    rows: dict[str, int] = {}
    for table, was in pairs:
        for cell, number in (*_of_cells(table, was), *_of_checks(table, was)):
            rows[cell] = min(number, rows.get(cell, number))
    return ProfileContrast(fields, rows, is_of_everything=False)


on_change(contrast_of.cache_clear)


def _are_alike(one: Profile, other: Profile) -> bool:
    """Return whether the profiles differ in fields and rows alone.

    The answers of a group that is being deleted are looked up outside the machine (`transient_answers`): their rows count as read.
    """
    return (one.line, one.defaults, one.tables.keys()) == (other.line, other.defaults, other.tables.keys()) and all(
        table.appends == other.tables[key].appends and _dead(table.cells) == _dead(other.tables[key].cells) for key, table in one.tables.items()
    )


def _dead(cells: Cells) -> dict[object, Cell]:
    return {kind: states[DEAD] for kind, states in cells.items() if DEAD in states}


def _of_cells(table: Table, other: Table) -> Iterator[tuple[str, int]]:
    for kind in {**table.cells, **other.cells}:
        states, others = table.cells.get(kind, {}), other.cells.get(kind, {})
        if states is not others:
            for state in {**states, **others}:
                yield from _first_row(cell_name(kind, state, table.dialect.state_prefix), states.get(state, ()), others.get(state, ()))


def _of_checks(table: Table, other: Table) -> Iterator[tuple[str, int]]:
    for kind in {**table.before_group, **other.before_group}:
        yield from _first_row(f"{kind.value}/before", table.before_group.get(kind, ()), other.before_group.get(kind, ()))


def _first_row(name: str, cell: Cell, other: Cell) -> Iterator[tuple[str, int]]:
    if cell is not other and cell != other:
        alike = [row == was for row, was in zip(cell, other, strict=False)]
        yield name, alike.index(False) if False in alike else len(alike)
