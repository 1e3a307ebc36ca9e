"""Commits by the epoch of a partition's assignment (KIP-1251).

A member at a newer epoch may still commit the partitions that it kept (CGO-04 to CGO-09).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.answers import is_too_long
from groupproof.coordinator.machine.consumer.consumer_event import group_of
from groupproof.coordinator.machine.consumer.consumer_guards import members_of_commit
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEffect
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import (
    CommittedPartition,
    CommittedTopic,
    OffsetCommitRequest,
    OffsetCommitResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_event import ConsumerGroupEvent
    from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.protocol.rules.cells import EffectName
    from groupproof.protocol.wire.messages import CommitPartition

__all__ = ["EPOCH_COMMITS", "committed_by_epoch"]


def _is_stale(event: ConsumerGroupEvent) -> bool:
    """Return whether the epoch is too old for one of the partitions. Kafka then refuses the whole commit (CGO-09).

    OffsetMetadataManager.commitOffset throws. It does not check the epoch of a partition with too long metadata.
    """
    member_id, epoch = members_of_commit(event)
    group = group_of(event)
    member = group.members[member_id]
    for topic in event.commit.topics:
        image = group.topics.get(topic.name)
        for partition in topic.partitions:
            if _is_too_long(event, partition):
                continue
            since = None if image is None else _since(member, image.topic_id, partition.partition_index)
            if since is None or epoch < since:
                return True
    return False


def _code(event: ConsumerGroupEvent, partition: CommitPartition, *, is_stale: bool) -> ErrorCode:
    if is_stale:
        member = group_of(event).members[members_of_commit(event)[0]]
        is_of_consumer = isinstance(event.request, OffsetCommitRequest) and member.classic is None
        return ErrorCode.STALE_MEMBER_EPOCH if is_of_consumer else ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.OFFSET_METADATA_TOO_LARGE if _is_too_long(event, partition) else event.refusal


def _is_too_long(event: ConsumerGroupEvent, partition: CommitPartition) -> bool:
    return is_too_long(partition.committed_metadata, event.settings.offset_metadata_max_bytes)


def _since(member: ConsumerMember, topic_id: str, index: int) -> int | None:
    """Return the epoch of the partition's assignment to the member. The member may be about to revoke it (`createAssignmentEpochValidator`)."""
    since = member.assigned.get(topic_id, {}).get(index)
    return member.pending.get(topic_id, {}).get(index) if since is None else since


def committed_by_epoch(event: ConsumerGroupEvent) -> OffsetCommitResponse | TxnOffsetCommitResponse:
    """Return the commit's answer, with an error code for each partition."""
    is_stale = _is_stale(event)
    topics = tuple(
        CommittedTopic(
            name=topic.name,
            partitions=tuple(
                CommittedPartition(partition_index=partition.partition_index, error_code=_code(event, partition, is_stale=is_stale))
                for partition in topic.partitions
            ),
        )
        for topic in event.commit.topics
    )
    return OffsetCommitResponse(topics=topics) if isinstance(event.request, OffsetCommitRequest) else TxnOffsetCommitResponse(topics=topics)


def _accepted(event: ConsumerGroupEvent) -> Iterator[tuple[str, CommitPartition]]:
    partitions = ((topic.name, partition) for topic in event.commit.topics for partition in topic.partitions)
    is_stale = _is_stale(event)
    return ((name, partition) for name, partition in partitions if not _code(event, partition, is_stale=is_stale))


def _store_committed(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    for topic, partition in _accepted(event):
        engine.offsets(event.group_id).commit(topic, partition, event.now_ms)


def _store_pending(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    asked = event.commit
    assert isinstance(asked, TxnOffsetCommitRequest)
    for topic, partition in _accepted(event):
        engine.offsets(event.group_id).commit_pending(asked.producer_id, topic, partition, event.now_ms)
        engine.partition(event.group_id).transactions.add(asked.producer_id)


EPOCH_COMMITS: Final[Mapping[EffectName, Callable[[Any, Any], None]]] = {
    ConsumerEffect.STORE_COMMITTED_BY_EPOCH: _store_committed,
    ConsumerEffect.STORE_PENDING_BY_EPOCH: _store_pending,
}
