from __future__ import annotations

import json

import pytest

from groupproof.harness.plan import (
    Arm,
    Await,
    Command,
    Freeze,
    Grow,
    Heal,
    Kill,
    Mark,
    Member,
    MoveCoordinator,
    Pass,
    Plan,
    Release,
    Seen,
    Stable,
    Start,
    Step,
    Thaw,
    plan_from_json,
    plan_to_json,
)
from groupproof.protocol.faults import Answer, Fault, Selector

STEPS: tuple[Step, ...] = (
    Start(member="m0"),
    Await(until=Stable(members=("m0", "m1")), within_ms=500),
    Await(until=Seen(kind_of="request", api="JoinGroup", where={"member_id": ""}), go_on=True),
    Arm(fault=Fault(name="f", selector=Selector(api="Heartbeat", nth=3), action=Answer(error_code=27))),
    Release(fault="f"),
    Heal(fault="f"),
    Command(member="m0", command="commit", fields={"mode": "sync"}, wait=False),
    Kill(member="m0"),
    Freeze(member="m0"),
    Thaw(member="m0"),
    MoveCoordinator(to=1, parked="drop", state="lost"),
    Grow(topic="t", partitions=4),
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


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_every_kind_of_step_is_said_by_its_name(step: Step) -> None:
    (written,) = plan_to_json(Plan(members=(), steps=(step,)))["steps"]

    assert written["step"] == step.kind


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ({"members": []}, "steps"),
        ({"members": [], "steps": [], "speed": 2}, "speed"),
        ({"members": [{"nom": "m0"}], "steps": []}, "nom"),
        ({"members": [], "steps": [{"step": "dance"}]}, "dance"),
        ({"members": [], "steps": [{"step": "await", "until": {"kind": "luck"}}]}, "luck"),
        ({"members": [], "steps": [{"step": "pass", "s": 1}]}, "'s'"),
    ],
)
def test_what_is_no_plan_is_refused_by_the_part_that_is_wrong(broken: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=f"not a plan: .*{told}"):
        plan_from_json(broken)
