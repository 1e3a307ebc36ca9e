"""The simulation of groups of KIP-848's `consumer` dialect: their members (also classic ones), their invariants, and when they have settled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.planted.member_variants import variant_named
from groupproof.coordinator.broker.topics import topic_id_of
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.harness.simulation.dialect_simulation import DialectSimulation, SimulationGround
from groupproof.harness.simulation.epoch_process import EpochProcess
from groupproof.harness.simulation.invariants.epoch_group_invariants import EpochGroupInvariants
from groupproof.harness.simulation.liveness import Settlement
from groupproof.harness.simulation.random_streams import Streams
from groupproof.harness.simulation.record import CLASSIC_DIGEST
from groupproof.harness.simulation.settings import SWARM, Simulation, member_settings, policy_of
from groupproof.harness.simulation.simulated_brokers import spoken_versions
from groupproof.protocol.rules import profile
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from groupproof.protocol.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)

if TYPE_CHECKING:
    from groupproof.harness.simulation.heap import Heap
    from groupproof.harness.simulation.simulator_faults import FaultTargets

__all__ = ["CONSUMER_SIMULATION", "Convergence"]

_INTERVAL_MS: Final = 5_000  # group.consumer.heartbeat.interval.ms
_LEAST_SESSION_MS, _MOST_SESSION_MS, _MOST_INTERVAL_MS = 45_000, 60_000, 15_000
_STABLE: Final = "Stable"
_STATE_CHECK: Final = f"{ConsumerEvent.STATE_CHECK.value}/"
_ASSIGNORS: Final = (None, "uniform", "range")


def _settled(simulation: Simulation) -> Simulation:
    """Return the simulation with the broker's heartbeat interval and the number of members that start with the classic protocol."""
    assert simulation.session_timeout_ms is not None
    interval_ms = simulation.heartbeat_interval_ms
    chance = Streams(simulation.seed).named("protocols")
    drawn = chance.choice((0, 0, 0, simulation.members // 2)) if simulation.faults == SWARM and simulation.member_variant is None else 0
    is_static = simulation.member_variant is not None and "instance_id" in variant_named(simulation.member_variant).settings
    return replace(
        simulation,
        heartbeat_interval_ms=interval_ms,
        classic_members=drawn if simulation.classic_members is None else simulation.classic_members,
        static_members=simulation.members if is_static else simulation.static_members,
    )


def _broker_settings(simulation: Simulation) -> Mapping[str, Any]:
    session_ms, interval_ms = simulation.session_timeout_ms, simulation.heartbeat_interval_ms
    assert session_ms is not None
    assert interval_ms is not None
    return {
        "group.consumer.session.timeout.ms": session_ms, "group.consumer.heartbeat.interval.ms": interval_ms,
        "group.consumer.min.session.timeout.ms": min(session_ms, _LEAST_SESSION_MS), "group.consumer.max.session.timeout.ms": max(session_ms, _MOST_SESSION_MS),
        "group.consumer.min.heartbeat.interval.ms": min(interval_ms, _INTERVAL_MS), "group.consumer.max.heartbeat.interval.ms": max(interval_ms, _MOST_INTERVAL_MS),
        **simulation.coordinator_settings,
    }  # fmt: skip


def _invariants(simulation: Simulation, heap: Heap) -> EpochGroupInvariants:
    return EpochGroupInvariants(profile(simulation.profile).release)


def _processes(ground: SimulationGround) -> Mapping[str, EpochProcess]:
    simulation, policy = ground.simulation, policy_of(ground.simulation)
    version = spoken_versions(simulation.profile, CONSUMER_SIMULATION.versions, policy.versions)[ConsumerGroupHeartbeatRequest]
    return {
        name: EpochProcess(name, _settings_of(simulation, name, number), policy=policy, ground=ground, version=version)
        for number in range(simulation.members) for name in (f"m{number}",)
    }  # fmt: skip


def _settings_of(simulation: Simulation, name: str, number: int) -> MemberSettings:
    """Return the settings of one member. The last members start with the classic protocol."""
    assert simulation.classic_members is not None
    return replace(
        member_settings(simulation, name, number), by_epochs=number < simulation.members - simulation.classic_members,
        remote_assignor=_ASSIGNORS[simulation.seed % len(_ASSIGNORS)], rack=f"r{number % 3}",
    )  # fmt: skip


class Convergence(Settlement):
    """`EventuallyConverges` of KIP-848's public TLA+ model: the group is Stable, every process is a member, every partition has one owner.

    If the leave of a member was not written, the group waits for that member in vain. Then only the other members must have converged.
    """

    def __init__(self, simulation: Simulation, targets: FaultTargets, invariants: EpochGroupInvariants) -> None:
        self._targets, self._invariants = targets, invariants

    def unsettled(self) -> tuple[str, str] | None:
        return self._is_moving() or self._strangers() or self._unowned()

    def may_disturb(self, rule: str, at_ms: int, silent_until_ms: int) -> bool:
        """Return whether a rule may move the group: the session of a silent member ends, and the group waits for a target without it."""
        return super().may_disturb(rule, at_ms, silent_until_ms) or (rule.startswith(_STATE_CHECK) and at_ms <= silent_until_ms)

    def _is_moving(self) -> tuple[str, str] | None:
        group = self._invariants.machine.group("g")
        if group is None or not (group.state.value == _STABLE or self._awaits_ghosts()):
            return "CGR-35", f"EventuallyConverges: the group is {'gone' if group is None else group.state}"
        if isinstance(group, ConsumerGroup) and (group.is_stale or not self._is_said(group)):
            return "CGR-35", "EventuallyConverges: the coordinator has not looked at all topics and subscriptions yet"
        absent = [name for name, process in self._targets.processes.items() if not process.is_up or not process.member.is_settled]
        return ("CGI-13", f"{', '.join(absent[:3])} not settled at epoch {group.generation}") if absent else None

    def _awaits_ghosts(self) -> bool:
        """Return whether all members have reached the target, apart from ghosts: members whose leave was not written."""
        group, ghosts = self._invariants.group(), self._invariants.ghosts()
        if group is None or not ghosts:
            return False
        others = [member for member in group.members.values() if member.member_id not in ghosts]
        return group.assignment_epoch == group.generation and all(member.epoch == group.generation and not member.pending for member in others)

    def _is_said(self, group: ConsumerGroup) -> bool:
        """Return whether the coordinator knows every current subscription. A change is sent with the next heartbeat."""
        mine, ghosts = (
            {process.member.member_id: frozenset(process.topics) for process in self._targets.processes.values()},
            self._invariants.ghosts(),
        )
        return all(mine.get(member.member_id) == member.names for member in group.members.values() if member.member_id not in ghosts)

    def _strangers(self) -> tuple[str, str] | None:
        here = set(self._invariants.machine.member_ids("g")) - self._invariants.ghosts()
        mine = {process.member.member_id for process in self._targets.processes.values()}
        return None if here == mine else ("CGR-36", f"the group has {len(here)} members, {len(mine & here)} of them with a process")

    def _unowned(self) -> tuple[str, str] | None:
        owners: dict[TopicPartition, int] = {}
        for process in self._targets.processes.values():
            for partition in process.member.owned:
                owners[partition] = owners.get(partition, 0) + 1
        wanted, kept = {topic for process in self._targets.processes.values() for topic in process.topics}, self._kept_by_ghosts()
        for topic in sorted(wanted):
            for index in range(self._targets.brokers.topics[topic]):
                if owners.get((topic, index), 0) != 1 and not ((topic, index) in kept and (topic, index) not in owners):
                    return "CGR-35", f"EventuallyConverges: {topic}-{index} has {owners.get((topic, index), 0)} owners"
        return None

    def _kept_by_ghosts(self) -> set[TopicPartition]:
        """Return the partitions of members whose leave was not written, including those of their target."""
        group, names = self._invariants.group(), {topic_id_of(topic): topic for topic in self._targets.brokers.topics}
        if group is None:
            return set()
        members = [group.members[member_id] for member_id in self._invariants.ghosts()]
        shares = [share for member in members for share in (member.assigned, member.pending, group.target.get(member.member_id, {}))]
        return {(names[topic_id], index) for share in shares for topic_id, indexes in share.items() for index in indexes}


CONSUMER_SIMULATION: Final = DialectSimulation(
    dialect=CONSUMER,
    versions={
        ConsumerGroupHeartbeatRequest: None, JoinGroupRequest: None, SyncGroupRequest: None, HeartbeatRequest: None, LeaveGroupRequest: None,
        OffsetCommitRequest: 9, OffsetFetchRequest: 9,
    },
    digest={
        **CLASSIC_DIGEST,
        ConsumerGroupHeartbeatResponse: lambda asked, answer: (
            asked.member_epoch, None if asked.topic_partitions is None else _shares(asked.topic_partitions), int(answer.error_code), answer.member_epoch,
            None if answer.assignment is None else _shares(answer.assignment.topic_partitions),
        ),
    },
    invariants=_invariants,
    processes=_processes,
    settlement=Convergence,
    settled=_settled,
    heartbeat_interval_ms=_INTERVAL_MS,
    broker_settings=_broker_settings,
)  # fmt: skip


def _shares(topics: Any) -> list[tuple[str, tuple[int, ...]]]:
    return [(topic.topic_id, tuple(topic.partitions)) for topic in topics]
