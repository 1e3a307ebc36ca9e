from __future__ import annotations

from functools import cache

import pytest
from tests.harness.running.fuzzing.drawn import Dice

from groupproof.harness.cases.drawn_case import head_of
from groupproof.harness.model.plan import (
    Arm,
    Await,
    BreakBroker,
    Command,
    Freeze,
    Heal,
    Kill,
    Mend,
    Pass,
    Plan,
    Start,
    Thaw,
    plan_from_json,
    plan_to_json,
)
from groupproof.harness.running.fuzzing.plans.plan_source import TIME_MS_MAX, Traits, plan_drawn
from groupproof.harness.running.fuzzing.plans.random_faults import Kind
from groupproof.harness.running.fuzzing.plans.shrink_plan import faults_of
from groupproof.harness.running.fuzzing.plans.themes import Phase, Theme, themes_of
from groupproof.protocol.faults import Answer, Hold
from groupproof.protocol.schemas import validate
from groupproof.protocol.vocabulary import Api, ErrorCode

ALL = frozenset({"classic", "commit", "commit-async", "auto-commit", "pause", "static", "cooperative", "on-revoked", "resubscribe"})


@cache
def plans(count: int = 150, *, capabilities: frozenset[str] = ALL, members_max: int = 3) -> list[Plan]:
    dice = Dice(1)
    return [plan_drawn(dice, Traits(capabilities=capabilities, profile="kafka-4.1", members_max=members_max)) for _ in range(count)]


def commands(drawn: list[Plan]) -> set[str]:
    return {step.command for plan in drawn for step in head_of(plan).steps if isinstance(step, Command)}


def test_a_plan_is_a_schedule_that_can_be_read_again() -> None:
    for plan in plans(10):
        value = plan_to_json(plan)
        validate(
            "schedule",
            {"schema": "groupproof.schedule/1", "case": "fuzz/classic/x", "seed": 1, "subject": "x", "profile": "kafka-4.1", "plan": value},
        )
        assert plan_to_json(plan_from_json(value)) == value


def test_plans_have_all_that_an_application_can_do_and_its_shim_can() -> None:
    assert commands(plans()) == {"commit", "pause", "resume", "resubscribe", "close"}
    assert commands(plans(capabilities=frozenset({"classic"}))) == {"close"}


def test_a_client_is_asked_for_no_setting_that_it_does_not_have() -> None:
    names = {name for plan in plans(capabilities=frozenset({"classic"})) for member in plan.members for name in member.settings}
    assignors = {member.settings["assignors"][0] for plan in plans(capabilities=frozenset({"classic"})) for member in plan.members}

    assert names.isdisjoint({"instance_id", "auto_commit", "on_revoked"})
    assert assignors == {"range", "roundrobin"}
    assert {member.settings["assignors"][0] for plan in plans() for member in plan.members} == {"range", "roundrobin", "cooperative-sticky"}


@pytest.mark.parametrize("members_max", [1, 2, 3])
def test_plans_have_no_more_members_than_asked_for_and_somebody_under_test_stays(members_max: int) -> None:
    for plan in plans(members_max=members_max):
        closed = {step.member for step in plan.steps if isinstance(step, Command) and step.command == "close"}
        started = {step.member for step in plan.steps if isinstance(step, Start)}
        assert 1 <= len(plan.members) <= members_max
        assert {member.name for member in plan.members if member.kind == "subject"} & (started - closed)


def test_what_is_asked_is_asked_of_members_that_are_there() -> None:
    for plan in plans():
        here: set[str] = set()
        for step in plan.steps:
            if isinstance(step, Start):
                assert step.member not in here
                here.add(step.member)
            elif isinstance(step, Kill):
                here.remove(step.member)
            elif isinstance(step, Freeze | Thaw):
                assert step.member in here
            elif isinstance(step, Command):
                assert step.member in here
                here -= {step.member} if step.command == "close" else set()


def test_waits_never_end_a_plan_before_it_is_healed_and_time_is_bounded() -> None:
    for plan in plans():
        assert all(step.go_on for step in plan.steps if isinstance(step, Await))
        assert all(not step.wait for step in plan.steps if isinstance(step, Command))
        holds = sum(step.fault.action.ms or 0 for step in plan.steps if isinstance(step, Arm) and isinstance(step.fault.action, Hold))
        passes = sum(step.ms for step in head_of(plan).steps if isinstance(step, Pass))
        assert holds + passes < 3 * TIME_MS_MAX


def test_a_member_gets_rebalance_in_progress_until_it_joins_again() -> None:
    lines = [step for plan in plans() for step in head_of(plan).steps]
    at = [place for place, step in enumerate(lines) if isinstance(step, Heal)]

    assert len(at) > 20
    for place in at:
        arm, wait, healed = lines[place - 2 : place + 1]
        assert isinstance(arm, Arm)
        assert isinstance(arm.fault.action, Answer)
        assert isinstance(wait, Await)
        assert (arm.fault.action.error_code, arm.fault.selector.count, arm.fault.selector.direction) == (27, None, "response")
        assert (wait.until.after, healed) == (arm.fault.name, Heal(fault=arm.fault.name))
        assert wait.go_on


def test_some_plans_have_faults_that_others_lack() -> None:
    with_answers = [plan for plan in plans() if any(isinstance(step, Arm) and isinstance(step.fault.action, Answer) for step in plan.steps)]
    faults = [sum(isinstance(step, Arm) for step in plan.steps) for plan in plans()]

    assert 20 < len(with_answers) < 150
    assert min(faults) == 0
    assert max(faults) > 5


def test_what_is_broken_is_mended_what_is_frozen_thawed_and_who_is_killed_comes_again() -> None:
    steps = [step for plan in plans(400) for step in head_of(plan).steps]

    for broken, mended in ((BreakBroker, Mend), (Freeze, Thaw)):
        count = sum(isinstance(step, broken) for step in steps)
        assert count == sum(isinstance(step, mended) for step in steps) > 3
    assert sum(isinstance(step, Kill) for step in steps) > 3
    assert {step.how for step in steps if isinstance(step, BreakBroker)} == {"pause", "kill", "slow-disk"}


def test_few_plans_need_a_process_for_each_member() -> None:
    dear = [plan for plan in plans(400) if any(isinstance(step, Kill | Freeze) for step in plan.steps)]

    assert 0 < len(dear) < 40


@pytest.mark.parametrize("theme", themes_of("kafka-4.1"), ids=lambda theme: f"{theme.api.title}-{theme.phase.value}-{theme.code or theme.kind.value}")
def test_a_plan_with_a_theme_acts_on_it_first(theme: Theme) -> None:
    plan = plan_drawn(Dice(2), Traits(capabilities=ALL, profile="kafka-4.1"), theme)
    triggered = [fault for fault in faults_of(plan) if fault.selector.api == theme.api.title and fault.action.kind == theme.kind.value]

    assert any(not isinstance(fault.action, Answer) or fault.action.error_code == theme.code for fault in triggered)
    if theme.phase is not Phase.SETTLED:
        kept = {Phase.JOINING: "JoinGroup", Phase.SYNCING: "SyncGroup"}[theme.phase]
        (hold, *_) = [fault for fault in faults_of(plan) if fault.selector.api == kept and isinstance(fault.action, Hold)]
        assert faults_of(plan).index(hold) < faults_of(plan).index(triggered[0])


def test_a_theme_has_whom_it_needs() -> None:
    fenced = Theme(api=Api.HEARTBEAT, phase=Phase.SETTLED, kind=Kind.ANSWER, code=ErrorCode.FENCED_INSTANCE_ID)
    leaving = Theme(api=Api.LEAVE_GROUP, phase=Phase.SETTLED, kind=Kind.CUT)
    traits = Traits(capabilities=ALL, profile="kafka-4.1")
    dice = Dice(4)

    for _ in range(20):
        assert all("instance_id" in member.settings for member in plan_drawn(dice, traits, fenced).members)
        assert sum(member.kind == "subject" for member in plan_drawn(dice, traits, leaving).members) >= 2
