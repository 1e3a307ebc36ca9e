"""Static members (KIP-345, KIP-814): restart, replacement, fencing, and what a join phase does about absent ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from tests.coordinator.conftest import Scene

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
NONE = ErrorCode.NONE
FENCED = ErrorCode.FENCED_INSTANCE_ID


@pytest.mark.requirement("STATIC-01", "STATIC-02", "TR-001")
def test_a_static_member_is_admitted_directly_under_its_instances_name(scene: Scene) -> None:
    (member,) = scene.joined(0, instances=["i"], version=5)

    assert member.startswith("i-")
    assert len(member) == 38
    assert scene.view().members[0].group_instance_id == "i"


@pytest.mark.requirement("STATIC-03", "STATIC-12", "STATIC-14", "DJOIN-03")
def test_an_absent_static_leader_is_kept_but_leads_no_more(scene: Scene) -> None:
    leader, follower = scene.stable(0, instances=["a", "b"], version=5, session_ms=400_000)
    rejoined = scene.join(follower, instance="b", version=5, session_ms=400_000, protocols=("range", "sticky"))
    scene.after(299_999)
    assert rejoined.is_parked
    scene.after(1)

    assert rejoined.answer.leader == follower
    assert {member.member_id for member in rejoined.answer.members} == {leader, follower}


@pytest.mark.requirement("STATIC-13", "TR-050")
def test_while_only_absent_static_members_remain_the_phase_is_put_off(scene: Scene) -> None:
    (static,) = scene.stable(0, instances=["a"], version=5, session_ms=700_000)
    newcomer = scene.join()
    assert newcomer.is_parked
    scene.leave(scene.members()[-1])
    scene.after(300_000)
    assert (scene.state(), scene.generation(), scene.members()) == (PREPARING, 1, [static])
    scene.after(300_000)
    assert (scene.state(), scene.generation()) == (PREPARING, 1)

    assert scene.join(static, instance="a", version=5, session_ms=700_000).answer.generation_id == 2


@pytest.mark.requirement("STATIC-13", "TR-050")
def test_a_member_whose_instance_a_full_group_has_forgotten_is_static_none_the_less(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-2.4", group_max_size=2)
    (static,) = scene.stable(0, instances=["a"], version=5, session_ms=700_000)
    scene.join(scene.given_id(), version=5)
    assert scene.join(instance="a", version=5).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    scene.leave(scene.members()[-1], version=2)
    scene.after(600_000)

    assert (scene.state(), scene.generation(), scene.members()) == (PREPARING, 1, [static])


@pytest.mark.requirement("STATIC-04")
def test_a_static_member_goes_with_its_session(scene: Scene) -> None:
    scene.stable(0, instances=["a"], version=5)
    scene.after(10_000)

    assert (scene.state(), scene.members()) == (EMPTY, [])
    assert scene.join(instance="a", version=5).is_parked


@pytest.mark.requirement("STATIC-06", "STATIC-16", "TR-115")
def test_a_restarted_leader_is_answered_at_once_with_the_old_leaders_name_and_its_assignment(scene: Scene) -> None:
    leader, follower = scene.stable(0, instances=["a", "b"], version=5)
    back = scene.join(instance="a", version=8).answer

    assert back.member_id not in (leader, follower)
    assert (back.generation_id, back.leader, back.members, back.skip_assignment) == (1, leader, (), False)
    assert (back.protocol_type, back.protocol_name) == ("consumer", "range")
    assert (scene.state(), scene.view().leader) == (STABLE, back.member_id)
    assert scene.sync(back.member_id).answer.assignment == leader.encode()
    assert scene.heartbeat(follower) is NONE


@pytest.mark.requirement("TR-115")
def test_from_version_9_a_restarted_leader_gets_the_list_and_skips_the_assignment(scene: Scene) -> None:
    leader, follower = scene.stable(0, instances=["a", "b"], version=5)
    back = scene.join(instance="a", version=9).answer

    assert (back.leader, back.skip_assignment) == (back.member_id, True)
    assert {member.member_id for member in back.members} == {back.member_id, follower}
    back_follower = scene.join(instance="b", version=9).answer
    assert (back_follower.leader, back_follower.skip_assignment, back_follower.members) == (back.member_id, False, ())
    assert leader not in scene.members()


@pytest.mark.requirement("TR-115")
def test_a_restart_that_changes_the_chosen_protocol_rebalances(scene: Scene) -> None:
    scene.stable(0, instances=["a"], version=5, protocols=("range", "sticky"))
    back = scene.join(instance="a", version=9, protocols=("sticky", "range"))

    assert (back.answer.generation_id, back.answer.protocol_name) == (2, "sticky")


@pytest.mark.requirement("TR-115")
def test_a_restart_with_another_list_but_the_same_choice_does_not(scene: Scene) -> None:
    scene.stable(0, instances=["a"], version=5)
    back = scene.join(instance="a", version=9, protocols=("range", "sticky"), session_ms=20_000, rebalance_ms=40_000)

    assert back.answer.generation_id == 1
    (member,) = scene.view().members
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (20_000, 40_000)


@pytest.mark.requirement("STATIC-07", "TR-089", "STATIC-09")
def test_a_restart_while_completing_rebalances_and_fences_the_parked_sync(scene: Scene) -> None:
    leader, follower = scene.joined(0, instances=["a", "b"], version=5)
    parked = scene.sync(follower, instance="b")
    back = scene.join(instance="b", version=5)

    assert parked.error is FENCED
    assert (scene.state(), back.is_parked) == (PREPARING, True)
    assert scene.join(leader, instance="a", version=5).answer.generation_id == 2


@pytest.mark.requirement("STATIC-08", "STATIC-09", "TR-044")
def test_a_restart_while_preparing_fences_the_parked_join(scene: Scene) -> None:
    older = scene.join(instance="a", version=5)
    (first,) = scene.members()
    newer = scene.join(instance="a", version=5)

    assert (older.error, older.answer.member_id) == (FENCED, first)
    scene.after(3_000)
    assert [member.member_id for member in newer.answer.members] == [newer.answer.member_id]


@pytest.mark.requirement("STATIC-10", "STATIC-11")
def test_a_known_instance_with_another_id_is_fenced_before_all_else(scene: Scene) -> None:
    leader, follower = scene.stable(0, instances=["a", "b"], version=5)

    assert scene.join(follower, instance="a", version=5).error is FENCED
    assert scene.sync(follower, 9, instance="a").error is FENCED
    assert scene.heartbeat(follower, 9, instance="a") is FENCED
    assert scene.commit(follower, 9, instance="a") == [FENCED]
    for error in (scene.join(leader, instance="c", version=5).error, scene.heartbeat(leader, instance="c"), *scene.commit(leader, 1, instance="c")):
        assert error is ErrorCode.UNKNOWN_MEMBER_ID
    assert scene.heartbeat(leader) is NONE


@pytest.mark.requirement("STATIC-10", "TR-114")
def test_the_old_id_of_a_replaced_instance_is_fenced_with_it_and_unknown_without(scene: Scene) -> None:
    (old,) = scene.stable(0, instances=["a"], version=5)
    scene.join(instance="a", version=5)

    assert scene.join(old, instance="a", version=5).error is FENCED
    assert scene.join(old, version=5).error is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.requirement("TR-113", "TR-086")
def test_a_static_member_with_its_own_id_joins_again_as_any_other(scene: Scene) -> None:
    leader, follower = scene.joined(0, instances=["a", "b"], version=5)
    assert scene.join(follower, instance="b", version=5).answer.generation_id == 1
    scene.sync(leader)
    assert scene.join(follower, instance="b", version=5).answer.generation_id == 1


@pytest.mark.requirement("STATIC-09", "STATIC-06")
def test_each_restart_gives_a_fresh_id(scene: Scene) -> None:
    scene.stable(0, instances=["a"], version=5)
    ids = [scene.join(instance="a", version=5).answer.member_id for _ in range(3)]

    assert len(set(ids)) == 3


@pytest.mark.requirement("TIMER-24", "STATIC-16")
def test_a_restart_keeps_the_old_session_timeout_until_the_next_sign_of_life(scene: Scene) -> None:
    scene.stable(0, instances=["a"], version=5)
    back = scene.join(instance="a", version=5, session_ms=60_000).answer.member_id
    scene.after(9_999)
    assert scene.heartbeat(back) is NONE
    scene.after(59_999)

    assert scene.members() == [back]
