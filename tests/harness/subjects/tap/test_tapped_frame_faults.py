from __future__ import annotations

from dataclasses import replace
from typing import Any

import trio

from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.forwarded_frame import passing_of
from groupproof.harness.subjects.tap.groups_in_frames import GroupsInFrames
from groupproof.harness.subjects.tap.open_requests import Entry
from groupproof.harness.subjects.tap.tapped_frame_faults import TapFaults, answer_columns
from groupproof.protocol.faults import Answer, Fault, Move, Selector
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import write_request


class Taken:
    """A tap's faults with `faults` armed, and a request of a follower."""

    def __init__(self, *faults: Fault, api: Api = Api.HEARTBEAT, version: int = 4) -> None:
        self.recorder = Recorder(lambda: 0)
        interception = self.interception = Interception(self.recorder)
        for fault in faults:
            interception.arm(fault)
        tracker = GroupsInFrames()
        tracker.follow(Api.JOIN_GROUP, "g", {"error_code": 0, "generation_id": 2, "leader": "a"})
        self.frame_faults = TapFaults(interception, tracker)
        body = {"group_id": "g", "generation_id": 2, "member_id": "b"} if api is Api.HEARTBEAT else {}
        self.entry = Entry(
            passing=passing_of(write_request(api, version, 1, "app", body)),
            columns={"api": api.title, "group": "g", "member": "b", "node": 0, "connection": 1},
        )

    def stages(self) -> list[str | None]:
        return [obs.detail for obs in self.recorder.trace]


def fault(action: Any, **selector: Any) -> Fault:
    return Fault(name="f", selector=Selector(**{"api": "Heartbeat", **selector}), action=action)


def test_a_fault_on_a_request_uses_what_the_tap_observed_of_its_group() -> None:
    struck = fault(Answer(error_code=27), role="follower", generation=2, client="app", node=0)
    tapped = Taken(struck)

    assert tapped.frame_faults.on_request(tapped.entry) == struck
    assert tapped.stages() == ["armed", "triggered"]


def test_a_leader_is_no_follower() -> None:
    tapped = Taken(fault(Answer(error_code=27), role="leader"))

    assert tapped.frame_faults.on_request(tapped.entry) is None


def test_a_fault_selects_an_answer_by_its_error() -> None:
    struck = fault(Answer(error_code=0), direction="response", error=27)
    tapped = Taken(struck)

    assert tapped.frame_faults.on_response(tapped.entry, {"error": 0}) is None
    assert tapped.frame_faults.on_response(tapped.entry, {"error": 27}) == struck
    assert answer_columns(tapped.entry, {"error": 27, "body": {}})["error"] == 27


def test_a_fault_selects_an_answer_by_how_many_partitions_it_assigns() -> None:
    struck = fault(Answer(error_code=0), direction="response", assigned=2)
    tapped = Taken(struck)

    assert tapped.frame_faults.on_response(tapped.entry, {"error": 0}) is None
    assert tapped.frame_faults.on_response(tapped.entry, {"error": 0, "partitions": (("t", 0),)}) is None
    assert tapped.frame_faults.on_response(tapped.entry, {"error": 0, "partitions": (("t", 0), ("t", 1))}) == struck


def test_no_fault_acts_on_what_cannot_be_read() -> None:
    tapped = Taken(fault(Answer(error_code=27)))
    unread = Entry(passing=passing_of(b"\x00\x0c\x00\x63\x00\x00\x00\x09"))

    assert tapped.frame_faults.on_request(unread) is None


def test_code_0_keeps_what_was_said() -> None:
    tapped = Taken()
    kept = tapped.frame_faults.answer(
        fault(Answer(error_code=0, body={"throttle_time_ms": 9})), tapped.entry, {"error_code": 27, "throttle_time_ms": 0}
    )

    assert kept == {"error_code": 27, "throttle_time_ms": 9}


def test_an_answer_that_the_version_cannot_say_is_a_receipt_of_failure() -> None:
    tapped = Taken()

    assert tapped.frame_faults.answer(fault(Answer(error_code=27, body={"nonsense": 1})), tapped.entry) is None
    assert tapped.stages() == ["failed"]
    assert "nonsense" in tapped.recorder.trace[0].body["why"]


def test_a_frame_is_chosen_by_the_state_that_its_group_was_last_heard_to_be_in() -> None:
    tapped = Taken(fault(Answer(error_code=27), state="CompletingRebalance"))

    assert tapped.frame_faults.on_request(tapped.entry) is not None


def test_a_coordinator_is_moved_if_the_cluster_can_and_otherwise_this_is_reported() -> None:
    moved: list[tuple[str, Move]] = []

    async def mover(group: str, move: Move) -> None:
        if move.to == 7:
            raise BrokenEnvironment("there is no node 7")
        moved.append((group, move))

    async def main() -> None:
        able, unable = Taken(), Taken()
        able.frame_faults = TapFaults(able.interception, GroupsInFrames(), mover)
        nameless = replace(able.entry, columns={"api": "Heartbeat"})
        await able.frame_faults.move(fault(Move()), able.entry)
        await able.frame_faults.move(fault(Move(to=7)), able.entry)
        await able.frame_faults.move(fault(Move()), nameless)
        await unable.frame_faults.move(fault(Move()), unable.entry)

        assert moved == [("g", Move())]
        assert [(obs.detail, obs.body.get("why")) for obs in (*able.recorder.trace, *unable.recorder.trace)] == [
            ("delivered", None), ("failed", "there is no node 7"), ("failed", "the frame names no group"), ("failed", "a tap cannot move a coordinator"),
        ]  # fmt: skip

    trio.run(main)
