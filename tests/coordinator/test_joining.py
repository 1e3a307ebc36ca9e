"""JoinGroup: who is admitted, who is refused, what is parked, and what the answers of a generation hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.coordinator.conftest import Scene

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
NONE = ErrorCode.NONE


@pytest.mark.requirement("JOIN-01", "TR-002")
def test_a_join_with_an_id_makes_no_group(scene: Scene) -> None:
    assert scene.join("x-1").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert scene.state() is None


@pytest.mark.requirement("JOIN-02", "TR-001", "IDJ-01")
def test_the_first_join_makes_the_group_and_waits_for_the_initial_delay(scene: Scene) -> None:
    joined = scene.join()

    assert joined.is_parked
    assert scene.path() == [EMPTY, PREPARING]
    assert scene.after(2_999).state() is PREPARING
    assert scene.after(1).state() is COMPLETING
    assert joined.answer.generation_id == 1


@pytest.mark.requirement("JOIN-03")
def test_member_ids_are_the_client_id_and_a_uuid_never_twice(scene: Scene) -> None:
    ids = scene.joined(5, client="app")

    assert len(set(ids)) == 5
    assert all(id.startswith("app-") and len(id) == len("app-") + 36 for id in ids)


@pytest.mark.requirement("JOIN-04")
def test_a_newcomer_to_a_group_that_has_become_empty_starts_a_rebalance(scene: Scene) -> None:
    scene.leave(*scene.stable())
    assert scene.state() is EMPTY

    scene.join()

    assert scene.state() is PREPARING
    assert len(scene.members()) == 1


@pytest.mark.requirement("JOIN-04", "TR-110", "TRIG-01")
def test_a_newcomer_to_a_stable_group_starts_a_rebalance_over_all(scene: Scene) -> None:
    (leader,) = scene.stable()
    newcomer = scene.join()

    assert scene.state() is PREPARING
    assert newcomer.is_parked
    rejoined = scene.join(leader)
    assert rejoined.answer.generation_id == newcomer.answer.generation_id == 2
    assert [member.member_id for member in rejoined.answer.members] == [leader, newcomer.answer.member_id]


@pytest.mark.requirement("JOIN-05", "JOIN-13", "JOIN-14")
def test_each_member_gets_one_answer_and_the_first_leads_with_the_list(scene: Scene) -> None:
    asked = [scene.join() for _ in range(3)]
    scene.after(6_000)

    answers = [request.answer for request in asked]
    assert {(answer.generation_id, answer.protocol_name, answer.leader, answer.error_code) for answer in answers} == {
        (1, "range", answers[0].member_id, 0)
    }
    assert [len(answer.members) for answer in answers] == [3, 0, 0]


@pytest.mark.requirement("JOIN-06")
def test_leadership_stays_with_its_member_over_generations(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    for _ in range(3):
        scene.join(follower, protocols=("range", f"x{scene.generation()}"))
        rejoined = scene.join(leader)
        assert rejoined.answer.leader == leader
        assert rejoined.answer.members
        scene.sync(leader, scene.generation())
        assert scene.state() is STABLE


@pytest.mark.requirement("JOIN-07")
def test_when_the_leader_goes_a_remaining_member_leads_at_once(scene: Scene) -> None:
    leader, second, third = scene.stable(3)
    scene.leave(leader)

    assert scene.view().leader in {second, third}


@pytest.mark.requirement("JOIN-08")
def test_another_protocol_type_is_refused_and_changes_nothing(scene: Scene) -> None:
    (leader,) = scene.stable()
    before = scene.view()

    assert scene.join(protocol_type="connect").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert scene.view() == before
    assert scene.heartbeat(leader) is NONE


@pytest.mark.requirement("TR-114")
def test_a_list_without_a_common_protocol_is_refused_in_stable(scene: Scene) -> None:
    scene.stable()

    assert scene.join(protocols=("custom",)).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert scene.state() is STABLE


@pytest.mark.requirement("TR-043")
def test_a_list_without_a_common_protocol_is_refused_while_preparing(scene: Scene) -> None:
    scene.join()

    assert scene.join(protocols=("custom",)).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert len(scene.members()) == 1


@pytest.mark.requirement("JOIN-09")
def test_a_list_without_a_common_protocol_is_refused_while_completing(scene: Scene) -> None:
    scene.joined()

    assert scene.join(protocols=("custom",)).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert scene.state() is COMPLETING


@pytest.mark.requirement("JOIN-10")
@pytest.mark.parametrize("unfit", [{"protocols": ()}, {"protocol_type": ""}])
def test_an_empty_list_or_type_is_refused_and_leaves_an_empty_group(scene: Scene, unfit: dict[str, object]) -> None:
    assert scene.join(**unfit).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL  # type: ignore[arg-type]  # drawn as keywords
    assert (scene.state(), scene.members()) == (GroupState.EMPTY, [])  # as Kafka, which makes the group before it looks at the protocols


@pytest.mark.requirement("TR-025")
def test_an_empty_list_is_refused_by_an_empty_group(scene: Scene) -> None:
    scene.given_id()

    assert scene.join(protocols=()).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert scene.state() is EMPTY


@pytest.mark.requirement("JOIN-11", "TR-024", "TR-042", "TR-114")
def test_a_stale_id_is_unknown_in_every_state(scene: Scene) -> None:
    scene.given_id()
    assert (scene.state(), scene.join("stale").error) == (EMPTY, ErrorCode.UNKNOWN_MEMBER_ID)
    scene.after(10_000).join()
    assert (scene.state(), scene.join("stale").error) == (PREPARING, ErrorCode.UNKNOWN_MEMBER_ID)
    scene.after(3_000)
    assert (scene.state(), scene.join("stale").error) == (COMPLETING, ErrorCode.UNKNOWN_MEMBER_ID)
    (leader,) = scene.members()
    scene.sync(leader)
    assert (scene.state(), scene.join("stale").error) == (STABLE, ErrorCode.UNKNOWN_MEMBER_ID)


@pytest.mark.requirement("TR-140", "JOIN-53")
def test_a_dead_group_has_no_coordinator(scene: Scene) -> None:
    (leader,) = scene.stable()
    scene.take(scene.coordinator.retire("g", scene.now_ms))

    assert scene.join().error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert scene.join(leader).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert scene.state() is DEAD


@pytest.mark.requirement("JOIN-15")
def test_the_leader_sees_each_members_own_bytes_of_the_chosen_protocol(scene: Scene) -> None:
    asked = [scene.join(protocol_type="connect", metadata=bytes([number])) for number in range(3)]
    scene.after(6_000)

    assert [member.metadata for member in asked[0].answer.members] == [b"\0", b"\1", b"\2"]


@pytest.mark.requirement("JOIN-16", "DJOIN-07")
def test_a_late_joiner_with_a_longer_timeout_does_not_move_the_deadline(scene: Scene) -> None:
    leader, _ = scene.stable(2, session_ms=400_000)
    rejoined = scene.join(leader, session_ms=400_000)
    scene.after(1_000).join(rebalance_ms=600_000)

    assert rejoined.is_parked
    scene.after(298_999)
    assert rejoined.is_parked
    scene.after(1)
    assert rejoined.answer.generation_id == 2


@pytest.mark.requirement("JOIN-18", "JOIN-35", "TR-041")
def test_of_two_joins_of_one_member_the_newer_is_answered(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    older = scene.join(leader)
    newer = scene.join(leader, protocols=("range", "sticky"))
    scene.join(follower)

    assert older.is_parked
    assert newer.answer.generation_id == 2
    assert len(newer.answer.members) == 2


@pytest.mark.requirement("JOIN-19", "JOIN-22", "TR-088", "SYNC-25")
def test_a_newcomer_while_completing_sends_every_parked_sync_back(scene: Scene) -> None:
    leader, follower = scene.joined(2)
    parked = scene.sync(follower)
    newcomer = scene.join()

    assert parked.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert scene.state() is PREPARING
    assert newcomer.is_parked
    assert {member.assignment for member in scene.view().members} == {b""}
    assert leader in scene.members()


@pytest.mark.requirement("JOIN-20", "JOIN-58", "TR-086")
def test_an_unchanged_join_while_completing_repeats_the_generation(scene: Scene) -> None:
    leader, follower = scene.joined(2)
    again = [scene.join(leader).answer, scene.join(follower).answer]

    assert [(response.generation_id, response.leader, len(response.members)) for response in again] == [(1, leader, 2), (1, leader, 0)]
    assert scene.state() is COMPLETING


@pytest.mark.requirement("JOIN-21", "TR-087")
def test_a_changed_join_while_completing_starts_over(scene: Scene) -> None:
    _, follower = scene.joined(2)
    parked = scene.sync(follower)
    leader_again = scene.join(scene.members()[0], protocols=("range", "sticky"))

    assert parked.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert leader_again.is_parked
    assert scene.state() is PREPARING


@pytest.mark.requirement("JOIN-23", "TR-111", "DJOIN-20")
def test_an_unchanged_leader_starts_a_rebalance_and_alone_ends_it_at_once(scene: Scene) -> None:
    (leader,) = scene.stable()
    again = scene.join(leader)

    assert again.answer.generation_id == 2
    assert scene.path()[-2:] == [PREPARING, COMPLETING]


@pytest.mark.requirement("JOIN-24", "TR-112")
def test_a_changed_follower_starts_a_rebalance(scene: Scene) -> None:
    _, follower = scene.stable(2)

    assert scene.join(follower, protocols=("range", "sticky")).is_parked
    assert scene.state() is PREPARING


@pytest.mark.requirement("JOIN-25", "TR-113", "DJOIN-22")
def test_an_unchanged_follower_of_a_stable_group_is_answered_at_once(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    again = scene.join(follower).answer

    assert (again.generation_id, again.leader, again.members) == (1, leader, ())
    assert scene.state() is STABLE
    assert scene.heartbeat(leader) is NONE


@pytest.mark.requirement("JOIN-26")
def test_the_order_of_protocols_is_part_of_the_metadata(scene: Scene) -> None:
    _, follower = scene.stable(2, protocols=("range", "sticky"))

    assert scene.join(follower, protocols=("sticky", "range")).is_parked


@pytest.mark.requirement("JOIN-27", "TIMER-08", "TIMER-09")
@pytest.mark.parametrize(("session_ms", "is_refused"), [(5_999, True), (6_000, False), (1_800_000, False), (1_800_001, True)])
def test_the_bounds_of_the_session_timeout_are_inclusive(scene: Scene, session_ms: int, is_refused: bool) -> None:
    scene.join(session_ms=9, group="other")
    asked = scene.join(session_ms=session_ms)

    assert asked.is_parked is not is_refused
    assert not is_refused or asked.error is ErrorCode.INVALID_SESSION_TIMEOUT


@pytest.mark.requirement("JOIN-28")
def test_the_empty_group_id_is_invalid(scene: Scene) -> None:
    assert scene.join(group="").error is ErrorCode.INVALID_GROUP_ID


@pytest.mark.requirement("JOIN-30")
@pytest.mark.parametrize(("version", "name"), [(6, ""), (7, None)])
def test_an_error_answer_names_no_generation_and_no_protocol_and_echoes_the_id(scene: Scene, version: int, name: str | None) -> None:
    answer = scene.join("stale", version=version).answer

    assert (answer.generation_id, answer.protocol_type, answer.protocol_name, answer.leader, answer.members) == (-1, None, name, "", ())
    assert answer.member_id == "stale"


@pytest.mark.requirement("JOIN-30")
def test_before_2_2_an_error_answer_carries_generation_0(scene_of: Callable[..., Scene]) -> None:
    assert scene_of("kafka-1.1").join("stale", version=2).answer.generation_id == 0


@pytest.mark.requirement("JOIN-33", "JOIN-09")
def test_a_lone_member_cannot_change_to_a_disjoint_list(scene: Scene) -> None:
    (leader,) = scene.joined()

    assert scene.join(leader, protocols=("roundrobin",)).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.requirement("JOIN-37")
def test_a_member_keeps_what_its_join_gave(scene: Scene) -> None:
    scene.join(client="app", session_ms=12_345, rebalance_ms=54_321)

    (member,) = scene.view().members
    assert (member.client_id, member.client_host, member.session_timeout_ms, member.rebalance_timeout_ms) == ("app", "/127.0.0.1", 12_345, 54_321)


@pytest.mark.requirement("TIMER-25")
def test_in_version_0_the_session_timeout_is_the_rebalance_timeout(scene: Scene) -> None:
    scene.join(version=0, session_ms=20_000, rebalance_ms=-1)

    assert scene.view().members[0].rebalance_timeout_ms == 20_000


@pytest.mark.requirement("JOIN-54")
def test_answers_carry_the_protocol_type(scene: Scene) -> None:
    asked = scene.join(version=5, instance="i")
    scene.after(3_000)
    synced = scene.sync(asked.answer.member_id)

    assert asked.answer.protocol_type == synced.answer.protocol_type == "consumer"
    assert synced.answer.protocol_name == "range"


@pytest.mark.requirement("JOIN-56")
def test_a_joiner_beyond_the_groups_size_is_turned_away(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(group_max_size=2)
    asked = [scene.join() for _ in range(3)]

    assert [request.is_parked for request in asked] == [True, True, False]
    assert asked[2].error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert asked[2].answer.member_id == ""


@pytest.mark.requirement("JOIN-56")
def test_beyond_the_groups_size_even_a_handed_out_id_is_turned_away(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(group_max_size=2)
    ids = [scene.given_id() for _ in range(3)]
    asked = [scene.join(id, version=4) for id in ids]
    scene.after(6_000)

    assert [request.error for request in asked] == [NONE, NONE, ErrorCode.GROUP_MAX_SIZE_REACHED]
    assert scene.join(ids[2], version=4).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert scene.join(ids[0], version=4).error is NONE


@pytest.mark.requirement("JOIN-59")
def test_the_reason_of_a_rebalance_is_reported(scene: Scene) -> None:
    (leader,) = scene.stable()
    scene.join(leader, reason="new topics")

    text = next(transition.reason for transition in reversed(scene.transitions) if transition.after is PREPARING)
    assert text == f"leader rejoined {leader}; client reason: new topics"


@pytest.mark.requirement("TRIG-12", "INV-10")
def test_groups_do_not_disturb_each_other(scene: Scene) -> None:
    scene.stable(2)
    before = scene.view()
    scene.join(group="other")
    scene.join("stale", group="other")
    scene.leave(*(member.member_id for member in before.members), group="other")

    assert scene.view() == before


@pytest.mark.requirement("TR-046")
def test_a_join_never_completes_with_a_subscription_that_cannot_be_read(scene: Scene) -> None:
    good, bad = scene.join(), scene.join(metadata=b"\x00\x00\x7f\xff\xff\xff")
    scene.after(299_999)
    assert good.is_parked

    scene.after(1)  # the newcomers' own limit ends it
    assert good.error is bad.error is ErrorCode.UNKNOWN_MEMBER_ID
