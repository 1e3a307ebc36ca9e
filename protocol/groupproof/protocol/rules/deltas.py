"""A delta: what one release changed in the table of a dialect, written as what held before it.

A delta names the release that brought today's rule (`since`) and says what was there instead: other rows of a cell (`was`), another order
of the checks before the group, words of the table that meant others everywhere (`effects`, `guards`), fields of answers, cells that could
not come up. `dialect.py` applies them newest first; a stale one fails where it is applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from groupproof.protocol.rules.cells import Cell, EffectName, EventKind, GuardName, Row, State, state_name

__all__ = ["Cell", "Change", "CoordinatorKind", "Delta", "Effects", "Release", "applied", "gone", "place", "with_effects", "with_guards"]

Release = tuple[int, ...]
Effects = Mapping[EffectName, tuple[EffectName, ...]]


class CoordinatorKind(Enum):
    """Which of the two coordinators that brokers from 3.7 to 3.9 had."""

    SCALA = "the coordinator in Scala"
    JAVA = "the coordinator in Java"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """How older releases differ in the cells of event `kind` and of `states`: they had `rows` instead of the row `name` (None: instead of the whole cell).

    With `keeps` they had `rows` and, after them, the row `name`. With `effects` they had the same rows, but each effect that is a key was replaced by its value.
    A cell without rows could not occur.
    """

    kind: EventKind
    states: tuple[State, ...]
    name: str | None = None
    rows: Cell = ()
    keeps: bool = False
    effects: Effects = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """What held before release `since`, and what came with it (`change`, with its KIP or issue).

    `appends` are the answers to requests whose record the log refuses, by request and the log's error. With `line` it held in that coordinator
    alone. A change of states of another dialect is one of the cells that this one brings to groups of that.
    """

    since: Release
    change: str
    was: tuple[Change, ...] = ()
    effects: Effects = field(default_factory=dict)
    guards: Mapping[GuardName, GuardName] = field(default_factory=dict)
    before_group: Mapping[EventKind, Cell] = field(default_factory=dict)
    fields: Mapping[str, int] = field(default_factory=dict)
    appends: Mapping[EventKind, Mapping[int, int]] = field(default_factory=dict)
    unreachable: Mapping[tuple[EventKind, State], str] = field(default_factory=dict)
    line: CoordinatorKind | None = None


def gone(kind: EventKind, states: tuple[State, ...], *names: str) -> tuple[Change, ...]:
    """Return the changes that say: none of these rows was there."""
    return tuple(Change(kind=kind, states=states, name=name) for name in names)


def applied(change: Change, cell: Cell, *, where: str = "") -> Cell:
    """Return `cell` as it was before the change; raise `ValueError` for a row that is not there: the delta is stale."""
    if change.name is None:
        return tuple(with_effects(row, change.effects) for row in cell) if change.effects else change.rows
    names = [row.name for row in cell]
    if change.name not in names:
        raise ValueError(f"a delta changes {where}/{change.name}, which is not there: {names}")
    index = names.index(change.name)
    rows = (with_effects(cell[index], change.effects),) if change.effects else change.rows
    return (*cell[:index], *rows, *cell[index + (not change.keeps) :])


def place(change: Change, state: State) -> str:
    """Return where a change holds, for messages."""
    return f"{change.kind.value}/{state_name(state)}"


def with_effects(row: Row, effects: Effects) -> Row:
    """Return the row with each effect that `effects` names as the ones it was."""
    if not {*row.effects, *row.after} & effects.keys():
        return row
    return replace(row, effects=_instead(row.effects, effects), after=_instead(row.after, effects))


def with_guards(row: Row, guards: Mapping[GuardName, GuardName]) -> Row:
    """Return the row with the guard it had."""
    return replace(row, guard=guards[row.guard]) if row.guard in guards else row


def _instead(present: tuple[EffectName, ...], effects: Effects) -> tuple[EffectName, ...]:
    return tuple(effect_name for effect in present for effect_name in effects.get(effect, (effect,)))
