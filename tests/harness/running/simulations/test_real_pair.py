"""A simulation carried out by the trio pair."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupproof.harness.running.simulations.real_pair import in_virtual_time, over_sockets
from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault
from groupproof.harness.simulation.settings import Simulation

SHORT = Simulation(seed=1, members=2, brokers=2, duration_ms=20_000, session_timeout_ms=6_000, max_poll_interval_ms=10_000, faults=())


def test_what_the_pair_cannot_carry_out_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match="cannot run repeat; it can: append, broker-crash"):
        in_virtual_time(SHORT, Schedule(faults=(ScheduledFault(at_ms=1, kind="repeat"),)))
    with pytest.raises(ValueError, match="cannot run silence; it can: append, broker-crash"):
        over_sockets(SHORT, Schedule(faults=(ScheduledFault(at_ms=1, kind="silence", who=("m0",)),)))


def test_the_coordinator_moves_and_the_members_follow_it() -> None:
    moves = tuple(ScheduledFault(at_ms=at_ms, kind="move", who=(f"node{node}",), how={"drops": 0}) for at_ms, node in ((8_000, 0), (12_000, 1)))
    trace = in_virtual_time(SHORT, Schedule(faults=moves))

    moved = [obs.at_ms for obs in trace if obs.body.get("name") == "moved"]
    beats = [obs for obs in trace if obs.api == "Heartbeat" and obs.kind == "response" and not obs.error and obs.at_ms > 13_000]
    assert len(moved) in (1, 2), "it is where one of the moves takes it already, or not"
    assert {obs.client for obs in beats} == {"m0", "m1"}


@pytest.mark.slow
def test_partitions_that_are_added_are_given_to_somebody() -> None:
    trace = in_virtual_time(SHORT, Schedule(faults=(ScheduledFault(at_ms=9_000, kind="grow", how={"partitions": 2}),)))

    partitions = {partition for obs in trace if obs.body.get("name") == "partitions_assigned" for partition in obs.partitions}
    assert partitions == {("t", number) for number in range(6)}


def test_members_of_the_consumer_protocol_hand_a_partition_over_to_one_that_comes_back() -> None:
    plan = Schedule(faults=(ScheduledFault(at_ms=9_000, kind="leave", who=("m1",), for_ms=3_000),))
    trace = in_virtual_time(replace(SHORT, dialect="consumer"), plan)

    assert {obs.api for obs in trace if obs.kind == "request"} >= {"ConsumerGroupHeartbeat", "OffsetCommit"}
    handed = [(obs.client, obs.partitions) for obs in trace if obs.body.get("name") == "partitions_assigned" and obs.partitions]
    assert {name.split(".")[0] for name, _ in handed if name} == {"m0", "m1"}
    assert "JoinGroup" not in {obs.api for obs in trace}


@pytest.mark.slow
def test_the_same_arguments_give_the_same_trace() -> None:
    plan = Schedule(faults=(ScheduledFault(at_ms=9_000, kind="crash", who=("m1",), for_ms=3_000),))

    assert in_virtual_time(SHORT, plan) == in_virtual_time(SHORT, plan)
