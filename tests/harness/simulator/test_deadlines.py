"""Time: phases that last too long, members that are evicted too early, and such as are kept too long."""

from __future__ import annotations

from typing import Any

import pytest
from tests.harness.simulator.made import moved
from tests.harness.simulator.runs import calm, ran

from groupproof.harness.simulator.running import run
from groupproof.harness.simulator.schedule import Happening, Schedule
from groupproof.harness.simulator.simulation import Broken, Outcome
from groupproof.protocol.vocabulary import GroupState

AT_MS = 8_000


def _met(kind: str, *, who: tuple[str, ...] = ("m1",), for_ms: int = 15_000, **given: Any) -> Outcome:
    return run(calm(**given), plan=Schedule(happenings=(Happening(at_ms=AT_MS, kind=kind, who=who, for_ms=for_ms),)))


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
def test_a_session_that_ends_at_the_wrong_time_breaks_a_law(variant: str, requirement: str) -> None:
    assert _met("crash").violations == ()
    assert _requirement(_met("crash", coordinator_variant=variant)) == requirement


@pytest.mark.parametrize(
    ("variant", "requirement"), [("join-deadline-never-ends", "INV-12"), ("join-deadline-ends-late", "INV-12"), ("join-deadline-ends-early", "HB-11")]
)
def test_a_join_phase_that_ends_at_the_wrong_time_breaks_a_law(variant: str, requirement: str) -> None:
    # A frozen member with a long session is waited for, to the end of the join phase, when another one leaves.
    frozen = Happening(at_ms=AT_MS, kind="pause", who=("m1",), for_ms=25_000)
    plan = Schedule(happenings=(frozen, Happening(at_ms=AT_MS + 500, kind="leave", who=("m2",), for_ms=1_000)))
    asked = {"session_timeout_ms": 30_000, "heartbeat_interval_ms": 2_000, "duration_ms": 40_000}

    assert run(calm(**asked), plan=plan).violations == ()
    assert _requirement(run(calm(**asked, coordinator_variant=variant), plan=plan)) == requirement


def test_an_initial_delay_that_never_ends_breaks_a_law() -> None:
    assert _requirement(run(calm(coordinator_variant="initial-delay-never-ends"))) == "INV-12"


@pytest.mark.parametrize(
    ("variant", "requirement"),
    [("sync-deadline-never-ends", "SYNC-16"), ("sync-deadline-ends-late", "SYNC-16"), ("sync-deadline-ends-early", "HB-11")],
)
def test_a_wait_for_sync_that_ends_at_the_wrong_time_breaks_a_law(variant: str, requirement: str) -> None:
    # What m1 is answered does not reach it, while it keeps its session up by what it sends: nobody syncs for it.
    plan = Schedule(happenings=(Happening(at_ms=4_000, kind="deaf", who=("m1",), for_ms=25_000),))
    asked = {"session_timeout_ms": 30_000, "heartbeat_interval_ms": 2_000, "duration_ms": 40_000}

    assert run(calm(**asked), plan=plan).violations == ()
    assert _requirement(run(calm(**asked, coordinator_variant=variant), plan=plan)) == requirement


def test_a_broker_that_stands_still_is_given_the_time_that_it_stood() -> None:
    assert _met("broker-pause", who=("node0",), for_ms=20_000).violations == ()


def test_a_member_that_is_gone_without_a_reason_breaks_a_law() -> None:
    run_ = ran(calm(), AT_MS)
    deadlines = run_.invariants.deadlines
    deadlines._members = {**deadlines._members, "m9-x": AT_MS - 100}

    with pytest.raises(Broken, match="m9-x was evicted in Stable though it was heard of 100 ms ago"):
        deadlines.settled(None)


def test_a_join_phase_that_ends_after_its_time_breaks_a_law() -> None:
    run_ = ran(calm(), AT_MS)
    run_.invariants.deadlines.moved(moved(GroupState.STABLE, GroupState.PREPARING_REBALANCE, 1))
    run_.heap.now_ms += 10_001

    with pytest.raises(Broken, match="INV-12: the join phase lasted 10001 ms"):
        run_.invariants.deadlines.moved(moved(GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, 2))
