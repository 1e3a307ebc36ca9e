from __future__ import annotations

from tests.harness.running.fuzzing.finding import triggered

from groupproof.harness.cases.drawn_case import with_healing
from groupproof.harness.model.plan import Plan, Step
from groupproof.harness.model.plan_builders import answers, holds, plan, start, subject
from groupproof.harness.running.fuzzing.plans.random_faults import Kind, may_end_client
from groupproof.harness.running.fuzzing.plans.themes import Phase, Theme, theme_of, themes_of
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode

NEWEST = themes_of("kafka-4.1")
ENDING = {theme.code for theme in NEWEST if theme.code is not None and may_end_client(theme.api, theme.code)}
REFUSED_COMMIT = Theme(api=Api.OFFSET_COMMIT, phase=Phase.JOINING, kind=Kind.ANSWER, code=22)


def delivered(fault: str) -> Observation:
    return Observation(seq=1, at_ns=1, kind="fault", who="coordinator", fault=fault, detail="delivered", body={})


def a_plan(*faults: Step) -> Plan:
    return with_healing(plan(subject("m0"), start("m0"), *faults))


def test_each_theme_comes_once_and_no_error_comes_that_the_release_does_not_have() -> None:
    assert len(set(NEWEST)) == len(NEWEST) > 100
    assert REFUSED_COMMIT in NEWEST
    assert {theme.api for theme in NEWEST} == {
        Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.FIND_COORDINATOR, Api.LEAVE_GROUP,
    }  # fmt: skip
    assert not {theme.code for theme in themes_of("kafka-2.2")} & {ErrorCode.FENCED_INSTANCE_ID}


def test_answers_have_a_code_and_a_fault_that_may_end_a_client_acts_only_on_settled_members() -> None:
    assert all((theme.code is not None) is (theme.kind is Kind.ANSWER) for theme in NEWEST)
    assert {theme.phase for theme in NEWEST if theme.code == ErrorCode.GROUP_AUTHORIZATION_FAILED} == {Phase.SETTLED}
    assert {theme.phase for theme in NEWEST if theme.code == ErrorCode.REBALANCE_IN_PROGRESS} == set(Phase)


def test_two_of_three_plans_have_a_theme_and_none_comes_again_before_all_have_come() -> None:
    drawn = [theme_of(number, profile_name="kafka-4.1", seed=3) for number in range(3 * len(NEWEST))]
    themes = [theme for theme in drawn if theme is not None]

    assert [theme is None for theme in drawn[:6]] == [False, False, True, False, False, True]
    assert sorted(map(repr, themes[: len(NEWEST)])) == sorted(map(repr, NEWEST)) == sorted(map(repr, themes[len(NEWEST) :]))
    assert themes[: len(NEWEST)] != themes[len(NEWEST) :]


def test_errors_come_before_what_hinders_the_frames_and_in_settled_members_first() -> None:
    drawn = [theme_of(number, profile_name="kafka-4.1", seed=3) for number in range(3 * len(NEWEST) // 2)]
    themes = [theme for theme in drawn if theme is not None]
    first, last = themes[:25], themes[-60:]

    assert {theme.kind for theme in first} == {Kind.ANSWER}
    assert {theme.phase for theme in first} == {Phase.SETTLED}
    assert Kind.ANSWER not in {theme.kind for theme in last if theme.code not in ENDING}


def test_another_seed_has_another_order() -> None:
    first, other = ([theme_of(number, profile_name="kafka-4.1", seed=seed) for number in range(30)] for seed in (1, 2))

    assert first == [theme_of(number, profile_name="kafka-4.1", seed=1) for number in range(30)]
    assert first != other


def test_a_theme_is_covered_when_its_fault_acted_on_its_request() -> None:
    commit, beat = answers("f1", Api.OFFSET_COMMIT, 22), answers("f2", Api.HEARTBEAT, 22)
    other, hold = answers("f3", Api.OFFSET_COMMIT, 25), holds("f4", Api.OFFSET_COMMIT, ms=10)
    whole = a_plan(commit, beat, other, hold)

    assert REFUSED_COMMIT.has_acted(whole, [delivered("f1")])
    assert not REFUSED_COMMIT.has_acted(whole, [triggered(1, "f1"), delivered("f2"), delivered("f3"), delivered("f4")])
    assert Theme(api=Api.OFFSET_COMMIT, phase=Phase.SETTLED, kind=Kind.HOLD).has_acted(whole, [delivered("f4")])
