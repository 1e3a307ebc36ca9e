"""Time: phases that last too long, members that are evicted too early, and such as are kept too long."""

from __future__ import annotations

from typing import Any

import pytest
from tests.harness.simulation.made import JOIN, moved, pending
from tests.harness.simulation.runs import calm, ran

from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault
from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.invariants.generations import Generations
from groupproof.harness.simulation.invariants.one_answer import Answering
from groupproof.harness.simulation.invariants.rebalance_deadlines import Deadlines, Timeouts
from groupproof.harness.simulation.run import run
from groupproof.harness.simulation.settings import InvariantBroken, Outcome
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import CommittedPartition, CommittedTopic, OffsetCommitRequest, OffsetCommitResponse

AT_MS = 8_000
_PREPARES, _COMPLETES = GroupState.PREPARING_REBALANCE.value, GroupState.COMPLETING_REBALANCE.value


def _outcome_of(kind: str, *, who: tuple[str, ...] = ("m1",), for_ms: int = 15_000, **options: Any) -> Outcome:
    return run(calm(**options), plan=Schedule(faults=(ScheduledFault(at_ms=AT_MS, kind=kind, who=who, for_ms=for_ms),)))


def _requirement(outcome: Outcome) -> str:
    (broken,) = outcome.violations
    return broken.requirement


@pytest.mark.parametrize(
    ("variant", "requirement"),
    [
        ("session-never-ends", "HB-11"),
        ("session-ends-late", "HB-11"),
        ("session-ends-early", "HB-11"),
        ("session-of-synced-is-short", "HB-11"),
    ],
)
def test_a_session_that_ends_at_the_wrong_time_breaks_an_invariant(variant: str, requirement: str) -> None:
    assert _outcome_of("crash").violations == ()
    assert _requirement(_outcome_of("crash", coordinator_variant=variant)) == requirement


@pytest.mark.parametrize(
    ("variant", "requirement"), [("join-deadline-never-ends", "INV-12"), ("join-deadline-ends-late", "INV-12"), ("join-deadline-ends-early", "HB-11")]
)
def test_a_join_phase_that_ends_at_the_wrong_time_breaks_an_invariant(variant: str, requirement: str) -> None:
    # A frozen member with a long session is waited for, to the end of the join phase, when another one leaves.
    frozen = ScheduledFault(at_ms=AT_MS, kind="pause", who=("m1",), for_ms=25_000)
    plan = Schedule(faults=(frozen, ScheduledFault(at_ms=AT_MS + 500, kind="leave", who=("m2",), for_ms=1_000)))
    asked = {"session_timeout_ms": 30_000, "heartbeat_interval_ms": 2_000, "duration_ms": 40_000}

    assert run(calm(**asked), plan=plan).violations == ()
    assert _requirement(run(calm(**asked, coordinator_variant=variant), plan=plan)) == requirement


def test_an_initial_delay_that_never_ends_breaks_an_invariant() -> None:
    assert _requirement(run(calm(coordinator_variant="initial-delay-never-ends"))) == "INV-12"


@pytest.mark.parametrize(
    ("variant", "requirement"),
    [("sync-deadline-never-ends", "SYNC-16"), ("sync-deadline-ends-late", "SYNC-16"), ("sync-deadline-ends-early", "HB-11")],
)
def test_a_wait_for_sync_that_ends_at_the_wrong_time_breaks_an_invariant(variant: str, requirement: str) -> None:
    # What m1 is answered does not reach it, while it keeps its session up by what it sends: nobody syncs for it.
    plan = Schedule(faults=(ScheduledFault(at_ms=4_000, kind="deaf", who=("m1",), for_ms=25_000),))
    asked = {"session_timeout_ms": 30_000, "heartbeat_interval_ms": 2_000, "duration_ms": 40_000}

    assert run(calm(**asked), plan=plan).violations == ()
    assert _requirement(run(calm(**asked, coordinator_variant=variant), plan=plan)) == requirement


def test_a_broker_that_stands_still_is_given_the_time_that_it_stood() -> None:
    assert _outcome_of("broker-pause", who=("node0",), for_ms=20_000).violations == ()


def test_static_members_are_waited_for_from_when_a_broker_that_stood_still_continues() -> None:
    # The join phase of 8 s is over at 18 s, with nobody joined; the broker sees that at 20.4 s, and waits to 30.4 s for m1, who thaws at 40 s (TR-050).
    frozen = [ScheduledFault(at_ms=7_900, kind="pause", who=(name,), for_ms=ms) for name, ms in (("m0", 13_000), ("m1", 32_000), ("m2", 13_000))]
    leaves = ScheduledFault(at_ms=AT_MS, kind="leave", who=("m3",), for_ms=40_000)
    stands = ScheduledFault(at_ms=8_400, kind="broker-pause", who=("node0",), for_ms=12_000)
    outcome = run(calm(static_members=3, session_timeout_ms=45_000, duration_ms=60_000), plan=Schedule(faults=(*frozen, leaves, stands)))

    assert outcome.violations == ()
    assert 30_400 in {at_ms for at_ms, _, before, after, *_ in outcome.transitions if (before, after) == (_PREPARES, _COMPLETES)}


def _joining(*, from_empty: bool = False) -> Deadlines:
    """Return the laws of a group that prepares a rebalance of 10 s, one of whose members has joined."""
    answering, heap = Answering(answers_the_removed=True), Heap()
    timeouts = Timeouts(
        session_ms=45_000, rebalance_ms=10_000, initial_delay_ms=3_000, newcomer_ms=300_000, bounds_syncs=True, spares_newcomers=False
    )
    deadlines = Deadlines(timeouts, heap, answering, Generations())
    for item in (answering, deadlines):
        item.moved(moved(GroupState.EMPTY if from_empty else GroupState.STABLE, GroupState.PREPARING_REBALANCE))
    answering.processing(1)
    answering.settled(pending(JOIN))
    return deadlines


def _stood(deadlines: Deadlines, from_ms: int, to_ms: int) -> None:
    for at_ms, change in ((from_ms, deadlines.stands_still), (to_ms, deadlines.goes_on)):
        deadlines._heap.run(at_ms)
        change()


@pytest.mark.parametrize(
    ("stood", "from_empty", "ends_ms"),
    [
        ((2_000, 7_000), False, 10_000),
        ((2_000, 14_000), False, 14_000),
        ((2_000, 7_000), True, 15_000),
    ],
    ids=["no later for what comes after", "now for what was due meanwhile", "later for an initial delay, part of which was late"],
)
def test_a_broker_that_stood_still_ends_the_join_phase(stood: tuple[int, int], from_empty: bool, ends_ms: int) -> None:
    deadlines = _joining(from_empty=from_empty)
    _stood(deadlines, *stood)
    deadlines._heap.run(ends_ms)

    with pytest.raises(InvariantBroken, match=f"INV-12: the join phase lasts longer than {ends_ms} ms, with 1 JoinGroups parked"):
        deadlines._heap.run(ends_ms + 1)


def test_a_wait_for_sync_is_no_longer_for_a_broker_that_stood_still_meanwhile() -> None:
    deadlines = _joining(from_empty=True)
    deadlines.moved(moved(GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, 1))
    _stood(deadlines, 2_000, 7_000)
    deadlines._heap.run(10_000)

    with pytest.raises(InvariantBroken, match="SYNC-16: the group waits for SyncGroup longer than 10000 ms"):
        deadlines._heap.run(10_001)


def test_a_member_that_is_gone_without_a_reason_breaks_an_invariant() -> None:
    run_ = ran(calm(), AT_MS)
    deadlines = run_.invariants.deadlines
    deadlines._members = {**deadlines._members, "m9-x": AT_MS - 100}

    with pytest.raises(InvariantBroken, match="m9-x was evicted in Stable though it was heard of 100 ms ago"):
        deadlines.settled(None)


def test_the_answer_to_a_commit_of_nothing_does_not_tell_that_the_coordinator_heard_of_the_member() -> None:
    run_ = ran(calm(), AT_MS)
    deadlines = run_.invariants.deadlines
    commit = OffsetCommitRequest(group_id="g", generation_id=1, member_id="m9-x")
    long_ago_ms = AT_MS - 30_000
    deadlines._members = {**deadlines._members, "m9-x": long_ago_ms}

    deadlines.answered(OffsetCommitResponse(), pending(commit), was_parked=False)  # another broker's, which refused it: there is no place for a code
    deadlines.settled(None)

    deadlines._members = {**deadlines._members, "m9-x": long_ago_ms}
    committed = CommittedTopic(name="t", partitions=(CommittedPartition(partition_index=0, error_code=0),))
    deadlines.answered(OffsetCommitResponse(topics=(committed,)), pending(commit), was_parked=False)
    with pytest.raises(InvariantBroken, match="m9-x was evicted in Stable though it was heard of 0 ms ago"):
        deadlines.settled(None)


def test_a_join_phase_that_ends_after_its_time_breaks_an_invariant() -> None:
    run_ = ran(calm(), AT_MS)
    run_.invariants.deadlines.moved(moved(GroupState.STABLE, GroupState.PREPARING_REBALANCE, 1))
    run_.heap.now_ms += 10_001

    with pytest.raises(InvariantBroken, match="INV-12: the join phase lasted 10001 ms"):
        run_.invariants.deadlines.moved(moved(GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, 2))
