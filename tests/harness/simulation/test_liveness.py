"""After the healing: what is missing is told, and what moves on without cause is found."""

from __future__ import annotations

import pytest
from tests.harness.simulation.runs import calm, ran, short

from groupproof.harness.simulation.liveness import settles_within_ms
from groupproof.harness.simulation.run import Run, run
from groupproof.harness.simulation.settings import InvariantBroken, settled

SETTLED_MS = 9_000


def _missing(made: Run) -> str:
    found = made._settlement.unsettled()
    return "" if found is None else " ".join(found)


def test_a_group_is_settled_when_all_are_members_and_every_partition_is_owned_once() -> None:
    assert _missing(ran(calm(), 3_000)) == "INV-12 the group is in PreparingRebalance"
    assert _missing(ran(calm(), SETTLED_MS)) == ""


def test_a_process_that_is_down_and_a_member_without_a_process_are_missed() -> None:
    made = ran(calm(), SETTLED_MS)
    made.targets.processes["m1"].crash()
    assert _missing(made).startswith("CLIENT-30 m1 not settled")

    del made.targets.processes["m1"]  # type: ignore[attr-defined]  # the world's own dictionary
    assert _missing(made).startswith("HB-11 the group has 4 members, m1-")


def test_a_member_that_commits_before_it_leaves_is_missed() -> None:
    made = ran(calm(), SETTLED_MS)
    made.targets.processes["m1"].leave()

    assert made.targets.processes["m1"].member.is_settled
    assert _missing(made).startswith("CLIENT-30 m1 not settled")


def test_a_partition_that_nobody_owns_is_missed() -> None:
    made = ran(calm(), SETTLED_MS)
    made.targets.brokers.topics["t"] += 1

    assert _missing(made) == "ASSIGN-09 t-8 has 0 owners"
    with pytest.raises(InvariantBroken, match="ASSIGN-09: now: t-8"):
        made._settlement.check("now")


def test_a_partition_that_came_while_the_static_leader_was_away_is_overlooked_as_by_java() -> None:
    made = Run(short(166))  # static: the topic grows, the leader leaves, comes back and skips the assignment (KIP-814)

    assert made.go().violations == ()
    generation = made.invariants.generations.current
    assert generation.has_resumed
    assert ("t", made.targets.brokers.topics["t"] - 1) not in generation.assigned

    made.targets.brokers.topics["t"] += 1  # of this one the leader could know
    assert _missing(made) == f"ASSIGN-09 t-{made.targets.brokers.topics['t'] - 1} has 0 owners"


def test_what_no_static_leader_overlooked_is_missed() -> None:
    made = Run(short(166))
    made.go()
    made.invariants.generations.current.has_resumed = False

    assert _missing(made).startswith("ASSIGN-09 t-8 has 0 owners")


def test_a_group_that_never_settles_breaks_an_invariant_at_the_bound() -> None:
    outcome = run(calm(coordinator_variant="nobody-leads", profile="kafka-2.4"))
    bound_ms = outcome.simulation.duration_ms + settles_within_ms(settled(calm(), (4, 1)))

    (broken,) = outcome.violations
    assert (broken.requirement, outcome.converged_at_ms) == ("INV-12", None)
    assert bound_ms <= broken.at_ms < bound_ms + 1_000


@pytest.mark.parametrize(
    ("variant", "commits_ms"), [("leader-omits-a-partition", 30_000), ("rejoins-after-each-commit", 3_000), ("never-heartbeats", 30_000)]
)
def test_a_member_that_keeps_the_group_from_rest_breaks_an_invariant(variant: str, commits_ms: int) -> None:
    assert run(short(duration_ms=20_000, faults=(), member_variant=variant, auto_commit_interval_ms=commits_ms)).violations
