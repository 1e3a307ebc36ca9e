"""A variant of the reference coordinator: deviations from its table, functions, timers and connections, as data.

A planted bug of a rule changes the profile's table, in the same words as a release does (`protocol.rules.deltas`). For behaviour that no table holds,
such as the time of a timer or the order of requests on a connection, a function replaces the reference's own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from groupproof.coordinator.machine.choices import RandomChoices
from groupproof.coordinator.machine.timers import Timers
from groupproof.protocol.rules.deltas import applied, place

if TYPE_CHECKING:
    from groupproof.coordinator.machine.choices import Choices, RandomBits
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.event import Event
    from groupproof.coordinator.machine.incoming_request import IncomingRequest
    from groupproof.coordinator.machine.machine_outputs import Output
    from groupproof.coordinator.machine.storage import StoredGroups
    from groupproof.coordinator.machine.timers import TimerKey
    from groupproof.protocol.rules.cells import AnswerName, EffectName, EventKind, GuardName
    from groupproof.protocol.rules.classic.classic_terms import Row
    from groupproof.protocol.rules.deltas import Change
    from groupproof.protocol.rules.profiles import Profile
    from groupproof.protocol.vocabulary import Api
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["REFERENCE", "AlteredTimers", "ConnectionVariant", "Variant", "profile_with"]

Body = dict[str, Any]


def _as_it_is(_: IncomingRequest, answer: Body) -> Body | None:
    return answer


def _same_bytes(_: IncomingRequest, data: bytes) -> bytes:
    return data


def _at_once(_: IncomingRequest) -> float:
    return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionVariant:
    """How the variant serves a connection.

    `says` may change the body of an answer, or withhold it (None). `sends` may change its bytes. `delay_s` is the delay of an answer. With `in_order`
    False a request is processed while an older one of its connection waits. `locks` serves all connections of a broker one answer at a time. After an
    unreadable frame the connection `ends`, or `stays` silent, or the whole broker `dies`. With `mutes` the broker processes no request of a client while an
    answer throttles it.
    """

    says: Callable[[IncomingRequest, Body], Body | None] = _as_it_is
    sends: Callable[[IncomingRequest, bytes], bytes] = _same_bytes
    delay_s: Callable[[IncomingRequest], float] = _at_once
    in_order: bool = True
    locks: bool = False
    bad_frame: Literal["ends", "stays", "dies"] = "ends"
    leaves_when_closed: bool = False
    mutes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variant:
    """One deviation from the reference, equal only to itself.

    `breaks` are requirement ids, empty for a legal variant; `says` describes it in a sentence.

    `rows` change the table of `dialect` (empty: the profile's first), `before` the cells of the checks before the group. `effects`, `guards` and
    `forms` replace the table's words. `due_ms` returns the time for which a timer is armed (None: never). `outputs` may change the machine's outputs,
    `stored` the records that move with a partition, `versions` the offer of ApiVersions, `answered` the versions that are answered, `owner` the
    broker that is named as coordinator. The coordinators know a changed topic `topics_late_ms` later than their brokers.
    """

    name: str
    says: str
    breaks: tuple[str, ...] = ()
    dialect: str = ""
    rows: tuple[Change, ...] = ()
    before: Mapping[EventKind, tuple[Row, ...]] = field(default_factory=dict)
    effects: Mapping[EffectName, Callable[[EffectContext, Event], None]] = field(default_factory=dict)
    guards: Mapping[GuardName, Callable[[Event], bool]] = field(default_factory=dict)
    forms: Mapping[AnswerName, Callable[[Event], GroupResponse]] = field(default_factory=dict)
    fields: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, int] = field(default_factory=dict)
    due_ms: Callable[[TimerKey, int], int | None] | None = None
    choices: Callable[[RandomBits], Choices] = RandomChoices
    outputs: Callable[[Sequence[Output], Hashable], Sequence[Output]] | None = None
    stored: Callable[[StoredGroups], StoredGroups] | None = None
    versions: Mapping[Api, tuple[int, int]] = field(default_factory=dict)
    answered: Mapping[Api, tuple[int, int]] = field(default_factory=dict)
    owner: Callable[[str, int, int], int] | None = None
    topics_late_ms: int = 0
    line: ConnectionVariant = field(default_factory=ConnectionVariant)

    @property
    def is_legal(self) -> bool:
        return not self.breaks

    def timers(self) -> Timers:
        return Timers() if self.due_ms is None else AlteredTimers(due=self.due_ms)


REFERENCE: Final = Variant(name="reference", says="Deviates in nothing.")


@dataclass(slots=True, kw_only=True)
class AlteredTimers(Timers):
    """Timers that are armed for another time than requested, or not at all."""

    due: Callable[[TimerKey, int], int | None]

    def arm(self, key: TimerKey, due_ms: int) -> None:
        altered_ms = self.due(key, due_ms)
        if altered_ms is None:
            self.cancel(key)
        else:
            Timers.arm(self, key, altered_ms)


def profile_with(profile: Profile, variant: Variant) -> Profile:
    """Return the profile with the variant's changes; raise `ValueError` for a row or a dialect that the profile does not have."""
    if not (variant.rows or variant.before or variant.fields):
        return profile
    if variant.dialect and variant.dialect not in profile.tables:
        raise ValueError(f"{variant.name} changes the table of {variant.dialect}, which {profile.name} does not speak")
    table = profile.tables[variant.dialect] if variant.dialect else profile.table
    cells = {kind: dict(states) for kind, states in table.cells.items()}
    for change in variant.rows:
        for state in change.states:
            cells[change.kind][state] = applied(change, cells[change.kind].get(state, ()), where=place(change, state))
    before = {**table.before_group, **variant.before}
    altered_table = replace(table, cells=cells, before_group=before, fields={**table.fields, **variant.fields})
    return replace(profile, tables={**profile.tables, table.dialect.name: altered_table})
