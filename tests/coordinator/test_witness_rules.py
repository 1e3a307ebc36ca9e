"""Witnesses of single rules of the coordinator that no other test has for its own."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from groupproof.coordinator.machine.coordinator import Reply, Transition
from groupproof.protocol.rules import api_versions
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.coordinator.conftest import Scene

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.requirement("DJOIN-04")
def test_the_deadline_completes_the_phase_and_has_no_effect_beyond_it(scene: Scene) -> None:
    leader, _ = scene.stable(2, rebalance_ms=8_000)
    scene.join(leader, rebalance_ms=8_000)
    outputs = scene.coordinator.advance(scene.now_ms + 8_000)

    entries = [type(output) for output in outputs if isinstance(output, Reply | Transition)]
    assert entries == [Transition, Reply]
    assert scene.coordinator.advance(scene.now_ms + 8_001) == []


@pytest.mark.requirement("DJOIN-10")
def test_a_group_is_empty_though_that_cannot_be_stored(scene: Scene) -> None:
    (only,) = scene.stable()
    scene.coordinator.append_error = ErrorCode.KAFKA_STORAGE_ERROR
    scene.leave(only)

    assert (scene.state(), scene.generation()) == (EMPTY, 2)
    assert scene.after(60_000).state() is EMPTY


@pytest.mark.requirement("SYNC-03")
def test_in_1_1_there_is_nobody_to_sync_in_an_empty_or_dead_group(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-1.1")
    scene.commit(version=3)
    assert scene.state() is EMPTY
    assert scene.sync("x").error is UNKNOWN

    scene.take(scene.coordinator.retire("g", scene.now_ms))
    assert scene.state() is DEAD
    assert scene.sync("x").error is UNKNOWN


@pytest.mark.requirement("SYNC-21")
@pytest.mark.parametrize(
    ("log", "answer"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 15), (ErrorCode.NOT_ENOUGH_REPLICAS, 15), (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, 15),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, 16), (ErrorCode.KAFKA_STORAGE_ERROR, 16), (ErrorCode.REQUEST_TIMED_OUT, 27),
        (ErrorCode.MESSAGE_TOO_LARGE, -1), (ErrorCode.RECORD_LIST_TOO_LARGE, -1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("profile", ["kafka-1.1", "kafka-2.4"])
def test_what_the_log_says_is_mapped_for_the_leader_s_sync(scene_of: Callable[..., Scene], profile: str, log: ErrorCode, answer: int) -> None:
    scene = scene_of(profile)
    (leader,) = scene.joined(version=2)
    scene.coordinator.append_error = log

    assert scene.sync(leader, version=1).answer.error_code == answer


@pytest.mark.requirement("SYNC-52")
def test_a_sync_is_answered_by_the_state_of_the_group(scene: Scene) -> None:
    scene.commit()
    assert scene.state() is EMPTY
    assert scene.sync("x").error is UNKNOWN

    leader, follower = scene.joined(2)
    parked = scene.sync(follower)
    assert parked.is_parked
    assert scene.sync(leader, assigned={follower: b"f"}).answer.assignment == b""
    assert parked.answer.assignment == scene.sync(follower).answer.assignment == b"f"

    scene.join(leader)
    assert scene.sync(follower).error is REBALANCING


@pytest.mark.requirement("SYNC-54")
def test_each_accepted_assignment_is_counted_once(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    for generation in (2, 3):
        scene.join(follower, protocols=("range", f"x{generation}"))
        scene.join(leader)
        scene.sync(follower, generation)
        scene.sync(leader, generation - 1)  # refused
        counted = scene.rules().count("SyncGroup/CompletingRebalance/leader-syncs")
        scene.sync(leader, generation)
        scene.sync(leader, generation)  # a repetition
        assert (counted, scene.rules().count("SyncGroup/CompletingRebalance/leader-syncs")) == (generation - 1, generation)


@pytest.mark.requirement("LEAVE-02")
def test_in_1_1_only_a_member_of_a_living_group_can_leave(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-1.1")

    def leave(member_id: str) -> int:
        answer = scene.leave(member_id, version=1).answer
        return answer.error_code or answer.members[0].error_code

    assert leave("x") == UNKNOWN
    (member,) = scene.stable(version=2)
    assert leave("x") == UNKNOWN
    assert scene.members() == [member]
    scene.take(scene.coordinator.retire("g", scene.now_ms))
    assert leave(member) == UNKNOWN


@pytest.mark.requirement("TR-095")
def test_in_1_1_whoever_commits_while_the_group_completes_is_sent_to_rejoin(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-1.1")
    (member,) = scene.joined(version=2)

    assert scene.commit(member, 1, version=3) == scene.commit("x", 9, version=3) == [REBALANCING]
    assert scene.state() is COMPLETING


@pytest.mark.requirement("INV-03")
def test_the_two_names_of_one_state_are_read_as_one(scene: Scene) -> None:
    scene.joined()

    assert GroupState("AwaitingSync") is GroupState("CompletingRebalance") is scene.state()
    assert scene.describe()[0].group_state == "CompletingRebalance"


@pytest.mark.requirement("ASSIGN-01")
def test_the_protocol_of_a_generation_is_one_that_every_member_offers(scene: Scene) -> None:
    first = scene.join(protocols=("range", "roundrobin"))
    scene.join(protocols=("sticky", "roundrobin"))
    scene.join(protocols=("sticky", "roundrobin", "range"))
    scene.after(6_000)

    assert first.answer.protocol_name == "roundrobin"


@pytest.mark.requirement("ASSIGN-02")
def test_a_joiner_that_leaves_no_common_protocol_disturbs_nobody(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    before = scene.view()

    assert scene.join(protocols=("custom",)).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert scene.view() == before
    assert [scene.heartbeat(name) for name in (leader, follower)] == [ErrorCode.NONE] * 2


@pytest.mark.requirement("ASSIGN-03")
def test_metadata_and_assignments_pass_through_as_the_bytes_that_they_are(scene: Scene) -> None:
    blob = random.Random(3).randbytes(64)
    joined = scene.join(metadata=blob, protocol_type="connect")
    scene.after(6_000)
    assert joined.answer.members[0].metadata == blob

    synced = scene.sync(joined.answer.member_id, assigned={joined.answer.member_id: blob[::-1]})
    assert synced.answer.assignment == blob[::-1]


@pytest.mark.requirement("ASSIGN-04", "PLAN-08")
def test_an_unknown_assignor_works_at_once(scene: Scene) -> None:
    (member,) = scene.stable(protocols=("range",))
    scene.leave(member)
    joined = scene.join(protocols=("by-the-moon",))
    scene.after(6_000)

    assert joined.answer.protocol_name == "by-the-moon"


@pytest.mark.requirement("ASSIGN-12")
@pytest.mark.parametrize("protocol_type", ["consumer", "connect", "datalink"])
def test_a_group_of_any_protocol_type_comes_to_rest(scene: Scene, protocol_type: str) -> None:
    members = scene.stable(2, protocol_type=protocol_type, protocols=("default",), metadata=b"\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff")

    assert scene.view().protocol_type == protocol_type
    assert [scene.heartbeat(member) for member in members] == [ErrorCode.NONE] * 2


@pytest.mark.requirement("PLAN-05")
@pytest.mark.parametrize("protocols", [("default",), ("default", "other")])
def test_one_protocol_is_as_good_as_several(scene: Scene, protocols: tuple[str, ...]) -> None:
    scene.stable(2, protocols=protocols)

    assert scene.view().protocol_name == "default"


@pytest.mark.requirement("JOIN-12", "JOIN-13")
def test_nobody_is_answered_before_the_phase_ends_and_then_each_with_its_own_id_and_the_same_generation(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    asked = [scene.join(leader), scene.join()]
    scene.after(9_000)
    assert scene.state() is PREPARING
    assert [request.is_parked for request in asked] == [True, True]

    asked.append(scene.join(follower))
    answers = [request.answer for request in asked]
    assert {(answer.error_code, answer.generation_id, answer.protocol_name, answer.leader) for answer in answers} == {(0, 2, "range", leader)}
    assert [answer.member_id for answer in answers] == [leader, scene.members()[-1], follower]


@pytest.mark.requirement("STATIC-14")
def test_a_static_member_that_is_kept_unjoined_has_a_new_session_when_the_phase_completes(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-2.4")  # without a sync deadline, which would take it out earlier
    leader, static = scene.stable(1, instances=["a"], session_ms=60_000, rebalance_ms=50_000)
    rejoined = scene.join(leader, session_ms=60_000, rebalance_ms=50_000)
    scene.after(50_000)
    assert rejoined.answer.generation_id == 2

    scene.after(59_999)
    assert static in scene.members()
    scene.after(1)
    assert static not in scene.members()


@pytest.mark.requirement("TIMER-24")
@pytest.mark.parametrize(("profile", "has_field"), [("kafka-1.1", False), ("kafka-2.2", False), ("kafka-2.3", True), ("kafka-4.1", True)])
def test_no_release_before_2_3_speaks_a_version_that_has_an_instance(profile: str, *, has_field: bool) -> None:
    first = {Api.JOIN_GROUP: 5, Api.SYNC_GROUP: 3, Api.HEARTBEAT: 3, Api.OFFSET_COMMIT: 7}  # LeaveGroup by instance came with 2.4
    spoken = api_versions(profile)

    assert {spoken[api][1] >= version for api, version in first.items()} == {has_field}


@pytest.mark.requirement("INV-10")
def test_two_groups_have_members_generations_and_timers_of_their_own(scene: Scene) -> None:
    (ours,) = scene.stable()
    scene.join(group="h")
    scene.after(6_000)
    other = scene.view("h").members[0].member_id
    scene.sync(other, 1, {other: b""}, group="h")
    scene.heartbeat(other, group="h")
    assert scene.heartbeat(other, group="g") is scene.heartbeat(ours, group="h") is UNKNOWN

    scene.after(9_999)
    assert (scene.state("g"), scene.state("h")) == (EMPTY, STABLE)
    assert (scene.view("g").generation, scene.view("h").generation) == (2, 1)


@pytest.mark.requirement("LEAVE-54")
def test_a_member_that_left_has_no_timer_and_no_place_when_the_group_acts_on_it(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    scene.leave(leader)
    assert (scene.state(), scene.members(), scene.view().leader) == (PREPARING, [follower], follower)

    scene.join(follower)
    scene.sync(follower, 2)
    before = len(scene.rules())
    scene.after(9_999).heartbeat(follower, 2)
    scene.after(9_999).heartbeat(follower, 2)
    assert not [rule for rule in scene.rules()[before:] if rule.startswith("SessionEnd/")]


@pytest.mark.requirement("SYNC-51")
def test_a_sync_is_checked_for_who_asks_then_the_generation_then_the_protocol(scene: Scene) -> None:
    static, _ = scene.stable(0, instances=["a", "b"])

    assert scene.sync("x", 9, instance="a", protocol_type="connect").error is ErrorCode.FENCED_INSTANCE_ID
    assert scene.sync("x", 9, protocol_type="connect").error is UNKNOWN
    assert scene.sync(static, 9, instance="a", protocol_type="connect").error is ErrorCode.ILLEGAL_GENERATION
    assert scene.sync(static, 1, instance="a", protocol_type="connect").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert scene.sync(static, 1, instance="a").error is ErrorCode.NONE


@pytest.mark.requirement("CLIENT-77")
def test_a_ghost_holds_the_rebalance_until_its_session_ends(scene: Scene) -> None:
    (ghost,) = scene.stable(session_ms=10_000)
    began = scene.now_ms
    anew = scene.join(session_ms=10_000)  # the same client, without its id
    assert anew.is_parked

    scene.after(began + 9_999 - scene.now_ms)
    assert anew.is_parked
    scene.after(1)
    assert [member.member_id for member in anew.answer.members] == [anew.answer.member_id]
    assert ghost not in scene.members()


@pytest.mark.requirement("DIAG-24")
def test_every_rebalance_tells_its_cause(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    newcomer = scene.join()
    scene.join(leader)
    scene.join(follower)
    scene.sync(leader, 2)
    scene.leave(newcomer.answer.member_id)
    scene.join(leader)
    scene.join(follower)
    scene.sync(leader, 3)
    scene.join(leader)
    scene.join(follower)
    scene.sync(leader, 4)
    scene.after(1_000).heartbeat(leader, 4)
    scene.after(9_500)

    causes = [transition.reason for transition in scene.transitions if transition.after is PREPARING][1:]
    kinds = ["adding new member", "explicit LeaveGroup request", "leader rejoined", "removing member on heartbeat expiration"]
    assert [next(name for name in kinds if cause.startswith(name)) for cause in causes] == kinds


@pytest.mark.requirement("TIMER-27")
def test_the_wire_of_kafka_0_10_1_is_spoken_by_every_release_up_to_3_9() -> None:
    for profile in ("kafka-1.1", "kafka-2.4", "kafka-3.9"):
        spoken = api_versions(profile)
        assert all(spoken[api][0] <= version <= spoken[api][1] for api, version in {Api.JOIN_GROUP: 1, Api.SYNC_GROUP: 0, Api.HEARTBEAT: 0}.items())


@pytest.mark.requirement("TRIG-09")
def test_a_rebalance_goes_through_its_states_in_order_by_joins_and_then_by_syncs(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    before = len(scene.path())
    for move in (lambda: scene.join(leader), lambda: scene.join(follower), lambda: scene.sync(follower, 2), lambda: scene.sync(leader, 2)):
        move()

    assert scene.path()[before:] == [PREPARING, COMPLETING, STABLE]


@pytest.mark.requirement("HB-54", "HB-55")
def test_the_end_of_a_session_takes_out_an_absent_member_and_a_pending_id_and_leaves_the_parked_and_the_dead_alone(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    scene.given_id(session_ms=9_000)
    scene.after(9_000)
    assert (scene.state(), scene.view().pending) == (STABLE, ())

    rejoined = scene.join(leader)
    scene.after(1_000)
    assert (scene.members(), rejoined.is_parked) == ([leader], False)
    assert follower not in scene.members()

    scene.take(scene.coordinator.retire("g", scene.now_ms))
    before = len(scene.rules())
    scene.after(600_000)
    assert not [rule for rule in scene.rules()[before:] if rule.startswith("SessionEnd/")]


@pytest.mark.requirement("SYNC-14")
def test_in_1_1_a_sync_in_stable_is_a_sign_of_life(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-1.1")
    (member,) = scene.stable(version=2)
    assert scene.after(9_999).sync(member, version=1).answer.assignment == member.encode()

    assert scene.after(9_999).members() == [member]
    assert scene.after(1).members() == []


@pytest.mark.requirement("INV-07")
def test_a_generation_has_no_dynamic_member_that_did_not_join_it(scene: Scene) -> None:
    leader, absent, late = scene.stable(3, session_ms=600_000, rebalance_ms=8_000)
    joined = scene.join(leader, session_ms=600_000, rebalance_ms=8_000)
    scene.after(7_999).join(late, session_ms=600_000, rebalance_ms=8_000)
    scene.after(1)

    assert (scene.state(), scene.members()) == (COMPLETING, [leader, late])
    assert [member.member_id for member in joined.answer.members] == [leader, late]
    assert scene.heartbeat(absent, 2) is UNKNOWN


@pytest.mark.requirement("PEND-12")
def test_a_static_member_is_never_pending(scene: Scene) -> None:
    joined = scene.join(instance="a", version=9)

    assert joined.is_parked
    assert (len(scene.members()), scene.view().pending) == (1, ())
    assert scene.join(scene.given_id(), instance="b", version=5).error is ErrorCode.UNKNOWN_SERVER_ERROR  # nor does a pending one become static
