"""Groups of KIP-848's dialect in virtual time: reference members keep every invariant, planted bugs of both sides break one, legal variants none."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio
from tests.clients.member.consumer.epoch_world import OF_THE_APPLICATION
from tests.harness.simulation.runs import calm, ran, short
from tests.power.shares import is_drawn, parts

from groupproof.clients.planted.legal_variants_of_epochs import LEGAL_EPOCHS
from groupproof.clients.planted.misbehaviours_of_epochs import EPOCH_BUGS
from groupproof.harness.running.fuzzing.shrink import shrink
from groupproof.harness.simulation.consumer_simulation import CONSUMER_SIMULATION, Convergence
from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault
from groupproof.harness.simulation.run import Run, run
from groupproof.harness.simulation.settings import Outcome, Simulation
from groupproof.protocol.vocabulary import ErrorCode

SEEDS = 20
CLIENTS = [bug.name for bug in EPOCH_BUGS]
LATE = {
    "epoch-close-without-time-is-cut", "epoch-dies-on-110", "epoch-forgets-an-overdue-fetch", "epoch-forgets-what-comes-meanwhile", "epoch-ignores-110",
    "epoch-leaves-stale-commit-undone", "epoch-waits-with-everything", *OF_THE_APPLICATION,
}  # fmt: skip
"""Bugs that twenty seeds give no occasion for: a coordinator that keeps the protocol hardly ever answers 110 to a member that does, and every broker here knows all topics.

The days in `tests/clients/member/consumer/epoch_world.py`, the tests beside them or a case (`tests/power/caught_of_epochs.toml`) give it.
"""
COORDINATORS = {
    "code/ConsumerGroupHeartbeat/consumer.Stable/beats": (1, "COMMIT-22"), "gone/ConsumerGroupHeartbeat/consumer.Reconciling/beats": (1, "CGR-35"),
    "without/ConsumerGroupHeartbeat/consumer.Reconciling/beats/reconcile": (1, "CGC-07"),
    "without/ConsumerGroupHeartbeat/consumer.Stable/beats/refresh-session": (1, "COMMIT-22"),
    "without/ConsumerGroupHeartbeat/consumer.Stable/beats/bump": (5, "CGR-35"),
    "without/ConsumerGroupHeartbeat/consumer.Stable/beats/check-state": (1, "CGI-12"), "stays/StateCheck/consumer.Reconciling/settled": (1, "CGR-35"),
    "gone/StateCheck/consumer.Stable/members-behind": (1, "CGI-12"),
}  # fmt: skip
"""Mutants of the coordinator's rules, with a seed, and the requirement that is broken."""


def _asked(seed: int, **settings: Any) -> Simulation:
    return Simulation(**{"seed": seed, "members": 4, "duration_ms": 120_000, "dialect": "consumer", **settings})


def _first_broken(**settings: Any) -> Outcome | None:
    outcomes = (run(_asked(seed, **settings)) for seed in range(1, SEEDS + 1))
    return next((outcome for outcome in outcomes if outcome.violations), None)


@pytest.mark.requirement("CGI-02", "CGI-03", "CGI-04", "CGI-05", "CGI-06", "CGI-08", "CGI-10", "CGI-11", "CGI-12", "CGI-13", "CGR-35", "CGR-36")
@pytest.mark.parametrize(
    ("profile", "seed"), parts([(f"kafka-4.{minor}", seed) for minor in range(5) for seed in range(1, 41)], lambda row: row[1] == 1 + int(row[0][-1]))
)
def test_reference_members_keep_every_invariant_and_converge_on_every_release(profile: str, seed: int) -> None:
    outcome = run(_asked(seed, profile=profile))

    assert outcome.violations == ()
    assert outcome.converged_at_ms is not None
    assert outcome.requests["ConsumerGroupHeartbeat"] > 40


@pytest.mark.requirement("CGI-02", "CGI-10", "CGR-35")
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 20))])
def test_members_of_both_protocols_switch_and_converge(seed: int) -> None:
    outcome = run(_asked(seed, classic_members=2, faults=("upgrade", "crash", "grow", "slow")))

    assert outcome.violations == ()
    assert outcome.requests["JoinGroup"] > 2
    assert outcome.injected["upgrade"] == 8, "each member goes to the other protocol, and back"


def test_a_seed_is_the_same_run_to_the_last_byte_and_another_is_another() -> None:
    first, again, other = (run(_asked(seed)) for seed in (5, 5, 6))

    assert (first.trace_hash, first.events) == (again.trace_hash, again.events)
    assert first.trace_hash != other.trace_hash


@pytest.mark.slow
@pytest.mark.parametrize("name", [row for row in parts([(name,) for name in CLIENTS if name not in LATE], lambda row: is_drawn(row[0], 8))])
def test_a_planted_bug_of_the_member_breaks_an_invariant(name: str) -> None:
    assert _first_broken(member_variant=name) is not None


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed", "requirement"), [(name, *found) for name, found in COORDINATORS.items()])
def test_a_planted_bug_of_the_coordinator_breaks_an_invariant(name: str, seed: int, requirement: str) -> None:
    asked = _asked(
        seed, members=3, duration_ms=90_000, session_timeout_ms=6_000, max_poll_interval_ms=10_000, classic_members=0, coordinator_variant=name
    )

    assert [violation.requirement for violation in run(asked).violations] == [requirement]


@pytest.mark.parametrize("name", [row for row in parts([(variant.name,) for variant in LEGAL_EPOCHS], lambda row: is_drawn(row[0], 8))])
def test_a_legal_variant_keeps_every_invariant(name: str) -> None:
    assert [outcome.violations for seed in range(1, 4) if (outcome := run(_asked(seed, member_variant=name))).violations] == []


@pytest.mark.slow
def test_what_a_planted_bug_breaks_is_shrunk_to_the_faults_it_needs_and_replayed() -> None:
    """A member that loses everything with a connection is found by one reset."""
    simulation = short(
        9, members=2, duration_ms=60_000, dialect="consumer", faults=("reset", "slow", "grow", "stall"), member_variant="epoch-loses-on-a-disconnect"
    )
    plan = Run(simulation).plan
    broken = run(simulation, plan=plan).violations[0].requirement

    def shows(faults: Schedule) -> bool:
        return any(violation.requirement == broken for violation in run(simulation, plan=faults).violations)

    async def attempt(plans: Any) -> list[bool]:
        await trio.lowlevel.checkpoint()
        return [shows(candidate) for candidate in plans]

    def without_half(schedule: Schedule) -> list[Schedule]:
        faults, half = schedule.faults, len(schedule.faults) // 2
        return [Schedule(faults=faults[:half]), Schedule(faults=faults[half:])] if half else []

    def without_one(schedule: Schedule) -> list[Schedule]:
        faults = schedule.faults
        return [Schedule(faults=faults[:at] + faults[at + 1 :]) for at in range(len(faults))]

    smallest = trio.run(partial(shrink, plan, (without_half, without_one), attempt, lambda schedule: (len(schedule.faults),)))
    assert 1 <= len(smallest.faults) < len(plan.faults)
    assert len({run(simulation, plan=Schedule.from_json(smallest.to_json())).trace_hash for _ in range(2)}) == 1


def test_a_group_is_settled_when_the_coordinator_knows_every_subscription_and_every_partition_has_one_owner() -> None:
    made = ran(calm(dialect="consumer"), 12_000)
    settlement = Convergence(made.simulation, made.targets, made.invariants)
    assert settlement.unsettled() is None

    made.targets.brokers.make_topics({"t": 9})
    assert settlement.unsettled() == ("CGR-35", "EventuallyConverges: the coordinator has not looked at all topics and subscriptions yet")
    made.heap.run(made.heap.now_ms + 12_000)
    made.targets.processes["m0"].resubscribe(("t", "u"))
    assert settlement.unsettled() is not None


def _left_unwritten() -> Run:
    """Return a run in which m1 left while the log of the brokers refused records, and did not come back."""
    made = ran(calm(dialect="consumer"), 12_000)
    for node in range(made.targets.brokers.count):
        made.targets.brokers.refuse_appends(node, ErrorCode.UNKNOWN_SERVER_ERROR)
    made.targets.processes["m1"].leave()
    made.heap.run(13_000)
    for node in range(made.targets.brokers.count):
        made.targets.brokers.refuse_appends(node, ErrorCode.NONE)
    return made


@pytest.mark.requirement("CGL-15", "CGR-35")
def test_a_member_whose_leave_was_not_written_holds_up_nobody_s_convergence() -> None:
    refuses = ScheduledFault(at_ms=12_000, kind="append", who=(), for_ms=1_000, how={"error": 5})
    leaves = ScheduledFault(at_ms=12_500, kind="leave", who=("m1",), for_ms=5_000)
    outcome = run(calm(dialect="consumer"), plan=Schedule(faults=(refuses, leaves)))

    assert outcome.violations == ()
    assert outcome.converged_at_ms is not None


def test_for_a_leave_that_was_not_written_nothing_is_excused_but_what_waits_for_it() -> None:
    made = _left_unwritten()
    settlement, group = Convergence(made.simulation, made.targets, made.invariants), made.invariants.group()
    made.targets.processes["m1"].start()
    made.heap.run(40_000)
    assert settlement.unsettled() is None
    assert (len(group.members), group.state.value) == (5, "Reconciling")

    behind = next(member for member in group.members.values() if member.member_id not in made.invariants.ghosts())
    behind.epoch -= 1
    assert settlement.unsettled() == ("CGR-35", "EventuallyConverges: the group is Reconciling")


def test_a_member_whose_leave_was_not_written_is_a_ghost_until_its_group_is_loaded_again() -> None:
    made = _left_unwritten()
    assert len(made.invariants.ghosts()) == 1

    made.invariants.led_by(made.invariants.machine)
    assert made.invariants.ghosts() == set()


def test_the_broker_asks_for_the_interval_and_the_session_that_the_simulation_has() -> None:
    simulation = Run(short(dialect="consumer", session_timeout_ms=6_000, heartbeat_interval_ms=500)).simulation
    settings = CONSUMER_SIMULATION.broker_settings(simulation)

    assert settings["group.consumer.session.timeout.ms"] == settings["group.consumer.min.session.timeout.ms"] == 6_000
    assert settings["group.consumer.heartbeat.interval.ms"] == settings["group.consumer.min.heartbeat.interval.ms"] == 500


@pytest.mark.parametrize(("session_ms", "interval_ms"), [(45_000, 5_000), (6_000, 2_000)])
def test_members_heartbeat_as_often_as_kafka_s_own_default_asks_where_their_sessions_are_long_enough(session_ms: int, interval_ms: int) -> None:
    assert Run(short(dialect="consumer", session_timeout_ms=session_ms)).simulation.heartbeat_interval_ms == interval_ms
