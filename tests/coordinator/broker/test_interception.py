"""Arming, holding and letting go, each with its receipt."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from tests.coordinator.helpers import virtually

from groupproof.coordinator.broker.interception import Interception
from groupproof.protocol.faults import Fault, Frame, Hold, Selector, Silence
from groupproof.protocol.trace import Recorder

HELD = Fault(name="late", selector=Selector(api="Heartbeat", count=None), action=Hold())
SILENT = Fault(name="silent", selector=Selector(api="Heartbeat"), action=Silence())
FRAME = Frame(api="Heartbeat", direction="request")
COLUMNS = {"connection": 4, "correlation": 7, "api": "Heartbeat", "fault": "another", "body": {"group_id": "g"}}


def _recorder() -> Recorder:
    return Recorder(lambda: round(trio.current_time() * 1e9))


def _stages(recorder: Recorder) -> list[str | None]:
    return [obs.detail for obs in recorder.trace]


@virtually
async def test_a_fault_that_acts_leaves_a_receipt_that_names_the_frame() -> None:
    recorder = _recorder()
    interception = Interception(recorder)
    interception.arm(HELD)

    assert interception.fault_for(FRAME, COLUMNS) is HELD
    armed, triggered = recorder.trace
    assert (armed.detail, armed.fault, armed.body) == ("armed", "late", {"stage": "armed", "action": "hold"})
    assert (triggered.detail, triggered.fault, triggered.connection, triggered.correlation) == ("triggered", "late", 4, 7)


@virtually
async def test_a_fault_looks_at_frames_of_its_api_and_direction_alone() -> None:
    interception = Interception(_recorder())
    interception.arm(HELD)

    assert interception.wants("Heartbeat", "request")
    assert not interception.wants("Heartbeat", "response")
    assert not interception.wants("JoinGroup", "request")
    assert interception.heeds("Heartbeat")
    assert not interception.heeds("JoinGroup")
    interception.heal("late")
    assert not interception.wants("Heartbeat", "request")
    assert not interception.heeds("Heartbeat")


@virtually
async def test_a_release_lets_go_what_is_held_and_leaves_the_fault_armed() -> None:
    recorder = _recorder()
    interception = Interception(recorder)
    interception.arm(HELD)
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(interception.hold, HELD, None, COLUMNS)
        await trio.testing.wait_all_tasks_blocked()
        interception.release("late")
    assert _stages(recorder) == ["armed", "delivered", "delivered", "released"]
    assert recorder.trace[-1].body == {"stage": "released", "action": "hold", "held": 2, "by": "release"}
    assert interception.fault_for(FRAME, COLUMNS) is HELD


@virtually
async def test_a_hold_ends_when_its_time_is_over() -> None:
    recorder = _recorder()
    interception = Interception(recorder)
    interception.arm(HELD)
    began = trio.current_time()

    await interception.hold(HELD, 1_500, COLUMNS)
    assert trio.current_time() - began == pytest.approx(1.5)
    assert recorder.trace[-1].detail == "released"
    assert recorder.trace[-1].body["by"] == "time"


@virtually
async def test_healing_lets_go_holds_and_silences_and_can_be_repeated() -> None:
    recorder = _recorder()
    interception = Interception(recorder)
    interception.arm(SILENT)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(interception.silence, SILENT, COLUMNS)
        await trio.testing.wait_all_tasks_blocked()
        interception.release("silent")  # a silence is not released
        await trio.testing.wait_all_tasks_blocked()
        assert len(nursery.child_tasks) == 1
        interception.heal("silent")
        interception.heal("silent")
    assert _stages(recorder) == ["armed", "delivered", "released", "healed"]
    assert recorder.trace[-1].body["held"] == 1


@virtually
async def test_names_are_armed_once_and_known_ones_released() -> None:
    interception = Interception(_recorder())
    interception.arm(HELD)

    with pytest.raises(ValueError, match="already armed"):
        interception.arm(HELD)
    with pytest.raises(KeyError):
        interception.release("unknown")
