"""Tables whose rows note that their guards were asked (`noted_reads`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from groupproof.protocol.rules.noted_reads import note_row

if TYPE_CHECKING:
    from groupproof.coordinator.machine.bound_tables import BoundTables, Rule
    from groupproof.coordinator.machine.event import Event

__all__ = ["with_noted_rows"]

K = TypeVar("K")


def with_noted_rows(tables: BoundTables) -> BoundTables:
    """Return the tables with rows that note it when their guard is asked, each by its number in its whole cell."""
    whole = [*(rules for cells in tables.cells.values() for rules in cells.values()), *tables.before.values()]
    noted = {id(rule): _noted(rule, number) for rules in whole for number, rule in enumerate(rules)}

    def swapped(cells: Mapping[K, tuple[Rule, ...]]) -> dict[K, tuple[Rule, ...]]:
        return {place: tuple(noted[id(rule)] for rule in rules) for place, rules in cells.items()}

    return replace(
        tables,
        cells={dialect: swapped(cells) for dialect, cells in tables.cells.items()},
        only=None if tables.only is None else swapped(tables.only),
        none=swapped(tables.none),
        before=swapped(tables.before),
        before_open=swapped(tables.before_open),
        of_class=swapped(tables.of_class),
        before_of_class=swapped(tables.before_of_class),
    )


def _noted(rule: Rule, number: int) -> Rule:
    return replace(rule, guard=_noting(rule.guard, rule.name.rpartition("/")[0], number))


def _noting(guard: Callable[[Event], bool], cell: str, number: int) -> Callable[[Event], bool]:
    def noting_guard(event: Event) -> bool:
        note_row(cell, number)
        return guard(event)

    return noting_guard
