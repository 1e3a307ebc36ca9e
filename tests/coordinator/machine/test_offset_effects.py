"""What happens to committed offsets beside OffsetCommit: deletion, transactions, retention, and a log that refuses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.coordinator.conftest import SUBSCRIBED

from groupproof.coordinator.machine.offset_effects import OFFSET_EFFECTS
from groupproof.protocol.rules import Effect
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.messages import CommitPartition, CommitTopic, OffsetCommitRequest, OffsetCommitResponse
from groupproof.protocol.wire.subscription import Subscription, encode_subscription

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.coordinator.conftest import Scene

NONE = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
ILLEGAL = ErrorCode.ILLEGAL_GENERATION
FENCED = ErrorCode.FENCED_INSTANCE_ID
UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT
SUBSCRIBED_TO = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
OTHER_TOPIC = encode_subscription(Subscription(topics=("u",)))
UNREADABLE = b"\0\0\0\0\0\1\0"
HOUR_MS = 3_600_000


def test_offset_effects_are_of_the_table() -> None:
    assert OFFSET_EFFECTS.keys() < set(Effect)


# OffsetDelete


def _deleted(scene: Scene, *partitions: int, topic: str = "t") -> tuple[int, list[int]]:
    answer = scene.delete_offsets(*partitions, topic=topic).answer
    return answer.error_code, [partition.error_code for topic in answer.topics for partition in topic.partitions]


@pytest.mark.requirement("COMMIT-23")
def test_of_an_empty_group_any_offset_is_deleted_whether_there_or_not(scene: Scene) -> None:
    scene.commit(partitions=(0, 1))
    assert _deleted(scene, 0, 7) == (0, [0, 0])

    assert (scene.committed(0), scene.committed(1)) == (-1, 5)


def test_a_live_consumer_group_keeps_the_offsets_of_its_topics(scene: Scene) -> None:
    (leader,) = scene.stable(metadata=OTHER_TOPIC)
    scene.commit(leader, 1)

    assert _deleted(scene, 0, topic="u") == (0, [SUBSCRIBED_TO])
    assert _deleted(scene, 0) == (0, [0])
    assert scene.committed() == -1


def test_what_counts_are_the_subscriptions_of_the_last_generation(scene: Scene) -> None:
    (leader,) = scene.stable(metadata=OTHER_TOPIC)
    scene.join()  # a newcomer with topic t: not yet
    assert _deleted(scene, 0) == (0, [0])

    scene.join(leader, metadata=OTHER_TOPIC)
    assert scene.state() is GroupState.COMPLETING_REBALANCE
    assert _deleted(scene, 0) == (0, [SUBSCRIBED_TO])


@pytest.mark.parametrize("metadata", [UNREADABLE, b""])
def test_with_subscriptions_that_cannot_be_read_every_topic_counts_as_subscribed(scene: Scene, metadata: bytes) -> None:
    scene.stable(metadata=metadata)

    assert _deleted(scene, 0) == (0, [SUBSCRIBED_TO])


def test_before_the_first_generation_every_topic_counts_as_subscribed(scene: Scene) -> None:
    scene.join(metadata=OTHER_TOPIC)

    assert _deleted(scene, 0) == (0, [SUBSCRIBED_TO])


@pytest.mark.requirement("ERR-18")
def test_a_live_group_of_another_type_keeps_everything_and_an_empty_one_nothing(scene: Scene) -> None:
    (leader,) = scene.stable(protocol_type="connect")
    scene.commit(leader, 1)
    assert _deleted(scene, 0) == (68, [])

    scene.leave(leader)
    assert _deleted(scene, 0) == (0, [0])
    assert scene.committed() == -1


@pytest.mark.requirement("ERR-18", "ERR-10")
def test_a_missing_group_and_one_without_name_have_nothing_to_delete(scene: Scene) -> None:
    assert _deleted(scene, 0) == (69, [])
    assert scene.delete_offsets(0, group="").error is ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize(("profile", "state"), [("kafka-4.1", GroupState.EMPTY), ("kafka-2.4", None)])
def test_before_4_0_a_group_dies_with_its_last_offset(scene_of: Callable[..., Scene], profile: str, state: GroupState | None) -> None:
    scene = scene_of(profile)
    scene.commit(partitions=(0, 1))
    _deleted(scene, 0)
    assert scene.state() is GroupState.EMPTY
    assert _deleted(scene, 1) == (0, [0])

    assert scene.state() is state


# Transactions


def _stable_offset(scene: Scene, partition: int = 0) -> tuple[int, int]:
    """Return error and offset for a reader that requires stable offsets."""
    (group,) = scene.fetch(partition, stable=True).answer.groups
    (fetched_partition,) = group.topics[0].partitions
    return fetched_partition.error_code, fetched_partition.committed_offset


@pytest.mark.requirement("COMMIT-03", "TR-029")
def test_a_transactional_commit_counts_when_its_transaction_is_committed(scene: Scene) -> None:
    scene.commit(offset=1)
    assert scene.txn_commit(offset=9) == [NONE]
    assert (scene.committed(), _stable_offset(scene), _stable_offset(scene, 1)) == (1, (UNSTABLE, -1), (NONE, -1))

    scene.end()
    assert (scene.committed(), _stable_offset(scene)) == (9, (NONE, 9))


@pytest.mark.requirement("COMMIT-03")
def test_an_aborted_transaction_leaves_nothing_and_a_marker_that_comes_late_changes_nothing(scene: Scene) -> None:
    scene.txn_commit(offset=9)
    scene.end(commit=False)
    assert _stable_offset(scene) == (NONE, -1)

    scene.end()
    assert scene.committed() == -1


def test_a_marker_ends_the_transaction_of_its_producer_alone(scene: Scene) -> None:
    scene.txn_commit(producer=1, partitions=(0,), offset=1)
    scene.txn_commit(producer=2, partitions=(1,), offset=2)
    scene.end(2)

    assert (_stable_offset(scene, 0), _stable_offset(scene, 1)) == ((UNSTABLE, -1), (NONE, 2))


def test_a_marker_ends_the_transaction_in_its_partition_alone(scene: Scene) -> None:
    scene.txn_commit(offset=1)
    scene.txn_commit(group="h", offset=2)
    scene.end(partition=3)

    assert (scene.committed(), scene.committed(group="h")) == (1, -1)


def test_of_two_commits_the_later_holds_whenever_the_transaction_ends(scene: Scene) -> None:
    scene.txn_commit(offset=1)
    scene.commit(offset=2)
    scene.end()

    assert scene.committed() == 2


def test_pending_offsets_of_a_partition_never_committed_are_not_among_everything(scene: Scene) -> None:
    scene.commit(partitions=(0,))
    scene.txn_commit(partitions=(0, 1))
    (group,) = scene.fetch(stable=True).answer.groups

    assert [(partition.partition_index, partition.error_code) for partition in group.topics[0].partitions] == [(0, UNSTABLE)]


@pytest.mark.requirement("STATIC-10", "STATIC-11")
def test_a_transactional_commit_that_names_a_member_must_be_of_the_current_generation(scene: Scene) -> None:
    dynamic, static = scene.joined(1, instances=["a"], version=3)
    assert scene.state() is GroupState.COMPLETING_REBALANCE
    refused = [
        scene.txn_commit(dynamic, 1, instance="a"), scene.txn_commit("", 1, instance="a"), scene.txn_commit(dynamic, 1, instance="x"),
        scene.txn_commit("x", 1), scene.txn_commit(dynamic, 2), scene.txn_commit(dynamic, -1),
    ]  # fmt: skip

    assert refused == [[FENCED], [FENCED], [UNKNOWN], [UNKNOWN], [ILLEGAL], [ILLEGAL]]
    assert scene.txn_commit(static, 1, instance="a") == scene.txn_commit(dynamic, 1) == scene.txn_commit() == [NONE]


@pytest.mark.requirement("COMMIT-03")
@pytest.mark.parametrize("profile", ["kafka-1.1", "kafka-2.4"])
def test_before_2_5_a_transactional_commit_is_stored_whoever_sends_it(scene_of: Callable[..., Scene], profile: str) -> None:
    scene = scene_of(profile)
    scene.stable()

    assert scene.txn_commit("x", 9, version=2) == [NONE]
    assert scene.txn_commit("x", 9, group="h", version=2) == [NONE]


def test_a_transactional_commit_keeps_no_member_alive(scene: Scene) -> None:
    (leader,) = scene.stable()
    scene.after(9_999)
    scene.txn_commit(leader, 1)
    scene.after(1)

    assert scene.state() is GroupState.EMPTY


@pytest.mark.requirement("FIND-10", "ERR-10")
@pytest.mark.parametrize(("version", "error"), [(0, ErrorCode.COORDINATOR_NOT_AVAILABLE), (1, ErrorCode.COORDINATOR_NOT_AVAILABLE),
                                                (2, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)])  # fmt: skip
def test_an_old_producer_does_not_get_coordinator_load_in_progress(scene: Scene, version: int, error: ErrorCode) -> None:
    scene.coordinator.begin_load(3)

    assert scene.txn_commit(version=version) == [error]
    assert scene.txn_commit(group="", version=version) == [ErrorCode.INVALID_GROUP_ID]


@pytest.mark.requirement("COMMIT-03")
def test_a_transaction_that_its_coordinator_does_not_confirm_is_refused(scene: Scene) -> None:
    scene.coordinator.transaction_error = ErrorCode.INVALID_TXN_STATE

    assert scene.txn_commit(partitions=(0, 1)) == [ErrorCode.INVALID_TXN_STATE] * 2
    assert scene.state() is None


@pytest.mark.requirement("COMMIT-03")
def test_without_verification_a_transaction_is_still_confirmed_to_who_begins_it_by_the_commit(scene_of: Callable[..., Scene]) -> None:
    """Measured on 4.1.0."""
    scene = scene_of("kafka-4.1", transaction_partition_verification_enable=0)
    scene.coordinator.transaction_error = ErrorCode.COORDINATOR_NOT_AVAILABLE

    assert scene.txn_commit(version=5) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert scene.txn_commit(version=4) == [NONE]


@pytest.mark.requirement("COMMIT-03")
def test_a_transaction_under_way_in_the_partition_is_confirmed_by_the_log_until_it_ends(scene: Scene) -> None:
    """Measured on 4.1.0."""
    assert scene.txn_commit() == [NONE]
    scene.coordinator.transaction_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    scene.coordinator.load(3, scene.coordinator.stored(3), scene.now_ms)

    assert scene.txn_commit() == [NONE]
    assert scene.txn_commit(producer=2) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]

    scene.end()
    assert scene.txn_commit() == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_in_3_9_the_group_of_a_transaction_that_is_not_confirmed_is_made_all_the_same(scene_of: Callable[..., Scene]) -> None:
    """Measured on 3.9.1."""
    scene = scene_of("kafka-3.9")
    scene.coordinator.transaction_error = ErrorCode.COORDINATOR_NOT_AVAILABLE

    assert scene.txn_commit() == scene.txn_commit("x", 1) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert (scene.state(), scene.committed()) == (GroupState.EMPTY, -1)


def test_metadata_that_is_too_long_refuses_its_partition_alone(scene: Scene) -> None:
    assert scene.txn_commit(metadata="x" * 4097) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert scene.txn_commit(metadata="x" * 4096) == [NONE]


@pytest.mark.requirement("COMMIT-29")
def test_what_is_pending_moves_with_its_partition(scene: Scene) -> None:
    scene.txn_commit(offset=1)
    scene.commit(offset=2)
    stored = scene.coordinator.stored(3)
    scene.take(scene.coordinator.unload(3, scene.now_ms))
    scene.take(scene.coordinator.load(3, stored, scene.now_ms))
    assert _stable_offset(scene) == (UNSTABLE, -1)

    scene.end()
    assert scene.committed() == 2
    scene.txn_commit(offset=3)
    scene.end()
    assert scene.committed() == 3


def test_deleting_offsets_or_their_group_forgets_what_is_pending(scene: Scene) -> None:
    scene.txn_commit(partitions=(0, 1))
    scene.delete_offsets(0)
    scene.end()
    assert (scene.committed(0), scene.committed(1)) == (-1, 5)

    scene.txn_commit(partitions=(2,))
    assert scene.delete() == {"g": NONE}
    scene.end()
    assert (scene.state(), scene.committed(2)) == (None, -1)


# Retention


@pytest.mark.requirement("COMMIT-24", "COMMIT-26")
def test_offsets_of_a_group_that_was_emptied_expire_together_counted_from_then(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(offsets_retention_minutes=60, offsets_retention_check_interval_ms=1_000)
    (leader,) = scene.stable()
    scene.commit(leader, 1)
    scene.after(5_000)
    scene.leave(leader)
    scene.after(HOUR_MS - 1_000)
    assert (scene.committed(), scene.state()) == (5, GroupState.EMPTY)

    scene.after(1_000)
    assert (scene.committed(), scene.state()) == (-1, None)


@pytest.mark.requirement("COMMIT-26")
def test_in_1_1_an_offset_expires_counted_from_its_commit_in_a_live_group_too(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-1.1", offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000, group_max_session_timeout_ms=700_000)
    (leader,) = scene.stable(session_ms=700_000)
    scene.commit(leader, 1, partitions=(0,))
    scene.after(30_000)
    scene.commit(leader, 1, partitions=(1,))
    scene.after(30_000)

    assert (scene.committed(0), scene.committed(1), scene.state()) == (-1, 5, GroupState.STABLE)


@pytest.mark.requirement("COMMIT-26")
@pytest.mark.parametrize(("metadata", "kept"), [(SUBSCRIBED, True), (OTHER_TOPIC, False), (UNREADABLE, True)])
def test_of_a_stable_group_only_topics_that_nobody_subscribes_to_expire(scene_of: Callable[..., Scene], metadata: bytes, kept: bool) -> None:
    scene = scene_of(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    (leader,) = scene.stable(session_ms=700_000, metadata=metadata)
    scene.commit(leader, 1)
    scene.after(60_000)

    assert (scene.committed() == 5) is kept
    assert scene.state() is GroupState.STABLE


@pytest.mark.parametrize(("profile", "kept"), [("kafka-4.1", True), ("kafka-2.4", False)])
def test_from_2_8_2_on_nothing_expires_while_the_group_rebalances(scene_of: Callable[..., Scene], profile: str, kept: bool) -> None:
    scene = scene_of(profile, offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    (leader,) = scene.stable(session_ms=700_000, metadata=OTHER_TOPIC)
    scene.commit(leader, 1)
    scene.join(session_ms=700_000, metadata=OTHER_TOPIC)
    scene.after(60_000)

    assert (scene.state(), scene.committed() == 5) == (GroupState.PREPARING_REBALANCE, kept)


@pytest.mark.parametrize("profile", ["kafka-1.1", "kafka-2.4", "kafka-3.9"])
def test_the_coordinator_in_scala_expires_what_is_stored_beside_an_open_transaction(scene_of: Callable[..., Scene], profile: str) -> None:
    scene = scene_of(profile, offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    scene.commit()
    scene.txn_commit(offset=9)
    scene.after(120_000)
    assert (scene.committed(), scene.state()) == (-1, GroupState.EMPTY)

    scene.end()
    assert scene.committed() == 9


@pytest.mark.requirement("TR-032", "TR-033")
def test_an_open_transaction_keeps_the_offset_and_the_group(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    scene.commit(partitions=(0, 1))
    scene.txn_commit(partitions=(0,), offset=9)
    scene.after(120_000)
    assert (scene.committed(0), scene.committed(1), scene.state()) == (5, -1, GroupState.EMPTY)

    scene.end(commit=False)
    scene.after(1_000)
    assert scene.state() is None


@pytest.mark.requirement("COMMIT-26")
@pytest.mark.parametrize("retention_ms", [0, 10_000])
def test_a_commit_of_v2_to_v4_may_name_its_own_retention(scene_of: Callable[..., Scene], retention_ms: int) -> None:
    scene = scene_of(offsets_retention_minutes=60, offsets_retention_check_interval_ms=1_000)
    topics = (CommitTopic(name="t", partitions=(CommitPartition(partition_index=0, committed_offset=5),)),)
    scene.send(OffsetCommitRequest(group_id="g", retention_time_ms=retention_ms, topics=topics), 4, OffsetCommitResponse)
    scene.commit(partitions=(1,))
    scene.after(9_999)
    assert (scene.committed(0), scene.committed(1)) == (5 if retention_ms else -1, 5)
    scene.after(1)

    assert (scene.committed(0), scene.committed(1)) == (-1, 5)


@pytest.mark.requirement("FIND-08")
def test_in_version_1_a_fetch_repeats_the_error_on_every_partition(scene: Scene) -> None:
    scene.take(scene.coordinator.unload(3, 0))  # the partition of group g
    (group,) = scene.fetch(0, 1, version=1).answer.groups

    assert [partition.error_code for partition in group.topics[0].partitions] == [16, 16]
