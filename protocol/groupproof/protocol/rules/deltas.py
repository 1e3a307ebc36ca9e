"""A delta: one release's changes of a dialect's table, written as the rules before it.

A delta names the release of today's rule (`since`) and the earlier rule: other rows of a cell (`was`), another order of the checks before the group,
other meanings of the table's words (`effects`, `guards`), other fields of answers, unreachable cells. `dialect.py` applies deltas newest first. A
stale one fails there.
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
    """The two coordinators of brokers from 3.7 to 3.9."""

    SCALA = "the coordinator in Scala"
    JAVA = "the coordinator in Java"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An older rule for event `kind` in `states`: `rows` instead of the row `name` (None: instead of the whole cell).

    With `keeps` it is `rows` followed by the row `name`. With `effects` the rows are the same, but each key in their effects is replaced by its
    value. A cell without rows could not occur.
    """

    kind: EventKind
    states: tuple[State, ...]
    name: str | None = None
    rows: Cell = ()
    keeps: bool = False
    effects: Effects = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """The rules before release `since`, and the change that replaced them (`change`, with its KIP or issue).

    `appends` are the answers where the log refuses a request's record, by request and log error. With `line` the delta applies to that coordinator
    only. A change for states of another dialect is one of the cells that this dialect adds to that dialect's groups.

    `part` is a name of the change, such as its KAFKA issue: another broker may have this change alone (`profiles.mixed`). `mends` is the requirement
    that is kept since, where the change is the fix of a bug of Kafka.
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
    part: str = ""
    mends: str = ""

    def is_before(self, release: Release, line: CoordinatorKind) -> bool:
        """Return whether a release of that coordinator has the rules from before the change."""
        return self.since > release and self.line in (None, line)


def gone(kind: EventKind, states: tuple[State, ...], *names: str) -> tuple[Change, ...]:
    """Return the changes that say that these rows did not exist."""
    return tuple(Change(kind=kind, states=states, name=name) for name in names)


def applied(change: Change, cell: Cell, *, where: str = "") -> Cell:
    """Return `cell` before the change; raise `ValueError` for a missing row: the delta is stale."""
    if change.name is None:
        return tuple(with_effects(row, change.effects) for row in cell) if change.effects else change.rows
    names = [row.name for row in cell]
    if change.name not in names:
        raise ValueError(f"a delta changes {where}/{change.name}, which is not there: {names}")
    index = names.index(change.name)
    rows = (with_effects(cell[index], change.effects),) if change.effects else change.rows
    return (*cell[:index], *rows, *cell[index + (not change.keeps) :])


def place(change: Change, state: State) -> str:
    """Return the cell that a change affects, for messages."""
    return f"{change.kind.value}/{state_name(state)}"


def with_effects(row: Row, effects: Effects) -> Row:
    """Return the row with each effect in `effects` replaced by its earlier ones."""
    replaced = effects.keys()
    if replaced.isdisjoint(row.effects) and replaced.isdisjoint(row.after):
        return row
    return replace(row, effects=_instead(row.effects, effects), after=_instead(row.after, effects))


def with_guards(row: Row, guards: Mapping[GuardName, GuardName]) -> Row:
    """Return the row with its earlier guard."""
    return replace(row, guard=guards[row.guard]) if row.guard in guards else row


def _instead(present: tuple[EffectName, ...], effects: Effects) -> tuple[EffectName, ...]:
    return tuple(effect_name for effect in present for effect_name in effects.get(effect, (effect,)))
