"""Where the sources contradict each other or Kafka (docs/discrepancies.md), the coordinator keeps the reading that holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from groupproof.coordinator.machine.coordinator import StoredGroups, partition_of
from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from tests.coordinator.conftest import Scene

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
NONE = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
ILLEGAL = ErrorCode.ILLEGAL_GENERATION
REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS
UNAVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE
MISMATCH = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
DAY_MS = 86_400_000

OLD_AND_NEW = pytest.mark.parametrize("profile", ["kafka-1.1", "kafka-2.4", "kafka-4.1"])


def dead(scene: Scene) -> str:
    """Let the group die with a member in it; return the member."""
    (member,) = scene.stable(version=2)
    scene.take(scene.coordinator.retire("g", scene.now_ms))
    return member


@pytest.mark.reading("DISC-01")
@OLD_AND_NEW
def test_an_extension_of_the_initial_delay_is_a_full_delay(scene_of: Callable[..., Scene], profile: str) -> None:
    scene = scene_of(profile)
    first = scene.join(version=2)
    scene.after(1_000).join(version=2)
    scene.after(4_999)
    assert first.is_parked
    scene.after(1)
    assert not first.is_parked


@pytest.mark.reading("DISC-02")
@pytest.mark.requirement("IDJ-08")
def test_only_a_newcomer_at_generation_0_extends_the_initial_delay(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-1.1")
    alone = scene.join(version=2)
    scene.after(3_000)
    assert not alone.is_parked
    scene.sync(alone.answer.member_id, version=1)
    scene.leave(alone.answer.member_id, version=1)
    assert (scene.state(), scene.generation()) == (EMPTY, 2)

    again = scene.join(version=2)
    scene.after(1_000).join(version=2)
    scene.after(2_000)
    assert not again.is_parked


@pytest.mark.reading("DISC-04")
@pytest.mark.parametrize(("group", "partition"), [("g", 3), ("test-group", 12), ("my-group", 12), ("polygenelubricants", 0)])
def test_the_partition_is_the_hash_without_its_sign_modulo_the_configured_count(group: str, partition: int) -> None:
    assert partition_of(group, 50) == partition
    assert {partition_of(name, 7) for name in ("g", "my-group", "polygenelubricants")} <= set(range(7))


@pytest.mark.reading("DISC-06")
def test_a_leader_that_was_evicted_is_unknown_before_its_generation_is_looked_at(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    scene.leave(leader)
    assert scene.sync(leader, 1).error is UNKNOWN

    scene.join(follower)
    assert scene.sync(follower, 1).error is ILLEGAL


@pytest.mark.reading("DISC-08")
def test_a_join_phase_lasts_as_long_as_the_longest_rebalance_timeout_sent(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-1.1")
    leader, _ = scene.joined(2, version=0, session_ms=20_000, rebalance_ms=-1)
    assert {member.rebalance_timeout_ms for member in scene.view().members} == {20_000}

    scene = scene_of()
    leader, _ = scene.stable(2, session_ms=600_000, rebalance_ms=60_000)
    rejoined = scene.join(leader, session_ms=600_000, rebalance_ms=90_000)
    scene.after(89_999)
    assert rejoined.is_parked
    assert len(scene.after(1).view().members) == 1
    assert not rejoined.is_parked


@pytest.mark.reading("DISC-10")
def test_a_coordinator_that_moves_does_not_by_itself_make_a_rebalance(scene: Scene) -> None:
    (member,) = scene.stable()
    stored = scene.coordinator.stored(3)
    scene.take(scene.coordinator.unload(3, scene.now_ms))
    scene.take(scene.coordinator.load(3, stored, scene.now_ms))

    assert scene.heartbeat(member, 1) is NONE
    assert (scene.state(), scene.generation()) == (STABLE, 1)


@pytest.mark.reading("DISC-13")
@pytest.mark.parametrize(("profile", "answer"), [("kafka-1.1", REBALANCING), ("kafka-2.4", ILLEGAL), ("kafka-4.1", ILLEGAL)])
def test_a_heartbeat_while_completing_checks_the_generation_from_2_3_on(scene_of: Callable[..., Scene], profile: str, answer: ErrorCode) -> None:
    scene = scene_of(profile)
    (member,) = scene.joined(version=2)

    assert scene.heartbeat(member, 9, version=1) is answer


@pytest.mark.reading("DISC-14")
@pytest.mark.parametrize(("profile", "waits"), [("kafka-1.1", True), ("kafka-2.4", True), ("kafka-2.8", False), ("kafka-4.1", False)])
def test_a_parked_sync_waits_without_bound_up_to_2_8_0(scene_of: Callable[..., Scene], profile: str, *, waits: bool) -> None:
    scene = scene_of(profile, group_max_session_timeout_ms=1_800_000)
    scene.join(version=2, session_ms=1_800_000)
    follower = scene.join(version=2, session_ms=1_800_000)
    scene.after(6_000)
    parked = scene.sync(follower.answer.member_id, version=1)
    scene.after(300_000)

    assert parked.is_parked is waits


@pytest.mark.reading("DISC-15")
def test_the_leader_is_the_first_to_join_and_then_some_survivor(scene: Scene) -> None:
    first, second, third = scene.stable(3)
    assert scene.view().leader == first
    scene.leave(first)

    assert scene.view().leader in (second, third)


@pytest.mark.reading("DISC-16")
def test_a_join_sent_again_while_completing_moves_nothing(scene: Scene) -> None:
    leader, follower = scene.joined(2)
    moved = len(scene.transitions)

    assert scene.join(follower).answer.generation_id == scene.join(leader).answer.generation_id == 1
    assert len(scene.transitions) == moved


@pytest.mark.reading("DISC-17")
def test_a_leave_starts_a_rebalance_as_well_as_a_join_or_a_lost_heartbeat(scene: Scene) -> None:
    _, follower = scene.stable(2)
    scene.leave(follower)

    assert scene.state() is PREPARING


@pytest.mark.reading("DISC-21")
def test_not_every_join_to_an_empty_or_stable_group_starts_a_rebalance(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    assert scene.join(follower).answer.generation_id == 1
    assert scene.state() is STABLE
    for member in (follower, leader):
        scene.leave(member)
    scene.after(300_000)
    assert scene.state() is EMPTY

    assert scene.join("x").error is UNKNOWN
    assert scene.join(version=4).error is ErrorCode.MEMBER_ID_REQUIRED
    assert scene.state() is EMPTY
    joined = scene.join()
    scene.after(2_999)
    assert joined.is_parked  # though everybody has joined


@pytest.mark.reading("DISC-22")
@pytest.mark.parametrize(("profile", "answer"), [("kafka-1.1", UNKNOWN), ("kafka-2.4", UNAVAILABLE), ("kafka-4.1", UNAVAILABLE)])
def test_a_heartbeat_to_a_dead_group_is_answered(scene_of: Callable[..., Scene], profile: str, answer: ErrorCode) -> None:
    scene = scene_of(profile)

    assert scene.heartbeat(dead(scene), version=1) is answer


@pytest.mark.reading("DISC-23", "DISC-33")
@pytest.mark.parametrize(("profile", "answer"), [("kafka-1.1", UNKNOWN), ("kafka-2.4", UNAVAILABLE), ("kafka-4.1", UNAVAILABLE)])
def test_a_join_with_an_id_is_refused_by_an_empty_group_in_one_way_and_by_a_dead_one_in_another(
    scene_of: Callable[..., Scene], profile: str, answer: ErrorCode
) -> None:
    scene = scene_of(profile)
    scene.commit(version=2)
    assert scene.join("x", version=2).error is UNKNOWN

    scene = scene_of(profile)
    assert scene.join(dead(scene), version=2).error is answer
    assert scene.sync("x", version=1).error is answer


@pytest.mark.reading("DISC-24")
@OLD_AND_NEW
def test_a_leave_and_the_arrival_of_a_join_restart_no_session(scene_of: Callable[..., Scene], profile: str) -> None:
    scene = scene_of(profile)
    leader, second, third = scene.stable(3, version=2)
    scene.after(5_000)
    scene.leave(second, version=1)
    for member in (leader, third):
        scene.heartbeat(member, version=1)
    scene.after(4_000)
    scene.leave("nobody", version=1)
    scene.after(6_000)

    assert scene.members() == []


STAGES: dict[str, Callable[[Scene], object]] = {
    "none": lambda scene: None,
    "Empty": lambda scene: scene.commit(),
    "PreparingRebalance": lambda scene: scene.join(),
    "CompletingRebalance": lambda scene: scene.joined(),
    "Stable": lambda scene: scene.stable(),
}


@pytest.mark.reading("DISC-25")
@pytest.mark.parametrize("stage", STAGES)
def test_a_new_member_is_recognised_by_its_id_in_any_state(scene: Scene, stage: str) -> None:
    STAGES[stage](scene)

    assert scene.join("x").error is UNKNOWN
    assert scene.join().is_parked


@pytest.mark.reading("DISC-26")
def test_a_static_member_that_does_not_rejoin_stays_until_its_session_ends(scene: Scene) -> None:
    leader, static = scene.stable(1, instances=["a"], session_ms=500_000, rebalance_ms=60_000)
    scene.join(leader, session_ms=500_000, rebalance_ms=60_000)
    scene.after(60_000)

    assert scene.state() is COMPLETING
    assert static in scene.members()


@pytest.mark.reading("DISC-28")
@pytest.mark.parametrize(("profile", "state"), [("kafka-2.4", COMPLETING), ("kafka-2.8", PREPARING), ("kafka-4.1", PREPARING)])
def test_a_static_member_that_returns_while_completing_rebalances_from_2_5_on(
    scene_of: Callable[..., Scene], profile: str, state: GroupState
) -> None:
    scene = scene_of(profile)
    scene.joined(1, instances=["a"])
    scene.join(instance="a", version=5)

    assert scene.state() is state


@pytest.mark.reading("DISC-29")
def test_no_join_deadline_is_pending_while_the_group_completes(scene: Scene) -> None:
    leader, follower = scene.joined(2, session_ms=1_000_000, rebalance_ms=60_000)
    scene.sync(leader)
    scene.sync(follower)
    scene.after(60_000)

    assert not [rule for rule in scene.rules() if rule.startswith("JoinDeadline/")]
    assert scene.state() is STABLE


@pytest.mark.reading("DISC-30")
def test_offsets_can_be_asked_of_a_dead_group(scene: Scene) -> None:
    dead(scene)
    (fetched,) = scene.fetch(0).answer.groups

    assert fetched.error_code == 0
    assert [partition.committed_offset for partition in fetched.topics[0].partitions] == [-1]


@pytest.mark.reading("DISC-31")
def test_a_member_may_commit_for_partitions_that_it_does_not_own(scene: Scene) -> None:
    leader, follower = scene.joined(2)
    scene.sync(leader, assigned={leader: b"everything", follower: b""})
    scene.sync(follower)

    assert scene.commit(follower, 1, partitions=(0, 1, 2)) == [NONE] * 3


@pytest.mark.reading("DISC-32")
@pytest.mark.parametrize(("profile", "days", "active"), [("kafka-1.1", 1, True), ("kafka-2.4", 7, False), ("kafka-4.1", 7, False)])
def test_offsets_expire_by_the_clock_of_their_release(scene_of: Callable[..., Scene], profile: str, days: int, *, active: bool) -> None:
    def kept_after(ms: int, *, member: bool) -> bool:
        scene = scene_of(profile, group_max_session_timeout_ms=2_000_000_000)
        if member:
            scene.stable(version=2, session_ms=2_000_000_000)
            scene.commit(scene.members()[0], 1, version=3)
        else:
            scene.commit(version=3)
        return scene.after(ms).committed() != -1

    spare = 600_000  # the cleanup comes every ten minutes
    assert kept_after(days * DAY_MS - spare, member=False)
    assert not kept_after(days * DAY_MS + spare, member=False)
    assert kept_after(days * DAY_MS + spare, member=True) is not active


@pytest.mark.reading("DISC-36")
def test_the_group_is_stable_before_everybody_has_an_assignment(scene: Scene) -> None:
    leader, follower = scene.joined(2)
    scene.sync(leader, assigned={follower: b"f"})
    assert scene.state() is STABLE

    assert scene.sync(follower).answer.assignment == b"f"


@pytest.mark.reading("DISC-37")
def test_a_slow_consumer_s_old_id_is_refused_and_its_second_join_starts_the_rebalance(scene: Scene) -> None:
    leader, slow = scene.stable(2)
    scene.after(5_000).heartbeat(leader)
    scene.after(5_000)
    scene.join(leader)
    scene.sync(leader, 2)
    assert (scene.state(), slow in scene.members()) == (STABLE, False)

    assert scene.join(slow).error is UNKNOWN
    assert scene.state() is STABLE
    assert scene.join().is_parked
    assert scene.state() is PREPARING


@pytest.mark.reading("DISC-38")
def test_a_member_without_a_common_protocol_is_answered_and_the_group_is_unchanged(scene: Scene) -> None:
    scene.stable()
    before = scene.view()

    assert scene.join(protocols=("custom",)).error is MISMATCH
    assert scene.view() == before


@pytest.mark.reading("DISC-39")
def test_awaiting_sync_is_the_old_name_of_completing_rebalance() -> None:
    assert GroupState("AwaitingSync") is COMPLETING


@pytest.mark.reading("DISC-49")
@OLD_AND_NEW
def test_an_empty_group_waits_for_the_initial_delay_and_not_for_the_rebalance_timeout(scene_of: Callable[..., Scene], profile: str) -> None:
    scene = scene_of(profile)
    joined = scene.join(version=2, rebalance_ms=300_000)
    scene.after(2_999)
    assert joined.is_parked
    scene.after(1)
    assert not joined.is_parked


@pytest.mark.reading("DISC-51")
def test_a_member_of_a_lost_group_gets_unknown_member_id_and_comes_back_without_its_id(scene: Scene) -> None:
    (member,) = scene.stable()
    scene.take(scene.coordinator.unload(3, scene.now_ms))
    scene.take(scene.coordinator.load(3, StoredGroups(), scene.now_ms))

    assert scene.join(member).error is UNKNOWN
    assert scene.join().is_parked
