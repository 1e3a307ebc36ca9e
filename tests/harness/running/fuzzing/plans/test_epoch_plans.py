from __future__ import annotations

from functools import cache

from tests.harness.running.fuzzing.drawn import Dice

from groupproof.harness.cases.drawn_case import drawn_case, staying
from groupproof.harness.model.plan import Await, Command, GroupSettled, Grow, Kill, MoveCoordinator, Plan, plan_from_json, plan_to_json
from groupproof.harness.running.fuzzing.plans.epoch_plans import codes_to_go_on_after, epoch_plan_drawn
from groupproof.harness.running.fuzzing.plans.plan_source import Traits
from groupproof.harness.running.fuzzing.plans.shrink_plan import faults_of
from groupproof.protocol.faults import Answer
from groupproof.protocol.schemas import validate
from groupproof.protocol.vocabulary import Api, api_named

ALL = frozenset({"consumer", "commit", "auto-commit", "pause", "on-revoked"})


@cache
def plans(count: int = 120, *, capabilities: frozenset[str] = ALL, members_max: int = 3) -> list[Plan]:
    dice = Dice(1)
    return [epoch_plan_drawn(dice, Traits(capabilities=capabilities, profile="kafka-4.1", members_max=members_max)) for _ in range(count)]


def test_a_plan_is_a_schedule_that_can_be_read_again() -> None:
    for plan in plans(10):
        value = plan_to_json(plan)
        head = {"schema": "groupproof.schedule/1", "case": "fuzz/consumer/x", "seed": 1, "subject": "x", "profile": "kafka-4.1"}
        validate("schedule", {**head, "plan": value})
        assert plan_to_json(plan_from_json(value)) == value


def test_plans_have_all_that_an_application_can_do_and_its_shim_can() -> None:
    def commands(drawn: list[Plan]) -> set[str]:
        return {step.command for plan in drawn for step in plan.steps if isinstance(step, Command)}

    assert commands(plans()) == {"commit", "pause", "resume", "close"}
    assert commands(plans(capabilities=frozenset({"consumer"}))) == {"close"}
    assert {type(step) for plan in plans() for step in plan.steps} >= {Grow, Kill, MoveCoordinator}
    assert {name for plan in plans(capabilities=frozenset({"consumer"})) for member in plan.members for name in member.settings} == {
        "group_protocol", "max_poll_interval_ms",
    }  # fmt: skip


def test_somebody_stays_and_the_group_is_waited_for_with_all_its_partitions() -> None:
    for plan in plans():
        assert 1 <= len(plan.members) <= 3
        settled = [step.until for step in plan.steps if isinstance(step, Await) and isinstance(step.until, GroupSettled)][-1]
        assert settled.members == tuple(staying(plan.steps)) != ()
        assert settled.topics == {"t": [plan.topics["t"], *(step.partitions for step in plan.steps if isinstance(step, Grow))][-1]}


def test_answers_are_those_after_which_a_member_continues() -> None:
    assert codes_to_go_on_after(Api.CONSUMER_GROUP_HEARTBEAT) == (14, 15, 16, 25, 29, 110)
    for fault in (fault for plan in plans() for fault in faults_of(plan) if isinstance(fault.action, Answer)):
        assert isinstance(fault.action, Answer)
        assert fault.action.error_code in codes_to_go_on_after(api_named(str(fault.selector.api)))


def test_its_case_is_of_the_dialect() -> None:
    case = drawn_case("1-1", plans()[0])

    assert (case.id, case.needs) == ("fuzz/consumer/1-1", frozenset({"consumer"}))
    assert drawn_case(case.id, plans()[0]).id == case.id
