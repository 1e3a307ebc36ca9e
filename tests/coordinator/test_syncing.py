"""SyncGroup: who is parked, whose assignment counts, who is answered what, and the sync deadline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from tests.coordinator.conftest import Scene

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
NONE = ErrorCode.NONE


@pytest.mark.requirement("SYNC-01", "TR-004", "TR-026")
def test_a_stranger_is_unknown_whatever_its_generation(scene: Scene) -> None:
    assert scene.sync("x").error is ErrorCode.UNKNOWN_MEMBER_ID
    scene.given_id()
    assert (scene.state(), scene.sync("x").error) == (EMPTY, ErrorCode.UNKNOWN_MEMBER_ID)
    scene.stable()
    assert scene.sync("x", 1).error is scene.sync("x", 9).error is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.requirement("SYNC-02", "TR-085")
@pytest.mark.parametrize("generation", [0, 2, -1])
def test_another_generation_is_illegal(scene: Scene, generation: int) -> None:
    (leader,) = scene.joined()

    assert scene.sync(leader, generation).error is ErrorCode.ILLEGAL_GENERATION
    assert scene.state() is COMPLETING


@pytest.mark.requirement("SYNC-04", "TR-054", "TR-055")
def test_while_preparing_a_member_is_sent_back_to_join(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    scene.join(leader)

    assert scene.sync(follower).error is ErrorCode.REBALANCE_IN_PROGRESS
    assert scene.sync(follower, 9).error is ErrorCode.ILLEGAL_GENERATION
    assert scene.sync("x").error is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.requirement("SYNC-26")
def test_the_leader_waits_for_the_log_as_its_followers_do_and_gets_the_same_answer(scene: Scene) -> None:
    leader, follower = scene.joined(2)
    parked = scene.sync(follower)
    scene.coordinator.append_error = ErrorCode.NOT_LEADER_OR_FOLLOWER

    led = scene.sync(leader, assigned={leader: b"a", follower: b"b"})

    assert [request.error for request in (led, parked)] == [ErrorCode.NOT_COORDINATOR] * 2, "an answer of its own, before the log's, would be 0"
    assert [request.answer.assignment for request in (led, parked)] == [b"", b""]


@pytest.mark.requirement("SYNC-05", "SYNC-06", "SYNC-12", "SYNC-13", "SYNC-26", "TR-080", "TR-081", "TR-082")
def test_followers_are_parked_until_the_leader_assigns_and_each_gets_its_own(scene: Scene) -> None:
    leader, one, two = scene.joined(3)
    parked = [scene.sync(one, assigned={one: b"forged"}), scene.sync(two)]
    assert [request.is_parked for request in parked] == [True, True]
    assert scene.state() is COMPLETING, "a follower's assignment moves nothing"

    led = scene.sync(leader, assigned={leader: b"a", one: b"b", two: b"c"})
    assert [request.answer.assignment for request in (led, *parked)] == [b"a", b"b", b"c"]
    assert scene.state() is STABLE


@pytest.mark.requirement("SYNC-07", "SYNC-08", "INV-09")
def test_a_member_that_the_leader_leaves_out_gets_no_bytes_and_ghosts_are_ignored(scene: Scene) -> None:
    leader, follower = scene.joined(2)
    parked = scene.sync(follower)
    scene.sync(leader, assigned={leader: b"all", "ghost": b"some"})

    assert (parked.error, parked.answer.assignment) == (NONE, b"")
    assert [member.assignment for member in scene.view().members] == [b"all", b""]


@pytest.mark.requirement("SYNC-11", "TR-083")
def test_when_the_assignment_cannot_be_stored_all_members_get_an_error_and_rebalance(scene: Scene) -> None:
    leader, follower = scene.joined(2)
    parked = scene.sync(follower)
    scene.coordinator.append_error = ErrorCode.NOT_COORDINATOR
    led = scene.sync(leader, assigned={leader: b"a"})

    assert parked.error is led.error is ErrorCode.NOT_COORDINATOR
    assert scene.state() is PREPARING
    assert {member.assignment for member in scene.view().members} == {b""}


@pytest.mark.requirement("SYNC-14", "SYNC-53", "TR-116")
def test_a_late_follower_gets_its_recorded_assignment(scene: Scene) -> None:
    leader, follower = scene.joined(2)
    scene.sync(leader, assigned={follower: b"yours"})

    assert scene.sync(follower).answer.assignment == scene.sync(follower).answer.assignment == b"yours"


@pytest.mark.requirement("TR-116")
def test_a_sync_in_stable_does_not_refresh_the_session(scene: Scene) -> None:
    # Measured on 4.1.0; SYNC-14's second half is the older rule.
    (leader,) = scene.stable()
    scene.after(3_000).sync(leader)
    left_ms = 10_000 - scene.now_ms + 3_000  # the session runs from the answer to the first SyncGroup, at 6 s

    assert left_ms == 4_000
    scene.after(6_999)
    assert scene.members() == [leader]
    scene.after(1)
    assert scene.members() == []


@pytest.mark.requirement("SYNC-15")
def test_a_second_assignment_of_the_leader_replaces_nothing(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    again = scene.sync(leader, assigned={leader: b"new", follower: b"new"})

    assert again.answer.assignment == leader.encode()
    assert scene.sync(follower).answer.assignment == follower.encode()


@pytest.mark.requirement("SYNC-17", "SYNC-18", "TR-092", "TR-093", "SYNC-20")
def test_a_mute_leader_is_expired_and_the_parked_rejoin(scene: Scene) -> None:
    scene.join()
    scene.join(session_ms=8_000)
    scene.after(6_000)
    leader, follower = scene.members()
    parked = scene.sync(follower)
    scene.after(9_999)  # the follower's session would be over, were it not parked
    assert parked.is_parked
    scene.after(1)

    assert parked.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert scene.members() == [follower]
    assert scene.sync(leader).error is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.reading("DISC-27")
@pytest.mark.requirement("SYNC-19", "SYNC-55")
def test_the_assignment_restarts_the_sessions_of_those_it_answers_alone(scene: Scene) -> None:
    leader, parked, mute = scene.joined(3)
    scene.after(-scene.now_ms + 9_000)
    before = scene.now_ms
    scene.sync(parked)
    scene.sync(leader)
    assert before == 9_000

    scene.after(7_000)  # 16 s: ten after the answer to the joins, at 6 s
    assert mute not in scene.members()
    assert parked in scene.members()
    scene.after(2_999)
    assert parked in scene.members()


@pytest.mark.requirement("SYNC-23")
def test_a_heartbeat_right_after_the_answer_finds_the_group_stable(scene: Scene) -> None:
    (leader,) = scene.joined()
    scene.sync(leader)

    assert scene.heartbeat(leader) is NONE


@pytest.mark.requirement("SYNC-51")
@pytest.mark.parametrize(("protocol_type", "protocol_name", "error"), [
    ("consumer", "range", NONE),
    (None, None, NONE),
    ("connect", None, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    (None, "sticky", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
])  # fmt: skip
def test_a_sync_must_name_the_groups_protocol_or_none(scene: Scene, protocol_type: str | None, protocol_name: str | None, error: ErrorCode) -> None:
    scene.stable()
    scene.join()
    (leader, _) = scene.members()
    scene.join(leader)

    assert scene.sync(leader, 2, protocol_type="connect").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert scene.sync(leader, 2, protocol_type=protocol_type, protocol_name=protocol_name).error is error


@pytest.mark.requirement("TR-141")
def test_a_dead_group_has_no_coordinator(scene: Scene) -> None:
    (leader,) = scene.stable()
    scene.take(scene.coordinator.retire("g", scene.now_ms))

    assert scene.sync(leader).error is ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.requirement("SYNC-16")
def test_from_3_0_on_nobody_who_does_not_sync_outlasts_the_rebalance_timeout(scene: Scene) -> None:
    leader, follower = scene.joined(2, rebalance_ms=20_000)
    answered_at_ms = 6_000
    while scene.now_ms < answered_at_ms + 15_000:
        scene.after(5_000)
        assert scene.heartbeat(leader) is scene.heartbeat(follower) is NONE
    scene.after(answered_at_ms + 20_000 - scene.now_ms - 1)
    assert scene.state() is COMPLETING
    scene.after(1)

    assert scene.state() is EMPTY
    assert scene.heartbeat(leader) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.requirement("SYNC-16")
def test_the_sync_deadline_takes_a_follower_out_of_a_stable_group(scene: Scene) -> None:
    leader, follower = scene.joined(2, rebalance_ms=8_000)
    scene.sync(leader)
    assert scene.state() is STABLE
    scene.after(6_000 + 8_000 - scene.now_ms)

    assert scene.members() == [leader]
    assert scene.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
    assert scene.heartbeat(follower) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.requirement("SYNC-16")
def test_the_sync_deadline_takes_a_mute_leader_out_and_the_parked_rejoin(scene: Scene) -> None:
    leader, follower = scene.joined(2, rebalance_ms=8_000)
    parked = scene.sync(follower)
    scene.after(6_000 + 8_000 - scene.now_ms)

    assert parked.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert scene.members() == [follower]
    assert scene.heartbeat(leader) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.requirement("SYNC-20")
def test_when_all_have_synced_the_deadline_passes_unnoticed(scene: Scene) -> None:
    leader, follower = scene.stable(2, rebalance_ms=8_000)
    scene.after(4_000)
    assert scene.heartbeat(leader) is scene.heartbeat(follower) is NONE
    scene.after(6_000)

    assert (scene.state(), scene.generation()) == (STABLE, 1)
