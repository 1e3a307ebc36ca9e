"""A scenario as data: its members, its faults and actions phase by phase, what the trace must show, and the bound within which the group settles.

A duration has two values. In virtual time it is an operator's own (a session of 45 s, five minutes of `max.poll.interval.ms`); on the wire it is
short enough to wait for.
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
"""Some members, named by their role in the scenario: `leader`, `others`, `half`, … (`member_names`)."""


class RunMode(Enum):
    """How a scenario runs: in memory and virtual time, or over sockets in real time."""

    VIRTUAL = "virtual"
    WIRE = "wire"


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """Milliseconds, by run mode."""

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
"""The default durations of every scenario; in virtual time they are Kafka's own defaults."""

SETTINGS: Final[Mapping[str, Any]] = {"session_timeout_ms": "session", "heartbeat_interval_ms": "beat", "max_poll_interval_ms": "poll"}
"""The default settings of every member."""

DIALECTS: Final[Mapping[str, Dialect]] = {dialect.name: dialect for dialect in (CLASSIC, CONSUMER)}
"""The dialects of scenarios; a member speaks its scenario's dialect, unless its settings name another `group_protocol`."""

COORDINATOR: Final[Mapping[str, Mapping[str, Any]]] = {
    CLASSIC.name: {},
    CONSUMER.name: {
        SESSION_TIMEOUT: "session", "group.consumer.min.session.timeout.ms": "session", HEARTBEAT_INTERVAL: "beat",
        "group.consumer.min.heartbeat.interval.ms": "beat",
    },
}  # fmt: skip
"""The coordinator's settings by the scenario's dialect: with KIP-848 the broker sets the members' times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault from the beginning of a phase to its end, or with `lasts` until the healing; `how` are the fields of its kind (`scenario_faults`).

    It acts on the members `who`, or on all with None. An `optional` fault need not take effect.
    """

    name: str
    kind: str
    who: Words | None = None
    how: Mapping[str, Any] = field(default_factory=dict)
    lasts: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action on members, or on the group's coordinator and topics; `how` are the action's fields (`scenario_plan`)."""

    do: str
    who: Words | None = None
    how: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Faults, then actions in their order, then a wait: `until` a condition holds, or for `lasts`. Its faults end with it."""

    name: str
    faults: tuple[Fault, ...] = ()
    actions: tuple[Action, ...] = ()
    until: Mapping[str, Any] | None = None
    lasts: int | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Healing:
    """The last phase: all members are mended, thawed, resumed and restarted, and the group has to settle with `members` within a bound.

    Afterwards it is observed for `still`. A group that does not settle breaks `requirement`.
    """

    name: str
    within: int | str
    members: Words = "all"
    still: int | str = 1_000
    requirement: str = "ASSIGN-09"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """An observation that the trace must have, as proof that the scenario took effect. With a `requirement` it is a rule for the subject.

    `sees` is what is counted or measured (`scenario_expectations`), in the phase `during` (None: in all phases).
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
    """`begin` is the start: all members settled, or an empty group whose members the phases start.

    `members` is the minimum number; `joiners` come later, and `twin` has the instance id of another member. `settings` are those of every member,
    `settings_of` those of some, in the fields of the shim contract's `subscribe`; `coordinator` has Kafka's own broker settings. `only_virtual`
    says why the scenario cannot run in real time.
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
