from __future__ import annotations

import json
from typing import get_args

import pytest

from groupproof.harness.model.plan import (
    Append,
    Arm,
    Await,
    BreakBroker,
    Command,
    ConfigureGroup,
    Freeze,
    GroupSettled,
    Grow,
    Heal,
    Impair,
    Kill,
    Mark,
    Matches,
    Member,
    Mend,
    MoveCoordinator,
    Pass,
    Plan,
    Release,
    Stable,
    Start,
    Step,
    Thaw,
    plan_from_json,
    plan_to_json,
)
from groupproof.protocol.faults import Answer, Fault, Selector
from groupproof.protocol.schemas import validate
from groupproof.protocol.toxics import down, latency

STEPS: tuple[Step, ...] = (
    Start(member="m0"),
    Await(until=Stable(members=("m0", "m1")), within_ms=500),
    Await(until=GroupSettled(members=("m0",), topics={"t": 2}, after="here"), go_on=True),
    Await(until=Matches(kind_of="request", api="JoinGroup", where={"member_id": ""}), go_on=True),
    Arm(fault=Fault(name="f", selector=Selector(api="Heartbeat", nth=3), action=Answer(error_code=27))),
    Release(fault="f"),
    Heal(fault="f"),
    Command(member="m0", command="commit", fields={"mode": "sync"}, wait=False),
    Kill(member="m0"),
    Freeze(member="m0"),
    Thaw(member="m0"),
    MoveCoordinator(to=1, parked="drop", state="lost"),
    Grow(topic="t", partitions=4),
    ConfigureGroup(settings={"consumer.heartbeat.interval.ms": 900}),
    Append(topic="t", partitions=4, records=5),
    Impair(name="i", toxics=(latency(100, jitter_ms=5, stream="upstream", toxicity=0.5), down()), members=("m0",), nodes=(1,)),
    BreakBroker(name="b", how="pause"),
    Mend(name="i"),
    Pass(ms=100),
    Mark(name="x"),
)
PLAN = Plan(
    members=(Member(name="m0"), Member(name="m1", kind="reference", settings={"auto_commit": True})),
    steps=STEPS,
    topics={"t": 3},
    coordinator={"group.max.size": 2},
)


def test_a_plan_is_the_same_after_a_schedule_file() -> None:
    assert plan_from_json(json.loads(json.dumps(plan_to_json(PLAN)))) == PLAN


def test_every_kind_of_step_is_in_a_schedule_as_its_schema_says() -> None:
    assert {type(step) for step in STEPS} == set(get_args(Step))
    validate(
        "schedule",
        {"schema": "groupproof.schedule/1", "case": "area/classic/name", "seed": 1, "subject": "s", "profile": "p", "plan": plan_to_json(PLAN)},
    )


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_every_kind_of_step_is_said_by_its_name(step: Step) -> None:
    (written,) = plan_to_json(Plan(members=(), steps=(step,)))["steps"]

    assert written["step"] == step.kind


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        ({"members": []}, "steps"),
        ({"members": [], "steps": [], "speed": 2}, "speed"),
        ({"members": [{"nom": "m0"}], "steps": []}, "nom"),
        ({"members": [], "steps": [{"step": "dance"}]}, "dance"),
        ({"members": [], "steps": [{"step": "await", "until": {"kind": "luck"}}]}, "luck"),
        ({"members": [], "steps": [{"step": "pass", "s": 1}]}, "'s'"),
        ({"members": [], "steps": [{"step": "impair", "name": "i", "toxics": [{"kind": "rot"}]}]}, "rot"),
    ],
)
def test_what_is_no_plan_is_refused_by_the_part_that_is_wrong(broken: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=f"not a .*: .*{text}"):
        plan_from_json(broken)
