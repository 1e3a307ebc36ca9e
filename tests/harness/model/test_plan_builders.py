from __future__ import annotations

import pytest

from groupproof.harness.model import plan_builders
from groupproof.harness.model.plan import Arm, Await, Command, Mark, Matches, Pass, Stable, Start, Step, plan_from_json, plan_to_json
from groupproof.protocol.faults import Answer, Cut, Hold, Move, Silence
from groupproof.protocol.vocabulary import Api


def armed(step: Arm) -> tuple[object, str, str]:
    return step.fault.action, step.fault.selector.api, step.fault.selector.direction


def test_groups_of_steps_are_flattened_and_the_defaults_filled_in() -> None:
    reference_peer = plan_builders.reference_peer()
    marks = [plan_builders.mark("a"), plan_builders.mark("b")]
    made = plan_builders.plan(plan_builders.subject(), reference_peer, plan_builders.start("m0"), plan_builders.passing(5), marks)

    assert made.members == (plan_builders.subject(), reference_peer)
    assert [type(step) for step in made.steps] == [Start, Pass, Mark, Mark]
    assert made.topics == {"t": 2}
    assert made.coordinator == {"group.initial.rebalance.delay.ms": plan_builders.INITIAL_DELAY_MS}


def test_a_plan_may_say_otherwise_of_the_coordinator() -> None:
    made = plan_builders.plan(plan_builders.subject(), coordinator={"group.initial.rebalance.delay.ms": 0, "group.max.size": 1})

    assert made.coordinator == {"group.initial.rebalance.delay.ms": 0, "group.max.size": 1}


def test_a_subject_and_its_peers_differ_in_kind_and_take_settings() -> None:
    assert plan_builders.subject("m1", instance_id="i0").settings == {"instance_id": "i0"}
    assert (plan_builders.subject().kind, plan_builders.reference_peer().kind) == ("subject", "reference")


def test_members_are_started_one_after_the_other_until_each_works() -> None:
    waits = [step.until for step in plan_builders.joined("m0", "m1") if isinstance(step, Await)]

    assert [wait.members for wait in waits if isinstance(wait, Stable)] == [("m0",), ("m0",), ("m0", "m1"), ("m0", "m1")]
    assert [wait.client for wait in waits if isinstance(wait, Matches)] == ["m0", "m1"]


def test_an_idle_member_is_awaited_in_the_group_and_not_at_work() -> None:
    waits = [step.until for step in plan_builders.joined("a0", "m0", idle=["m0"]) if isinstance(step, Await)]

    assert [wait.client for wait in waits if isinstance(wait, Matches)] == ["a0"]


@pytest.mark.parametrize(
    ("step", "action", "direction"),
    [
        (plan_builders.answers("f", Api.HEARTBEAT, 27), Answer(error_code=27), "request"),
        (plan_builders.holds("f", Api.HEARTBEAT, ms=5), Hold(ms=5), "response"),
        (plan_builders.holds("f", Api.HEARTBEAT, direction="request"), Hold(), "request"),
        (plan_builders.cuts("f", Api.HEARTBEAT), Cut(), "response"),
        (plan_builders.cuts("f", Api.HEARTBEAT, reset=True, direction="request"), Cut(reset=True), "request"),
        (plan_builders.silences("f", Api.HEARTBEAT), Silence(), "request"),
        (plan_builders.moves("f", Api.HEARTBEAT, state="lost"), Move(state="lost"), "request"),
    ],
)
def test_a_fault_acts_on_the_next_frame_of_its_api(step: Arm, action: object, direction: str) -> None:
    assert armed(step) == (action, "Heartbeat", direction)
    assert (step.fault.selector.nth, step.fault.selector.count) == (1, 1)


def test_every_heartbeat_is_answered_with_the_rebalance_until_the_member_joins_again() -> None:
    arm, delivered, requested, healed = plan_builders.tells_of_a_rebalance("m1", name="again")

    assert isinstance(arm, Arm)
    assert armed(arm) == (Answer(error_code=27), "Heartbeat", "response")
    assert (arm.fault.selector.client, arm.fault.selector.count) == ("m1", None)
    assert isinstance(requested, Await)
    assert requested == plan_builders.requested("m1", Api.JOIN_GROUP, after="again", go_on=True)
    assert (delivered, healed) == (plan_builders.delivered("again"), plan_builders.heal("again"))


def test_a_heartbeat_is_refused_once_and_a_rebalance_is_repeated_until_the_member_gets_it() -> None:
    refused, *_ = steps = plan_builders.refuses_a_heartbeat(25)

    assert isinstance(refused, Arm)
    assert armed(refused) == (Answer(error_code=25), "Heartbeat", "request")
    assert steps[1:] == [plan_builders.delivered("error")]
    assert plan_builders.refuses_a_heartbeat(27) == plan_builders.tells_of_a_rebalance(name="error")


def test_a_selector_is_as_narrow_as_the_case_says() -> None:
    selector = plan_builders.answers("f", Api.HEARTBEAT, 27, client="m0", count=None).fault.selector

    assert (selector.client, selector.count) == ("m0", None)


def test_conditions_wait_for_what_they_say() -> None:
    assert plan_builders.delivered("f").until == Matches(kind_of="fault", fault="f", where={"stage": "delivered"})
    assert plan_builders.requested("m0", Api.JOIN_GROUP, after="f").until == Matches(kind_of="request", api="JoinGroup", client="m0", after="f")
    assert plan_builders.answered("m0", Api.HEARTBEAT).until == Matches(kind_of="response", api="Heartbeat", client="m0", error=0)
    assert plan_builders.event("m0", "error").until == Matches(kind_of="event", event="error", client="m0")
    fields = {"partitions": [{"topic": "t", "partition": 1}, {"topic": "u", "partition": 0}]}
    assert plan_builders.assigned("m0", ("u", 0), ("t", 1)).until == Matches(kind_of="event", event="partitions_assigned", client="m0", where=fields)


def test_commands_carry_their_fields() -> None:
    assert plan_builders.commit("m0", ("t", 0, 5)).fields == {"mode": "sync", "offsets": [["t", 0, 5]]}
    assert plan_builders.commit("m0", mode="async").fields == {"mode": "async"}
    assert plan_builders.close("m0", wait=False, leave=True) == Command(member="m0", command="close", fields={"leave": True}, wait=False)
    assert [step.command for step in (plan_builders.pause("m0"), plan_builders.resume("m0"))] == ["pause", "resume"]


@pytest.mark.parametrize(
    "step",
    [
        plan_builders.kill("m0"),
        plan_builders.freeze("m0"),
        plan_builders.thaw("m0"),
        plan_builders.grow("t", 4),
        plan_builders.release("f"),
        plan_builders.heal("f"),
        plan_builders.move(state="lost"),
    ],
)
def test_what_is_done_to_members_and_coordinators_survives_a_schedule_file(step: Step) -> None:
    made = plan_builders.plan(plan_builders.subject(), step)

    assert plan_from_json(plan_to_json(made)) == made
