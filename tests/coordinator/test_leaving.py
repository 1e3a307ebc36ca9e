"""LeaveGroup: each entry by itself, and what the group does once somebody left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.messages import LeaveGroupRequest, LeaveGroupResponse, LeaveMember

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.coordinator.conftest import Scene

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
NONE = ErrorCode.NONE


def _codes(scene: Scene, *member_ids: str, **leave: object) -> list[int]:
    return [member.error_code for member in scene.leave(*member_ids, **leave).answer.members]  # type: ignore[arg-type]  # passed on as keywords


@pytest.mark.requirement("LEAVE-03", "TR-122", "LEAVE-54", "TRIG-02")
def test_a_leave_from_a_stable_group_prepares_a_rebalance(scene: Scene) -> None:
    leader, follower = scene.stable(2)

    assert _codes(scene, follower) == [0]
    assert scene.state() is PREPARING
    assert scene.join(leader).answer.generation_id == 2


@pytest.mark.requirement("TR-005")
def test_where_there_is_no_group_each_entry_is_unknown(scene: Scene) -> None:
    left = scene.leave("x", "y").answer

    assert left.error_code == 0
    assert [(member.member_id, member.error_code) for member in left.members] == [("x", 25), ("y", 25)]
    assert scene.state() is None


@pytest.mark.requirement("TR-028", "LEAVE-05")
def test_from_an_empty_group_only_a_pending_id_can_leave(scene: Scene) -> None:
    pending = scene.given_id()

    assert _codes(scene, "x", pending, pending) == [25, 0, 25]
    assert scene.state() is EMPTY


@pytest.mark.requirement("LEAVE-04", "TR-061")
def test_a_leave_while_preparing_can_end_the_phase(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    rejoined = scene.join(leader)
    assert rejoined.is_parked
    scene.leave(follower)

    assert rejoined.answer.generation_id == 2


@pytest.mark.requirement("LEAVE-08", "TR-061")
def test_a_parked_join_of_the_leaver_is_answered_unknown(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    parked = scene.join(leader)
    scene.leave(leader)

    assert parked.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert scene.members() == [follower]


@pytest.mark.requirement("LEAVE-06", "TR-094")
def test_a_leave_while_completing_sends_the_parked_back(scene: Scene) -> None:
    leader, follower = scene.joined(2)
    parked = scene.sync(follower)
    scene.leave(leader)

    assert parked.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert scene.state() is PREPARING
    assert scene.view().leader == follower


@pytest.mark.requirement("LEAVE-51", "LEAVE-53", "STATIC-05")
def test_entries_are_judged_one_by_one(scene: Scene) -> None:
    leader = scene.stable(1, instances=["i"])[0]
    answer = scene.leave("x", leader, leader, instances=["i", "i", "unknown"]).answer

    assert [member.error_code for member in answer.members] == [25, 0, 25, 0, 25, 25]
    assert scene.state() is EMPTY


@pytest.mark.requirement("STATIC-10", "STATIC-11")
def test_an_instance_with_another_members_id_is_fenced_and_an_unknown_one_is_unknown(scene: Scene) -> None:
    dynamic, _ = scene.stable(1, instances=["i"])
    entries = (LeaveMember(member_id=dynamic, group_instance_id="i"), LeaveMember(member_id=dynamic, group_instance_id="unknown"))
    answer = scene.send(LeaveGroupRequest(group_id="g", members=entries), 5, LeaveGroupResponse).answer

    assert [member.error_code for member in answer.members] == [82, 25]
    assert scene.state() is STABLE


@pytest.mark.requirement("TR-143", "LEAVE-52")
def test_a_dead_group_answers_at_the_top_without_entries(scene: Scene) -> None:
    (leader,) = scene.stable()
    scene.take(scene.coordinator.retire("g", scene.now_ms))
    answer = scene.leave(leader).answer

    assert (answer.error_code, answer.members) == (15, ())


@pytest.mark.requirement("LEAVE-03")
def test_a_pending_id_that_leaves_a_stable_group_starts_a_rebalance(scene: Scene) -> None:
    # Measured on 4.1.0.
    (leader,) = scene.stable()
    pending = scene.given_id()

    assert _codes(scene, pending) == [0]
    assert scene.state() is PREPARING
    assert scene.join(leader).answer.generation_id == 2


@pytest.mark.requirement("LEAVE-51", "PEND-07")
def test_members_and_pending_ids_in_one_leave_cost_one_rebalance(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    pending = scene.given_id()

    assert _codes(scene, follower, pending, "x") == [0, 0, 25]
    assert [transition.after for transition in scene.transitions].count(PREPARING) == 2
    assert scene.join(leader).answer.generation_id == 2


@pytest.mark.requirement("PEND-07")
def test_before_4_0_a_pending_id_that_leaves_a_stable_group_disturbs_nobody(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-2.4")
    (leader,) = scene.stable()

    assert _codes(scene, scene.given_id(), version=4) == [0]
    assert scene.heartbeat(leader) is NONE


@pytest.mark.requirement("LEAVE-51")
@pytest.mark.parametrize(("profile", "code", "left"), [("kafka-2.4", -1, 1), ("kafka-2.8", -1, 1), ("kafka-3.9", 0, 2), ("kafka-4.1", 0, 2)])
def test_a_pending_id_that_names_an_instance_fails_the_whole_leave_up_to_2_8(
    scene_of: Callable[..., Scene], profile: str, code: int, left: int
) -> None:
    scene = scene_of(profile)
    members = scene.stable(2, version=3)
    pending = scene.given_id()
    entries = tuple(LeaveMember(member_id=member) for member in members)
    asked = scene.send(
        LeaveGroupRequest(group_id="g", members=(entries[0], LeaveMember(member_id=pending, group_instance_id="i"), entries[1])),
        4,
        LeaveGroupResponse,
    )

    assert (asked.answer.error_code, len(asked.answer.members)) == (code, 0 if code else 3)
    assert len(scene.members()) == 2 - left
    assert (pending in scene.view().pending) is bool(code)
