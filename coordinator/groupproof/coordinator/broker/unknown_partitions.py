"""Offset requests for partitions that do not exist: the broker refuses those (3) and asks the coordinator about the rest. Pure.

Sources: Kafka's `KafkaApis.handleOffsetCommitRequest`, `handleTxnOffsetCommitRequest` and `handleOffsetDeleteRequest`. A commit without existing
partitions does not reach the coordinator. A deletion always does. Where the whole group gets an error, the answer has only that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar, cast

from groupproof.coordinator.broker.topics import Topics
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import (
    CommittedPartition,
    CommittedTopic,
    DeletedOffset,
    DeletedOffsetTopic,
    GroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

__all__ = ["OFFSET_REQUESTS", "OffsetRequest", "existing_part", "refused_wholly", "with_unknown"]

OffsetRequest = OffsetCommitRequest | TxnOffsetCommitRequest | OffsetDeleteRequest
OFFSET_REQUESTS = (OffsetCommitRequest, TxnOffsetCommitRequest, OffsetDeleteRequest)
Asked = TypeVar("Asked", bound=OffsetRequest)


def existing_part(message: Asked, topics: Topics, *, by_partition: bool = True) -> Asked:
    """Return the request without the partitions that do not exist, and without topics that become empty.

    Without `by_partition`, every partition of an existing topic counts as existing (before 2.0).
    """
    kept: list[Any] = []
    for topic in message.topics:
        found = topics.named(topic.name)
        partitions = tuple(
            partition
            for partition in topic.partitions
            if found is not None and (not by_partition or found.log(partition.partition_index) is not None)
        )
        if partitions:
            kept.append(topic if len(partitions) == len(topic.partitions) else replace(cast(Any, topic), partitions=partitions))
    return message if tuple(kept) == message.topics else replace(message, topics=cast(Any, tuple(kept)))


def refused_wholly(message: OffsetRequest, existing: OffsetRequest) -> GroupResponse | None:
    """Return the answer where no partition is left for the coordinator, else None."""
    if existing.topics or isinstance(message, OffsetDeleteRequest):
        return None
    return with_unknown(message, OffsetCommitResponse() if isinstance(message, OffsetCommitRequest) else TxnOffsetCommitResponse())


def with_unknown(
    message: OffsetRequest, answer: GroupResponse, *, existing: OffsetRequest | None = None, repeats_topics: bool = False
) -> GroupResponse:
    """Return the answer to the `existing` part, completed to one for `message`, in its order. Existing partitions without an answer stay without one.

    With `repeats_topics` a deletion's topic is repeated for each of its partitions (before 2.6).
    """
    assert isinstance(answer, OffsetCommitResponse | TxnOffsetCommitResponse | OffsetDeleteResponse)
    codes = {(topic.name, partition.partition_index): partition.error_code for topic in answer.topics for partition in topic.partitions}
    unanswered = {
        (topic.name, partition.partition_index) for topic in (existing.topics if existing else ()) for partition in topic.partitions
    } - codes.keys()

    def code(topic: str, index: int) -> int:
        return codes.get((topic, index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.value)

    asked = [
        (topic.name, [at for partition in topic.partitions if (topic.name, at := partition.partition_index) not in unanswered])
        for topic in message.topics
    ]
    if isinstance(answer, OffsetDeleteResponse):
        if answer.error_code:
            return answer
        deleted = (
            DeletedOffsetTopic(name=name, partitions=tuple(DeletedOffset(partition_index=index, error_code=code(name, index)) for index in indexes))
            for name, indexes in asked
            for _ in range(len(indexes) if repeats_topics else 1)
        )
        return OffsetDeleteResponse(topics=tuple(deleted))
    committed = (
        CommittedTopic(name=name, partitions=tuple(CommittedPartition(partition_index=index, error_code=code(name, index)) for index in indexes))
        for name, indexes in asked
    )
    return type(answer)(topics=tuple(committed))
