"""The input and the outcome of a simulation: plain data, with JSON in both directions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final, Literal

from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.policy import REFERENCE, Policy
from groupproof.clients.planted.member_variants import variant_named
from groupproof.coordinator.broker.topics import topic_id_of
from groupproof.harness.simulation.random_streams import Streams
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY

__all__ = [
    "BOUNCES", "GROUP", "OTHER_TOPIC", "SWARM", "TOPIC", "TOPIC_NAMES", "InvariantBroken", "Outcome", "Simulation", "Transitions", "Violation", "member_settings",
    "policy_of", "settled",
]  # fmt: skip

GROUP: Final = "g"
BOUNCES: Final = {1: (COOPERATIVE_STICKY, "range"), 2: (COOPERATIVE_STICKY,)}
"""The assignors after each rolling bounce of an upgrade from range. The first bounce has both (KIP-429)."""
TOPIC: Final = "t"
OTHER_TOPIC: Final = "u"
TOPIC_NAMES: Final = {topic_id_of(name): name for name in (TOPIC, OTHER_TOPIC)}
"""The names of the topics by their ids."""
SWARM: Final = "swarm"
STATIC_SINCE: Final = (2, 3)
_METADATA_MS: Final = 60_000
"""The maximum age of a client's metadata. With Kafka's five minutes every run would wait for grown topics."""

Faults = tuple[str, ...] | Literal["swarm"]
Transitions = tuple[tuple[int, int, str, str, int, str], ...]
"""Time (ms), node, state before and after, generation, rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """One run of one group. Times are virtual milliseconds. Settings of members and brokers have Kafka's names.

    Faults occur within `duration_ms`. Then all are healed, and the group has to settle. Settings that are None are drawn from the seed with
    `faults="swarm"`, otherwise they are Kafka's. `coordinator_settings` are broker settings by dotted name. The variants are names of planted bugs or
    legal variants. `dialect` is the members' dialect (None: the profile's first dialect that can be simulated). In a group of another
    dialect, `classic_members` of them start with the classic one. `latency_ms` is the longest time of a frame in one direction.
    """

    seed: int
    members: int = 10
    duration_ms: int = 600_000
    profile: str = "kafka-4.1"
    faults: Faults = SWARM
    brokers: int = 3
    partitions: int | None = None
    static_members: int | None = None
    assignors: tuple[str, ...] | None = None
    session_timeout_ms: int | None = None
    heartbeat_interval_ms: int | None = None
    max_poll_interval_ms: int | None = None
    auto_commit_interval_ms: int = 30_000
    starts_within_ms: int = 2_000
    latency_ms: int = 10
    coordinator_settings: Mapping[str, int] = field(default_factory=dict)
    coordinator_variant: str | None = None
    member_variant: str | None = None
    dialect: str | None = None
    classic_members: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the settings that are not None."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Simulation:
        """Return the simulation that `value` describes. Raise `ValueError` if a field is unknown or the seed is missing."""
        columns = {column.name for column in fields(cls)}
        if unknown := sorted(value.keys() - columns):
            raise ValueError(f"a simulation has no {unknown[0]!r}; it has {', '.join(sorted(columns))}")
        if "seed" not in value:
            raise ValueError("a simulation needs a seed")
        settings = dict(value)
        for name in ("faults", "assignors"):
            if isinstance(settings.get(name), list):
                settings[name] = tuple(settings[name])
        return cls(**settings)


_KAFKAS: Final[dict[str, Any]] = {
    "static_members": 0, "assignors": ("range",), "session_timeout_ms": 45_000, "heartbeat_interval_ms": 3_000, "max_poll_interval_ms": 300_000,
}  # fmt: skip
_ASSIGNORS: Final = (("range",), ("roundrobin",), ("sticky",), (COOPERATIVE_STICKY,), ("range", "roundrobin"), (COOPERATIVE_STICKY, "range"))
_SESSIONS_MS: Final = (6_000, 10_000, 30_000, 45_000)
_MAX_POLLS_MS: Final = (10_000, 60_000, 300_000)


def settled(simulation: Simulation, release: tuple[int, ...], interval_ms: int = 3_000) -> Simulation:
    """Return the simulation with complete settings: in a swarm the open ones are drawn from its seed, otherwise they are Kafka's.

    `release` is its profile's. `interval_ms` is the heartbeat interval of members of its dialect, if sessions are long enough.
    Settings that the members' variant cannot have are not drawn.
    """
    chosen = _drawn(simulation) if simulation.faults == SWARM else dict(_KAFKAS)
    chosen |= {name: chosen_value for name in chosen if (chosen_value := getattr(simulation, name)) is not None}
    if simulation.heartbeat_interval_ms is None:
        chosen["heartbeat_interval_ms"] = min(interval_ms, chosen["session_timeout_ms"] // 3)
    if release < STATIC_SINCE:
        chosen["static_members"] = 0
    partitions = 2 * simulation.members if simulation.partitions is None else simulation.partitions
    return replace(simulation, partitions=partitions, **chosen)


def policy_of(simulation: Simulation) -> Policy:
    """Return the members' policy. Raise `UnknownVariant`."""
    return REFERENCE if simulation.member_variant is None else variant_named(simulation.member_variant).policy


def member_settings(simulation: Simulation, name: str, number: int) -> MemberSettings:
    """Return the settings of one member of a simulation with complete settings."""
    return MemberSettings(
        group=GROUP, topics=(TOPIC,), instance_id=f"{name}-instance" if number < _required(simulation.static_members) else None,
        assignors=simulation.assignors or (), session_timeout_ms=_required(simulation.session_timeout_ms),
        heartbeat_interval_ms=_required(simulation.heartbeat_interval_ms), max_poll_interval_ms=_required(simulation.max_poll_interval_ms),
        auto_commit_interval_ms=simulation.auto_commit_interval_ms, auto_offset_reset="earliest",
        metadata_max_age_ms=_METADATA_MS,
    )  # fmt: skip


def _required(value: int | None) -> int:
    assert value is not None, "all settings have a value"
    return value


def _drawn(simulation: Simulation) -> dict[str, Any]:
    chance, policy = Streams(simulation.seed).named("settings"), policy_of(simulation)
    static_members = chance.choice((0, 0, simulation.members // 2, simulation.members))
    return {
        "static_members": static_members if policy.can_be_static else 0,
        # Without owned partitions in the subscription (KIP-429), the leader assigns a partition before its owner has revoked it.
        "assignors": chance.choice([names for names in _ASSIGNORS if policy.can_cooperate or COOPERATIVE_STICKY not in names]),
        "session_timeout_ms": chance.choice(_SESSIONS_MS),
        "heartbeat_interval_ms": 3_000,
        "max_poll_interval_ms": chance.choice(_MAX_POLLS_MS),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A broken invariant: the requirement's id, the time, and the observation."""

    requirement: str
    at_ms: int
    observed: str


class InvariantBroken(Exception):
    """An invariant was broken: the requirement's id and the observation. It ends the run."""

    def __init__(self, requirement: str, observed: str) -> None:
        super().__init__(f"{requirement}: {observed}")
        self.requirement, self.observed = requirement, observed


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a run. A run ends with its first violation, so there is at most one.

    `trace_hash` is a digest of all requests, answers and actions, in order. `converged_at_ms` is when the group had settled after
    the healing, None if it never did. `injected` counts the injected faults by kind, `requests` the requests by API.
    """

    simulation: Simulation
    events: int
    virtual_ms: int
    trace_hash: str
    transitions: Transitions
    violations: tuple[Violation, ...]
    converged_at_ms: int | None
    requests: Counter[str] = field(default_factory=Counter)
    injected: Counter[str] = field(default_factory=Counter)
    restarts: int = 0

    @property
    def generations(self) -> int:
        """The number of completed join phases."""
        return sum(1 for _, _, before, after, *_ in self.transitions if before == "PreparingRebalance" and after in ("CompletingRebalance", "Empty"))
