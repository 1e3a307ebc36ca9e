"""A dialect of the group protocol as one object: its words, its table with the deltas of older releases, its requests and its states.

The dialects are `classic`, KIP-848's `consumer` and DataLink's. Code that needs a name, a state or an event of a dialect reads it from the object.
The functions behind the words belong to the machine (`groupproof.coordinator`), which also has one object for each dialect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from groupproof.protocol.rules.api_versions import Range
from groupproof.protocol.rules.cells import (
    NO_GROUP,
    AnswerName,
    Cell,
    Cells,
    EffectName,
    EventKind,
    GuardName,
    Place,
    Row,
    State,
    cell_name,
    rule_name,
)
from groupproof.protocol.rules.deltas import CoordinatorKind, Delta, Release, applied, place, with_effects, with_guards

if TYPE_CHECKING:
    from groupproof.protocol.vocabulary import Api
    from groupproof.protocol.wire.message_conversion import MessagePair
    from groupproof.protocol.wire.observation_columns import FrameColumns

__all__ = ["Dialect", "Relative", "Table", "missing_cells", "newer_deltas", "table_of", "undone", "with_part"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relative:
    """A coordinator outside Kafka's releases that speaks a dialect. A profile is made from it.

    `release` is the Kafka release that selects the dialect's deltas. `says` is a sentence on the profile's evidence. `deltas` and `unreachable` are
    its own. `beside` names the other dialects that it speaks.
    """

    name: str
    release: Release
    says: str
    api_versions: Mapping[Api, Range]
    defaults: Mapping[str, int]
    deltas: tuple[Delta, ...] = ()
    unreachable: Mapping[Place, str] = field(default_factory=dict)
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """One dialect, equal only to itself. Its `name` is part of case ids (`area/dialect/name`) and is the capability that a shim declares.

    `events` are all that can come to its groups, in the order of the documents. `requests` are the events that clients send, `timers` those that a
    trace records. `cells`, `before_group`, `unreachable`, `fields` and `appends` are the newest release's; `deltas` are the differences of older
    releases. `otherwise` is the guard that always holds; every cell ends with it. `valid_previous_states` are for each state the states from which a
    group can enter it (INV-01). `group_says` is the documents' term for a group of the dialect, `state_says` the sentence for each of its states.

    `state_prefix` precedes a state in the names of rules, because dialects of one broker have states of the same name.

    `messages` are the request and response classes that `groupproof.protocol.wire` lacks. Their fields are named as the bodies'. `columns` are the
    trace columns of these frames.

    `settings` are the broker settings that only this dialect reads, by Kafka's dotted names, with their defaults.

    `since` is the first Kafka release that speaks it, None where none does; `relatives` are other coordinators that speak it. `elsewhere` are the
    cells for its requests in groups of other dialects, by dialect name; a broker that speaks both needs them. `apis_beside` are other APIs of its
    brokers, such as those for the settings of one group.
    """

    name: str
    group_says: str
    states: type[StrEnum]
    events: tuple[EventKind, ...]
    requests: tuple[EventKind, ...]
    timers: frozenset[EventKind]
    guards: tuple[GuardName, ...]
    otherwise: GuardName
    answers: tuple[AnswerName, ...]
    effects: tuple[EffectName, ...]
    cells: Cells
    before_group: Mapping[EventKind, Cell]
    unreachable: Mapping[Place, str]
    valid_previous_states: Mapping[StrEnum, frozenset[StrEnum]]
    state_says: Mapping[State, str]
    fields: Mapping[str, int] = field(default_factory=dict)
    appends: Mapping[EventKind, Mapping[int, int]] = field(default_factory=dict)
    deltas: tuple[Delta, ...] = ()
    messages: tuple[MessagePair, ...] = ()
    columns: Mapping[Api, FrameColumns] = field(default_factory=dict)
    settings: Mapping[str, int | str] = field(default_factory=dict)
    state_prefix: str = ""
    since: Release | None = None
    relatives: tuple[Relative, ...] = ()
    elsewhere: Mapping[str, Cells] = field(default_factory=dict)
    apis_beside: Mapping[Api, Range] = field(default_factory=dict)

    @property
    def all_states(self) -> tuple[State, ...]:
        """Return the states of a group, after the state of no group."""
        return (NO_GROUP, *self.states)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """A dialect's table in one release: the checks before the group is looked up, the rows by event and state, and the reasons for missing cells.

    `fields` are values of answers that differ by release. `appends` are the client's error codes where the log refuses a record.
    """

    dialect: Dialect
    before_group: Mapping[EventKind, Cell]
    cells: Cells
    unreachable: Mapping[Place, str]
    fields: Mapping[str, int]
    appends: Mapping[EventKind, Mapping[int, int]]

    def rules(self) -> Iterator[tuple[EventKind, State, Row]]:
        """Yield every row of every cell, in the table's order."""
        for event, states in self.cells.items():
            for state, cell in states.items():
                for row in cell:
                    yield event, state, row

    def rule(self, name: str) -> Row | None:
        """Return the row with this name, such as `Heartbeat/Stable/alive`, or None."""
        return next((row for rule_name, row in self.named_rules() if rule_name == name), None)

    def named_rules(self) -> Iterator[tuple[str, Row]]:
        """Yield every row of every cell with its name, in the table's order."""
        for event, state, row in self.rules():
            yield rule_name(event, state, row, self.dialect.state_prefix), row


def newer_deltas(
    dialect: Dialect, release: Release, line: CoordinatorKind, more: tuple[Delta, ...] = (), swapped: frozenset[str] = frozenset()
) -> list[Delta]:
    """Return the deltas after `release`, newest first: the order in which they are undone.

    Those whose `part` is in `swapped` are undone where the release has the change, and are not where it lacks it.
    """
    found = sorted((*dialect.deltas, *more), key=lambda delta: delta.since, reverse=True)
    return [delta for delta in found if delta.is_before(release, line) is not (delta.part in swapped)]


def table_of(
    dialect: Dialect, release: Release, line: CoordinatorKind, *, deltas: tuple[Delta, ...] = (), unreachable: Mapping[Place, str] | None = None, beside: tuple[Dialect, ...] = (),
    swapped: frozenset[str] = frozenset()
) -> Table:  # fmt: skip
    """Return the dialect's table in a release, with a profile's own `deltas` and `unreachable`, for brokers that also speak the dialects `beside`.

    The changes named in `swapped` are undone where the release has them, and are there where it lacks them. Raise `ValueError` where one needs another.
    """
    cells: Cells = {event: dialect.cells.get(event, {}) for event in (*dialect.cells, *dialect.events)}
    before_group, reasons = dict(dialect.before_group), dict(dialect.unreachable)
    fields, appends = dict(dialect.fields), dict(dialect.appends)
    for delta in newer_deltas(dialect, release, line, deltas, swapped):
        cells = undone(_about(delta, dialect), cells)
        before_group.update(delta.before_group)
        fields.update(delta.fields)
        reasons.update(delta.unreachable)
        appends.update(delta.appends)
    reasons.update(unreachable or {})
    for other in beside:
        cells = {**cells, **{event: {**cells.get(event, {}), **states} for event, states in _brought(other, dialect, release, line).items()}}
    return Table(
        dialect=dialect, before_group=before_group, fields=fields, appends=appends,
        cells={
            event: {state: cell for state, cell in states.items() if cell}
            for event, states in cells.items() if event in dialect.cells or any(states.values())
        },
        unreachable={where: reason for where, reason in reasons.items() if not cells.get(where[0], {}).get(where[1])},
    )  # fmt: skip


def with_part(table: Table, other: Table, part: str) -> Table:
    """Return the table with a field, the checks before the group, or a cell of another release's; the table itself where the two do not differ in it."""
    kind_name, _, place_name = part.partition("/")
    if part in other.fields and other.fields[part] != table.fields.get(part):
        return replace(table, fields={**table.fields, part: other.fields[part]})
    kind = next((event for event in (*table.cells, *table.before_group) if event.value == kind_name), None)
    if kind is None or not place_name:
        return table
    if place_name == "before":
        checks = other.before_group.get(kind, ())
        is_other = bool(checks) and checks != table.before_group.get(kind)
        return replace(table, before_group={**table.before_group, kind: checks}) if is_other else table
    states, others = table.cells.get(kind, {}), other.cells.get(kind, {})
    changed = {
        state: others[state]
        for state, cell in states.items()
        if cell_name(kind, state, table.dialect.state_prefix) == part and others.get(state, cell) != cell
    }
    return replace(table, cells={**table.cells, kind: {**states, **changed}}) if changed else table


def _brought(other: Dialect, dialect: Dialect, release: Release, line: CoordinatorKind) -> Cells:
    """Return the cells that another dialect adds for groups of this one, in a release."""
    cells = other.elsewhere.get(dialect.name, {})
    for delta in newer_deltas(other, release, line):
        about = _about(delta, dialect)
        cells = undone(replace(about, was=tuple(change for change in about.was if change.kind in cells)), cells)
    return cells


def _about(delta: Delta, dialect: Dialect) -> Delta:
    """Return the delta's part for groups of the dialect. A state's class shows its dialect, because two dialects may have states of one name."""
    return replace(
        delta, was=tuple(change for change in delta.was if all(state is NO_GROUP or isinstance(state, dialect.states) for state in change.states))
    )


def undone(delta: Delta, cells: Cells) -> Cells:
    """Return the cells before the delta: its changes are undone first, then its words in every cell."""
    were: dict[EventKind, dict[State, Cell]] = {event: dict(states) for event, states in cells.items()}
    for change in delta.was:
        for state in change.states:
            were[change.kind][state] = applied(change, were[change.kind].get(state, ()), where=place(change, state))
    if delta.effects or delta.guards:
        for states in were.values():
            for state, cell in states.items():
                states[state] = tuple(with_guards(with_effects(row, delta.effects), delta.guards) for row in cell)
    return were


def missing_cells(table: Table, beside: tuple[Dialect, ...] = ()) -> list[Place]:
    """Return the cells that are missing without a reason, present in spite of a reason, or for an impossible event. A total table has none.

    A cell without an unconditional last row counts as missing. A group of the dialect gets the dialect's events, the requests of the dialects
    `beside` about one group, and the other events that those dialects add. Without a group only the dialect's own events count, because the other
    dialects answer theirs.
    """
    foreign = [event for other in beside for event in other.requests if event not in table.dialect.events]
    wanted = {(event, state) for event in table.dialect.events for state in table.dialect.all_states}
    wanted |= {(event, state) for event in foreign for state in table.dialect.states}
    wanted |= {(event, state) for other in beside for event, states in other.elsewhere.get(table.dialect.name, {}).items() for state in states}
    otherwise = table.dialect.otherwise
    present = {(event, state) for event, states in table.cells.items() for state, cell in states.items() if cell[-1].guard is otherwise}
    return sorted((wanted - present - table.unreachable.keys()) | (present & table.unreachable.keys()) | (present - wanted), key=str)
