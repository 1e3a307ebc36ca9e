from __future__ import annotations

from typing import Any

import pytest

from groupproof.chaos.scenarios.scenario import Fault
from groupproof.chaos.scenarios.scenario_faults import KINDS, code_of, names_of, steps_of, undo
from groupproof.harness.model.plan import Arm, BreakBroker, Heal, Impair, Mend, Plan, Step, plan_from_json, plan_to_json
from groupproof.protocol import faults

HOW: dict[str, dict[str, Any]] = {
    "answer": {"error": "NOT_COORDINATOR"},
    "slow": {"latency": 100, "jitter": 10},
    "thin": {"rate": 4},
    "trickle": {"size": 10},
    "limit": {"bytes": 100},
    "slow-close": {"delay": 50},
}


def made(kind: str, *members: str, **how: Any) -> list[Step]:
    needs = {"api": "Heartbeat"} if KINDS[kind].of == "frames" else {}
    fault = Fault(name="f", kind=kind, who="all" if members else None, how={**needs, **HOW.get(kind, {}), **how})
    return [*steps_of(fault, members, int), *undo(fault, members)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_begins_and_ends_by_one_name_and_can_be_written_down(kind: str) -> None:
    begin, end = steps = made(kind, "m1")
    (name,) = {begin.fault.name} if isinstance(begin, Arm) else {begin.name} if isinstance(begin, Impair | BreakBroker) else set()
    assert name == (end.fault if isinstance(end, Heal) else end.name if isinstance(end, Mend) else None) == "f"
    plan = Plan(members=(), steps=tuple(steps))
    assert plan_from_json(plan_to_json(plan)) == plan


@pytest.mark.parametrize(
    ("kind", "how", "action"),
    [
        ("answer", {"error": 25}, faults.Answer(error_code=25)),
        ("answer", {"error": "FENCED_INSTANCE_ID"}, faults.Answer(error_code=82)),
        ("hold", {}, faults.Hold()),
        ("hold", {"for": 1_500}, faults.Hold(ms=1_500)),
        ("silence", {}, faults.Silence()),
        ("cut", {"reset": True}, faults.Cut(reset=True)),
        ("duplicate", {}, faults.Duplicate()),
        ("move", {"state": "lost", "parked": "drop"}, faults.Move(state="lost", parked="drop")),
    ],
)
def test_a_fault_of_frames_does_what_its_kind_says(kind: str, how: dict[str, Any], action: faults.Action) -> None:
    armed, _ = made(kind, "m1", **how)
    assert isinstance(armed, Arm)
    assert armed.fault.action == action
    assert (armed.fault.selector.client, armed.fault.selector.count) == ("m1", 1)


def test_the_frames_that_a_fault_acts_on_can_be_selected() -> None:
    armed, _ = made("hold", direction="response", nth=2, count="all", when="Stable", role="leader")
    assert isinstance(armed, Arm)
    expected = faults.Selector(api="Heartbeat", direction="response", nth=2, count=None, state="Stable", role="leader")
    assert armed.fault.selector == expected


def test_frames_of_several_members_are_affected_each_by_its_own_fault() -> None:
    fault = Fault(name="lost", kind="silence", who="half", how={"api": "Heartbeat"})
    armed = [step.fault for step in steps_of(fault, ("m1", "m2"), int) if isinstance(step, Arm)]
    assert [(fault.name, fault.selector.client) for fault in armed] == [("lost-m1", "m1"), ("lost-m2", "m2")]
    assert names_of(fault, ("m1", "m2")) == ("lost-m1", "lost-m2")
    assert [step.fault for step in undo(fault, ("m1", "m2")) if isinstance(step, Heal)] == ["lost-m1", "lost-m2"]


def test_bytes_are_impaired_in_the_directions_that_a_kind_says() -> None:
    streams = {}
    for kind in ("partition", "mute", "deaf", "slow"):
        step, _ = made(kind, "m1", "m2")
        assert isinstance(step, Impair)
        assert step.members == ("m1", "m2")
        streams[kind] = {impairment.stream for impairment in step.toxics}
    both = {"upstream", "downstream"}
    assert streams == {"partition": both, "mute": {"upstream"}, "deaf": {"downstream"}, "slow": both}


def test_a_machine_that_breaks_is_the_coordinator_s_unless_another_is_named() -> None:
    steps = [made(kind, **how)[0] for kind, how in (("pause-broker", {}), ("kill-broker", {"node": 1}), ("slow-disk", {}))]
    assert [(step.how, step.node) for step in steps if isinstance(step, BreakBroker)] == [("pause", None), ("kill", 1), ("slow-disk", None)]


def test_an_error_goes_by_its_name_or_its_number() -> None:
    assert code_of("REBALANCE_IN_PROGRESS") == code_of(27) == 27
    with pytest.raises(KeyError):
        code_of("REBALANCING")
