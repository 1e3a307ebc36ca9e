from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.chaos.spark.members.churn_file import shipped
from groupproof.chaos.spark.members.churn_plan import Action, Churn, MemberAction, OutsideFault, Phase, Span, actions_of, outside_faults_of


def share(percent: float) -> Span:
    return Span(percent / 100, is_share=True)


def plan(*phases: Phase) -> Churn:
    return Churn(name="p", title="t", story="", phases=phases)


START = Phase(action=Action.START, at=share(0))


def test_all_start_at_once_unless_they_are_spread() -> None:
    assert actions_of(plan(START), members=3, duration_s=60, seed=1) == [(MemberAction(0.0, Action.START),)] * 3
    spread = Phase(action=Action.START, at=Span(1), spread=share(50))

    assert [actions[0].at_s for actions in actions_of(plan(spread), members=3, duration_s=60, seed=1)] == [1.0, 11.0, 21.0]


def test_a_third_dies_and_only_who_is_down_is_started_again() -> None:
    dies = Phase(action=Action.DIE, at=share(50), share=1 / 3)
    again = Phase(action=Action.START, at=share(80))

    actions = actions_of(plan(START, dies, again), members=9, duration_s=10, seed=4)

    died = [actions for actions in actions if len(actions) > 1]
    assert len(died) == 3
    assert died == [(MemberAction(0.0, Action.START), MemberAction(5.0, Action.DIE), MemberAction(8.0, Action.START))] * 3


def test_waves_take_members_in_the_order_of_their_numbers() -> None:
    rolls = Phase(action=Action.RESTART, at=Span(10), spread=Span(6), lasts=Span(0.5), waves=3)

    actions = actions_of(plan(START, rolls), members=6, duration_s=60, seed=1)

    assert [actions[1] for actions in actions] == [MemberAction(at_s, Action.RESTART, 0.5) for at_s in (10.0, 10.0, 12.0, 12.0, 14.0, 14.0)]


def test_nobody_suffers_two_things_at_once() -> None:
    flaps = Phase(action=Action.CRASH, at=Span(1), share=1.0, lasts=Span(3), every=Span(2), until=Span(8))

    [actions] = actions_of(plan(START, flaps), members=1, duration_s=10, seed=1)

    assert [action.at_s for action in actions] == [0.0, 1.0, 5.0]


@given(st.sampled_from(shipped()), st.integers(1, 40), st.floats(5, 600), st.integers(0, 99))
def test_every_plan_gives_each_member_a_life_that_makes_sense(churn: Churn, members: int, duration_s: float, seed: int) -> None:
    actions = actions_of(churn, members=members, duration_s=duration_s, seed=seed)

    assert actions == actions_of(churn, members=members, duration_s=duration_s, seed=seed)
    assert len(actions) == members
    for mine in actions:
        is_up, free_at_s = False, 0.0
        for action in mine:
            assert is_up is (action.action is not Action.START)
            assert action.at_s >= free_at_s - 1e-6
            is_up, free_at_s = action.action not in (Action.DIE, Action.LEAVE), action.at_s + action.lasts_s


@pytest.mark.parametrize("seed", [1, 2])
def test_the_seed_says_who(seed: int) -> None:
    dies = Phase(action=Action.DIE, at=Span(1), share=0.5)

    drawn = [len(actions) for actions in actions_of(plan(START, dies), members=50, duration_s=10, seed=seed)]

    assert drawn.count(2) == 25
    assert drawn != [len(actions) for actions in actions_of(plan(START, dies), members=50, duration_s=10, seed=seed + 2)]


def test_faults_from_outside_are_in_the_order_of_time() -> None:
    outside_faults = ((share(50), Span(2), {"impair": {"kind": "down"}}), (Span(1), share(10), {"fault": "Heartbeat,drop"}))

    made = outside_faults_of(Churn(name="p", title="t", story="", phases=(START,), outside_faults=outside_faults), 20)

    assert made == [OutsideFault(at_s=1.0, lasts_s=2.0, fault="Heartbeat,drop"), OutsideFault(at_s=10.0, lasts_s=2.0, impair={"kind": "down"})]
