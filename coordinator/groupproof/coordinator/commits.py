"""OffsetCommit to partitions that do not exist: the broker refuses those (3) and asks the coordinator about the rest. Pure.

Source: Kafka's `KafkaApis.handleOffsetCommitRequest`; when nothing is left to ask about, the coordinator is not asked at all.
"""

from __future__ import annotations

from dataclasses import replace

from groupproof.coordinator.topics import Topics
from groupproof.protocol.messages import CommittedPartition, CommittedTopic, OffsetCommitRequest, OffsetCommitResponse
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["known_part", "with_unknown"]


def known_part(message: OffsetCommitRequest, topics: Topics) -> OffsetCommitRequest:
    """Return the request without the partitions that do not exist, and without topics that are then empty."""
    kept = []
    for topic in message.topics:
        found = topics.named(topic.name)
        partitions = tuple(each for each in topic.partitions if found is not None and found.log(each.partition_index) is not None)
        if partitions:
            kept.append(topic if len(partitions) == len(topic.partitions) else replace(topic, partitions=partitions))
    return message if tuple(kept) == message.topics else replace(message, topics=tuple(kept))


def with_unknown(message: OffsetCommitRequest, answer: OffsetCommitResponse) -> OffsetCommitResponse:
    """Return the answer to the known part completed to one for `message`, in its order."""
    codes = {(topic.name, each.partition_index): each.error_code for topic in answer.topics for each in topic.partitions}
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.value
    topics = (
        CommittedTopic(
            name=topic.name,
            partitions=tuple(
                CommittedPartition(partition_index=each.partition_index, error_code=codes.get((topic.name, each.partition_index), unknown))
                for each in topic.partitions
            ),
        )
        for topic in message.topics
    )
    return OffsetCommitResponse(topics=tuple(topics))
