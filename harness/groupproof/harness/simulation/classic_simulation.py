"""The simulation of classic groups: the reference member in each process, and the invariants of a classic group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.coordinator.machine.coordinator import Settings
from groupproof.harness.simulation.client_process import Process
from groupproof.harness.simulation.dialect_simulation import DialectSimulation, SimulationGround
from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.invariants.all_invariants import Invariants
from groupproof.harness.simulation.invariants.rebalance_deadlines import Timeouts
from groupproof.harness.simulation.liveness import Liveness
from groupproof.harness.simulation.record import CLASSIC_DIGEST
from groupproof.harness.simulation.settings import STATIC_SINCE, Simulation, member_settings, policy_of
from groupproof.protocol.rules import ClassicEvent, profile
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_terms import Effect
from groupproof.protocol.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)

__all__ = ["CLASSIC_SIMULATION"]

_ANSWERS_THE_REMOVED: Final = (2, 2)  # LEAVE-08
_NEWCOMERS_HAVE_SESSIONS: Final = (2, 5)
_RETURNS_LATE: Final = f"{ClassicEvent.JOIN_GROUP.value}/CompletingRebalance/instance-returns"  # KAFKA-9801
_ALL_JOINED: Final = f"{ClassicEvent.JOIN_CHECK.value}/PreparingRebalance/all-joined"
_UNLOADS: Final = f"{ClassicEvent.UNLOADED.value}/PreparingRebalance/unloaded"  # the new coordinator of 3.7 forgets parked requests
_IDS_SINCE: Final = 10  # from this version on, OffsetCommit and OffsetFetch name topics by id, which the member does not use


def _invariants(simulation: Simulation, heap: Heap) -> Invariants:
    release, settings = profile(simulation.profile), Settings.of(simulation.coordinator_settings, simulation.profile)
    timeouts = Timeouts(
        session_ms=_number(simulation.session_timeout_ms), rebalance_ms=_number(simulation.max_poll_interval_ms),
        initial_delay_ms=settings.group_initial_rebalance_delay_ms, newcomer_ms=settings.new_member_join_timeout_ms,
        bounds_syncs=bool(release.table.cells.get(ClassicEvent.SYNC_DEADLINE)), spares_newcomers=release.release < _NEWCOMERS_HAVE_SESSIONS,
        keeps_unsynced=Effect.ANSWER_JOINS_SPARING_NEWCOMERS in release.rule(_ALL_JOINED).after,
    )  # fmt: skip
    return Invariants(
        heap, timeouts, retention_ms=settings.offsets_retention_ms, answers_the_removed=release.release >= _ANSWERS_THE_REMOVED,
        answers_the_unloaded=Effect.ANSWER_PARKED in release.rule(_UNLOADS).effects,
        takes_late=release.release >= STATIC_SINCE and release.rule(_RETURNS_LATE).then is None,
    )  # fmt: skip


def _processes(ground: SimulationGround) -> Mapping[str, Process]:
    simulation = ground.simulation
    policy = policy_of(simulation)
    return {
        name: Process(
            name, member_settings(simulation, name, number), policy=policy, heap=ground.heap, network=ground.network, streams=ground.streams,
            brokers=simulation.brokers, ownership=ground.invariants.ownership, record=ground.record,
        )
        for number in range(simulation.members)
        for name in (f"m{number}",)
    }  # fmt: skip


def _number(value: int | None) -> int:
    assert value is not None, "all settings have a value"
    return value


CLASSIC_SIMULATION: Final = DialectSimulation(
    dialect=CLASSIC,
    versions={
        JoinGroupRequest: None, SyncGroupRequest: None, HeartbeatRequest: None, LeaveGroupRequest: None, OffsetCommitRequest: _IDS_SINCE - 1,
        OffsetFetchRequest: _IDS_SINCE - 1,
    },
    digest=CLASSIC_DIGEST,
    invariants=_invariants,
    processes=_processes,
    settlement=Liveness,
)  # fmt: skip
