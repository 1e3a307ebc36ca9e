"""The drawn schedule: half of all kinds, from the seed alone, within the time for faults."""

from __future__ import annotations

from tests.harness.simulation.runs import short

from groupproof.harness.simulation.fault_mix import drawn
from groupproof.harness.simulation.settings import settled
from groupproof.harness.simulation.simulator_faults import FAULTS


def test_a_swarm_leaves_faults_out_at_random_and_over_many_seeds_none() -> None:
    kinds = [{fault.kind for fault in drawn(settled(short(seed, duration_ms=1_000_000), (4, 1))).faults} for seed in range(30)]

    assert all(0 < len(mix) < len(FAULTS) for mix in kinds)
    assert set().union(*kinds) == {name for name, fault in FAULTS.items() if fault.dialect is None}


def test_what_one_dialect_alone_can_meet_is_drawn_for_its_groups_and_its_members_switch_whatever_they_assign_by() -> None:
    kinds = ("interval", "deny", "upgrade")
    asked = short(1, faults=kinds, duration_ms=1_000_000, dialect="consumer", assignors=("sticky",), classic_members=0)

    assert {fault.kind for fault in drawn(settled(asked, (4, 1))).faults} == set(kinds)


def test_a_schedule_is_drawn_from_the_seed_alone_within_the_duration() -> None:
    simulation = settled(short(4, duration_ms=300_000), (4, 1))
    schedule = drawn(simulation)

    assert schedule == drawn(simulation)
    assert [fault.at_ms for fault in schedule.faults] == sorted(fault.at_ms for fault in schedule.faults)
    assert all(0 < fault.at_ms < 300_000 for fault in schedule.faults)


def test_an_upgrade_is_two_bounces_of_everyone_the_second_after_the_first() -> None:
    schedule = drawn(settled(short(1, faults=("upgrade",), assignors=("range",)), (4, 1)))
    bounces = [(fault.how["bounce"], *fault.who) for fault in schedule.faults]

    assert [bounce for bounce, _ in bounces] == [1] * 4 + [2] * 4
    assert {name for bounce, name in bounces if bounce == 1} == {name for bounce, name in bounces if bounce == 2} == {"m0", "m1", "m2", "m3"}


def test_a_member_with_another_assignor_beside_range_is_not_upgraded_from_it() -> None:
    assert drawn(settled(short(1, faults=("upgrade",), assignors=("sticky",)), (4, 1))).faults == ()


def test_a_member_that_cannot_cooperate_is_not_upgraded_to_it() -> None:
    assert drawn(settled(short(1, faults=("upgrade",), assignors=("range",), member_variant="subscription-v0"), (4, 1))).faults == ()


def test_named_faults_are_drawn_and_no_others() -> None:
    schedule = drawn(settled(short(1, faults=("move", "crash"), duration_ms=600_000), (4, 1)))

    assert {fault.kind for fault in schedule.faults} == {"move", "crash"}


def test_leaving_a_kind_out_changes_nothing_of_the_others() -> None:
    both = drawn(settled(short(1, faults=("move", "crash"), duration_ms=600_000), (4, 1)))
    one = drawn(settled(short(1, faults=("crash",), duration_ms=600_000), (4, 1)))

    assert [fault for fault in both.faults if fault.kind == "crash"] == list(one.faults)
