"""A scenario as data: who takes part, what happens to them phase by phase, what must be seen of it, and within which time all is well again.

A duration has two values: in virtual time an operator's own (a session of 45 s, five minutes of `max.poll.interval.ms`), on the wire one that
a person waits for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from groupproof.harness.model.case_dialect import case_id
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.group_configs import HEARTBEAT_INTERVAL, SESSION_TIMEOUT
from groupproof.protocol.rules.dialect import Dialect

__all__ = [
    "COORDINATOR", "DIALECTS", "DURATIONS", "SETTINGS", "Action", "Duration", "Expectation", "Fault", "Healing", "Phase", "RunMode", "Scenario",
    "Words",
]  # fmt: skip

Words = str
"""A group of members, by what they are in the scenario: `leader`, `others`, `half`, … (`scenario_words`)."""


class RunMode(Enum):
    """Where a scenario is performed: in memory and virtual time, or over sockets in real time."""

    VIRTUAL = "virtual"
    WIRE = "wire"


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """Milliseconds, by the ground."""

    virtual_ms: int
    wire_ms: int

    def in_mode(self, mode: RunMode) -> int:
        return self.virtual_ms if mode is RunMode.VIRTUAL else self.wire_ms


DURATIONS: Final[Mapping[str, Duration]] = {
    "session": Duration(virtual_ms=45_000, wire_ms=6_000),
    "past-session": Duration(virtual_ms=60_000, wire_ms=8_000),
    "beat": Duration(virtual_ms=3_000, wire_ms=300),
    "poll": Duration(virtual_ms=300_000, wire_ms=10_000),
    "moment": Duration(virtual_ms=5_000, wire_ms=1_000),
    "while": Duration(virtual_ms=20_000, wire_ms=3_000),
    "bound": Duration(virtual_ms=120_000, wire_ms=15_000),
}
"""The durations that every scenario has, unless it gives them other values: in virtual time Kafka's own defaults."""

SETTINGS: Final[Mapping[str, Any]] = {"session_timeout_ms": "session", "heartbeat_interval_ms": "beat", "max_poll_interval_ms": "poll"}
"""What every member is set to, unless its scenario says otherwise."""

DIALECTS: Final[Mapping[str, Dialect]] = {dialect.name: dialect for dialect in (CLASSIC, CONSUMER)}
"""The dialects that scenarios are of; a member speaks its scenario's, unless its settings name another `group_protocol`."""

COORDINATOR: Final[Mapping[str, Mapping[str, Any]]] = {
    CLASSIC.name: {},
    CONSUMER.name: {
        SESSION_TIMEOUT: "session", "group.consumer.min.session.timeout.ms": "session", HEARTBEAT_INTERVAL: "beat",
        "group.consumer.min.heartbeat.interval.ms": "beat",
    },
}  # fmt: skip
"""What the coordinator is set to, by the scenario's dialect: in KIP-848 the members' times are the broker's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What breaks from the beginning of a phase to its end, or with `lasts` until the healing; `how` are the fields of its kind (`scenario_faults`).

    `who` are the members that it strikes, None for whoever comes. One that is `optional` need not come to bite.
    """

    name: str
    kind: str
    who: Words | None = None
    how: Mapping[str, Any] = field(default_factory=dict)
    lasts: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something done to members, or to the group's coordinator and topics; `how` are the fields of what is done (`scenario_actions`)."""

    do: str
    who: Words | None = None
    how: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Faults, then actions in their order, then a wait: `until` something is seen, or `lasts_ms`. Its faults end with it."""

    name: str
    faults: tuple[Fault, ...] = ()
    actions: tuple[Action, ...] = ()
    until: Mapping[str, Any] | None = None
    lasts: int | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Healing:
    """The last phase: everything is mended, thawed, resumed and started again, and the group has to settle with `members` within a bound.

    Afterwards it is watched for `still`. `requirement` is what a group breaks that does not settle.
    """

    name: str
    within: int | str
    members: Words = "all"
    still: int | str = 1_000
    requirement: str = "ASSIGN-09"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What must be seen in the trace, so that the scenario is known to have bitten; with a `requirement` it is a rule that the subject keeps.

    `sees` is what is counted or measured (`scenario_expectations`), `during` the phase in which (None: from the first one to the end).
    """

    says: str
    sees: str
    who: Words = "all"
    api: str | None = None
    event: str | None = None
    epoch: int | None = None
    errors: tuple[int, ...] = ()
    offset: int | None = None
    during: str | None = None
    at_least: int = 1
    at_most: int | None = None
    lasts: int | str | None = None
    each: bool = False
    requirement: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """`begin` says how it starts: with all its members settled, or empty, so that the phases start them.

    `members` are at least so many; `joiners` come later, and `twin` has the instance id of another. `settings` are those of every member,
    `settings_of` those of some, in the words of the shim contract's `subscribe`; `coordinator` Kafka's own broker settings. `only_virtual`
    says why it can't be run in real time.
    """

    name: str
    title: str
    story: str
    requirements: tuple[str, ...]
    members: int
    partitions: int
    dialect: str = CLASSIC.name
    joiners: int = 0
    twin: bool = False
    records: int = 20
    begin: str = "settled"
    only_virtual: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    settings_of: Mapping[Words, Mapping[str, Any]] = field(default_factory=dict)
    coordinator: Mapping[str, Any] = field(default_factory=dict)
    durations: Mapping[str, Duration] = field(default_factory=dict)
    phases: tuple[Phase, ...]
    healing: Healing
    expect: tuple[Expectation, ...] = ()

    @property
    def case_id(self) -> str:
        return case_id("chaos", DIALECTS[self.dialect], self.name)
