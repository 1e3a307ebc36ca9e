"""A log that refuses records: what is answered, by release, and that nothing has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.coordinator.conftest import Scene

TIMED_OUT = ErrorCode.REQUEST_TIMED_OUT
TOO_LARGE = ErrorCode.MESSAGE_TOO_LARGE
FENCED = ErrorCode.FENCED_INSTANCE_ID


@pytest.mark.requirement("SYNC-11")
@pytest.mark.parametrize(("profile", "log", "answer"), [
    ("kafka-4.1", TIMED_OUT, 15), ("kafka-3.9", TIMED_OUT, 27), ("kafka-1.1", TIMED_OUT, 27),
    ("kafka-4.1", ErrorCode.KAFKA_STORAGE_ERROR, 16), ("kafka-3.9", ErrorCode.KAFKA_STORAGE_ERROR, 16),
    ("kafka-4.1", TOO_LARGE, -1), ("kafka-3.9", TOO_LARGE, -1), ("kafka-4.1", ErrorCode.OFFSET_OUT_OF_RANGE, 1),
])  # fmt: skip
def test_an_assignment_that_is_not_stored_is_answered_to_everyone(scene_of: Callable[..., Scene], profile: str, log: ErrorCode, answer: int) -> None:
    scene = scene_of(profile)
    leader, follower = scene.joined(2)
    parked = scene.sync(follower)
    scene.coordinator.append_error = log

    assert [scene.sync(leader).answer.error_code, parked.answer.error_code] == [answer] * 2
    assert scene.state() is GroupState.PREPARING_REBALANCE


@pytest.mark.parametrize(("profile", "log", "answer"), [
    ("kafka-4.1", TIMED_OUT, 15), ("kafka-3.9", TIMED_OUT, 7), ("kafka-4.1", TOO_LARGE, -1), ("kafka-3.9", TOO_LARGE, 28), ("kafka-1.1", TOO_LARGE, 28),
])  # fmt: skip
def test_offsets_that_the_log_refuses_are_not_stored(scene_of: Callable[..., Scene], profile: str, log: ErrorCode, answer: int) -> None:
    scene = scene_of(profile)
    scene.commit(offset=1)
    scene.coordinator.append_error = log
    assert scene.commit(offset=2, partitions=(0, 1)) == scene.txn_commit(offset=2, partitions=(0, 1), version=0) == [answer] * 2

    scene.coordinator.append_error = ErrorCode.NONE
    scene.end()
    assert (scene.committed(0), scene.committed(1)) == (1, -1)


@pytest.mark.requirement("TR-001")
@pytest.mark.parametrize("version", [3, 4])
def test_a_new_group_that_cannot_be_written_down_is_not_made(scene: Scene, version: int) -> None:
    scene.coordinator.append_error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    answer = scene.join(version=version).answer

    assert (answer.error_code, answer.member_id, answer.generation_id, answer.protocol_name) == (16, "", -1, "")
    assert scene.state() is None


def test_before_4_0_a_new_group_is_written_down_with_its_first_assignment(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-3.9")
    scene.coordinator.append_error = ErrorCode.NOT_LEADER_OR_FOLLOWER

    assert scene.join().is_parked
    assert scene.state() is GroupState.PREPARING_REBALANCE


@pytest.mark.requirement("TR-115", "STATIC-10")
@pytest.mark.parametrize(("profile", "answer"), [("kafka-4.1", 15), ("kafka-3.9", 27), ("kafka-2.8", 27)])
def test_an_instance_whose_return_cannot_be_written_down_stays_who_it_was(scene_of: Callable[..., Scene], profile: str, answer: int) -> None:
    scene = scene_of(profile)
    (member,) = scene.stable(0, instances=["a"], version=5)
    scene.coordinator.append_error = TIMED_OUT
    refused = scene.join(instance="a", version=7, protocols=("range", "sticky")).answer

    assert (refused.error_code, refused.member_id, refused.generation_id, refused.leader) == (answer, "", 1, member)
    assert (refused.protocol_name, refused.members, scene.members()) == ("range", (), [member])
    assert scene.heartbeat(member, instance="a") is ErrorCode.NONE
    scene.coordinator.append_error = ErrorCode.NONE
    assert scene.join(instance="a", version=7).error is ErrorCode.NONE
    assert scene.heartbeat(member, instance="a") is FENCED


def test_in_2_4_the_return_of_an_instance_is_not_written_down(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-2.4")
    scene.stable(0, instances=["a"], version=5)
    scene.coordinator.append_error = TIMED_OUT

    assert scene.join(instance="a", version=5).error is ErrorCode.NONE


@pytest.mark.parametrize(("log", "answer"), [
    (ErrorCode.INVALID_PRODUCER_ID_MAPPING, 49), (ErrorCode.INVALID_TXN_STATE, 48), (ErrorCode.NETWORK_EXCEPTION, 14),
    (ErrorCode.NOT_ENOUGH_REPLICAS, 15), (ErrorCode.NOT_LEADER_OR_FOLLOWER, 16), (ErrorCode.KAFKA_STORAGE_ERROR, 16),
])  # fmt: skip
@pytest.mark.parametrize("profile", ["kafka-4.1", "kafka-3.9"])
def test_what_the_transactions_coordinator_says(scene_of: Callable[..., Scene], profile: str, log: ErrorCode, answer: int) -> None:
    """testVerificationErrorsForTxnOffsetCommits."""
    scene = scene_of(profile)
    scene.coordinator.transaction_error = log

    assert scene.txn_commit(version=4) == [answer]
