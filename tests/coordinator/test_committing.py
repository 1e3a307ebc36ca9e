"""OffsetCommit and OffsetFetch: who may commit in which state, what is stored, what is fetched, and when it expires."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.coordinator.conftest import Scene

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
NONE = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
DAY_MS = 24 * 60 * 60 * 1000


@pytest.mark.requirement("TR-006", "COMMIT-10")
def test_a_commit_without_generation_makes_a_group_for_offsets_alone(scene: Scene) -> None:
    assert scene.commit(offset=7) == [NONE]
    assert (scene.state(), scene.committed()) == (EMPTY, 7)


@pytest.mark.requirement("TR-007", "COMMIT-10")
@pytest.mark.parametrize(("version", "error"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_commit_with_a_generation_makes_no_group(scene: Scene, version: int, error: ErrorCode) -> None:
    assert scene.commit("x", 1, version=version) == [error]
    assert scene.state() is None


@pytest.mark.requirement("COMMIT-02", "TR-029", "TR-030", "COMMIT-23", "TR-031", "FETCH-01")
def test_an_empty_group_takes_commits_without_generation_alone(scene: Scene) -> None:
    (leader,) = scene.stable()
    scene.commit(leader, 1, offset=3)
    scene.leave(leader)

    assert scene.committed() == 3
    assert scene.commit("anybody", -1, instance="any", offset=4) == [NONE]
    assert scene.commit(leader, 1) == scene.commit("x", 0) == [UNKNOWN]
    assert scene.committed() == 4


@pytest.mark.requirement("COMMIT-07", "TR-123", "TR-125", "FETCH-04", "COMMIT-22")
def test_a_commit_in_stable_is_stored_and_keeps_the_member_alive(scene: Scene) -> None:
    (leader,) = scene.stable()
    for offset in range(5):
        scene.after(9_999)
        assert scene.commit(leader, 1, offset=offset) == [NONE]

    assert scene.committed() == 4
    assert scene.heartbeat(leader, 1) is NONE
    assert scene.members() == [leader]


@pytest.mark.requirement("COMMIT-04")
def test_in_1_1_a_commit_while_completing_is_answered_27(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-1.1")
    scene.joined(version=2)

    assert scene.commit(version=3) == [ErrorCode.REBALANCE_IN_PROGRESS]
    assert scene.committed() == -1


@pytest.mark.requirement("COMMIT-05", "COMMIT-06", "COMMIT-11", "TR-124")
def test_in_stable_strangers_old_generations_and_nobody_are_refused(scene: Scene) -> None:
    (leader,) = scene.stable()

    assert scene.commit("x", 1) == [UNKNOWN]
    assert scene.commit(leader, 0) == scene.commit(leader, 2) == scene.commit(leader, -1) == [ErrorCode.ILLEGAL_GENERATION]
    assert scene.commit() == [UNKNOWN]


@pytest.mark.requirement("COMMIT-08", "COMMIT-20", "TR-064", "TR-065", "TR-066", "FETCH-02", "COMMIT-13")
def test_while_preparing_the_old_generation_still_commits(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    scene.join(leader)

    assert scene.commit(follower, 1, offset=9) == [NONE]
    assert scene.commit(follower, 2) == [ErrorCode.ILLEGAL_GENERATION]
    assert scene.commit("x", 1) == scene.commit() == [UNKNOWN]
    assert scene.committed() == 9
    scene.join(follower)
    scene.sync(leader, 2)
    assert scene.commit(follower, 1) == [ErrorCode.ILLEGAL_GENERATION]


@pytest.mark.requirement("COMMIT-21", "COMMIT-51", "TR-096", "TR-097", "FETCH-03")
def test_while_completing_a_heartbeat_is_answered_27_after_the_checks(scene: Scene) -> None:
    (leader,) = scene.joined()

    assert scene.commit(leader, 1) == [ErrorCode.REBALANCE_IN_PROGRESS]
    assert scene.commit(leader, 9) == [ErrorCode.ILLEGAL_GENERATION]
    assert scene.commit("x", 1) == scene.commit() == [UNKNOWN]
    assert scene.committed() == -1


@pytest.mark.requirement("COMMIT-04", "COMMIT-09", "COMMIT-01")
def test_in_1_1_every_heartbeat_is_answered_27_while_completing(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-1.1")
    (leader,) = scene.joined()
    rejoin = [ErrorCode.REBALANCE_IN_PROGRESS]
    assert scene.commit(leader, 1, version=3) == scene.commit("x", 9, version=3) == scene.commit(version=3) == rejoin

    scene.take(scene.coordinator.retire("g", scene.now_ms))
    assert scene.commit(leader, 1, version=3) == [UNKNOWN]


@pytest.mark.requirement("TR-096", "STATIC-10")
def test_in_2_4_the_checks_come_first_and_an_unknown_instance_is_overlooked(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-2.4")
    (leader,) = scene.joined(0, instances=["i"], version=5)

    assert scene.commit("x", 1, instance="i") == [ErrorCode.FENCED_INSTANCE_ID]
    assert scene.commit("x", 1) == [UNKNOWN]
    assert scene.commit(leader, 9) == [ErrorCode.ILLEGAL_GENERATION]
    assert scene.commit(leader, 1, instance="unknown") == [ErrorCode.REBALANCE_IN_PROGRESS]


@pytest.mark.requirement("TR-007")
def test_in_2_4_a_missing_group_is_an_illegal_generation(scene_of: Callable[..., Scene]) -> None:
    assert scene_of("kafka-2.4").commit("x", 1, version=9) == [ErrorCode.ILLEGAL_GENERATION]


@pytest.mark.requirement("TR-144", "TR-145")
def test_a_dead_group_takes_no_commit_and_knows_no_offset(scene: Scene) -> None:
    (leader,) = scene.stable()
    scene.commit(leader, 1)
    scene.take(scene.coordinator.retire("g", scene.now_ms))

    assert scene.commit(leader, 1) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert scene.committed() == -1


@pytest.mark.requirement("COMMIT-12")
def test_a_refusal_is_repeated_for_every_partition(scene: Scene) -> None:
    scene.stable()

    assert scene.commit("x", 1, partitions=range(3)) == [UNKNOWN] * 3


@pytest.mark.requirement("COMMIT-27", "COMMIT-30")
def test_a_member_may_commit_for_any_partition_and_no_commit_rebalances(scene: Scene) -> None:
    leader, follower = scene.stable(2)

    assert scene.commit(follower, 1, partitions=(0, 77)) == [NONE, NONE]
    assert (scene.state(), scene.generation()) == (STABLE, 1)
    assert scene.heartbeat(leader) is NONE


@pytest.mark.requirement("COMMIT-28", "TIMER-16", "ERR-04")
def test_metadata_that_is_too_long_is_refused_for_its_partition_alone(scene: Scene) -> None:
    assert scene.commit(metadata="a" * 4_097) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert scene.committed() == -1
    assert scene.commit(metadata="\N{GRINNING FACE}" * 2_048) == [NONE]  # 4,096 of Java's chars
    assert scene.commit(metadata="\N{GRINNING FACE}" * 2_049) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]


@pytest.mark.requirement("TR-008", "FETCH-05")
def test_of_no_group_every_offset_is_minus_one(scene: Scene) -> None:
    (fetched,) = scene.fetch(0, 1).answer.groups

    assert fetched.error_code == 0
    assert [(partition.committed_offset, partition.metadata, partition.error_code) for partition in fetched.topics[0].partitions] == [(-1, "", 0)] * 2


@pytest.mark.requirement("FETCH-05", "TR-031")
def test_without_topics_everything_committed_is_fetched(scene: Scene) -> None:
    scene.commit(offset=5, partitions=(2, 0), metadata=None)
    (fetched,) = scene.fetch().answer.groups

    assert [(partition.partition_index, partition.committed_offset, partition.metadata) for partition in fetched.topics[0].partitions] == [
        (2, 5, ""),
        (0, 5, ""),
    ]
    (nothing,) = scene.fetch(group="other").answer.groups
    assert nothing.topics == ()


@pytest.mark.requirement("COMMIT-24", "TIMER-13", "TR-032", "TR-033", "COMMIT-26")
def test_offsets_of_an_empty_group_are_kept_for_seven_days_from_when_it_became_empty(scene: Scene) -> None:
    (leader,) = scene.stable(1, session_ms=1_800_000)
    scene.commit(leader, 1)
    for _ in range(8 * 24 * 3):
        scene.after(DAY_MS // 72)
        scene.heartbeat(leader)
    scene.leave(leader)
    scene.after(7 * DAY_MS - 1)
    assert scene.committed() == 5

    scene.after(600_000)
    assert scene.state() is None
    assert scene.committed() == -1


@pytest.mark.requirement("TR-032", "TR-033")
def test_offsets_of_a_simple_group_expire_each_from_its_commit(scene: Scene) -> None:
    scene.commit(partitions=(0,))
    scene.after(DAY_MS).commit(partitions=(1,))
    scene.after(6 * DAY_MS + 600_000)
    assert (scene.committed(0), scene.committed(1)) == (-1, 5)
    scene.after(DAY_MS)

    assert scene.state() is None


@pytest.mark.requirement("COMMIT-25", "TIMER-14", "TR-032")
def test_an_empty_group_without_offsets_is_gone_at_the_next_cleanup(scene: Scene) -> None:
    scene.given_id()
    scene.after(599_999)
    assert scene.state() is EMPTY
    scene.after(1)

    assert scene.state() is None
    assert scene.coordinator.next_deadline_ms() is None


@pytest.mark.requirement("COMMIT-25")
def test_a_group_in_use_survives_the_cleanup(scene: Scene) -> None:
    (leader,) = scene.stable(1, session_ms=1_800_000)
    scene.after(700_000)

    assert scene.heartbeat(leader) is NONE
    assert "Cleanup/Stable/in-use" in scene.rules()
