"""The effects on committed offsets: store, hold as pending in a transaction, delete, expire. Nothing else changes a group's offsets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.answers import is_too_long
from groupproof.coordinator.machine.storage import partition_of
from groupproof.protocol.rules.classic.classic_terms import Effect
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import OffsetDeleteRequest, TxnOffsetCommitRequest

if TYPE_CHECKING:
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.engine import Engine
    from groupproof.coordinator.machine.event import Event
    from groupproof.coordinator.machine.offsets import CommittedOffset
    from groupproof.protocol.rules.cells import EffectName
    from groupproof.protocol.vocabulary import TopicPartition
    from groupproof.protocol.wire.messages import CommitPartition

__all__ = ["OFFSET_EFFECTS", "record_transaction_error", "storable"]


def record_transaction_error(engine: Engine, event: Event, error: ErrorCode) -> None:
    """Record the error of a commit whose transaction is not under way.

    The error comes from the transaction coordinator, or from the log where the transaction coordinator is not asked (3.7, UnifiedLog).
    """
    if _is_under_way(engine, event):
        return
    if error:
        event.verdict = engine.answer_to(event.kind, error)
    if event.settings.transaction_partition_verification_enable and storable(event):
        event.refusal = event.refusal or ErrorCode(engine.fields["unverified_error"])


def _is_under_way(engine: Engine, event: Event) -> bool:
    """Return whether the log knows the transaction, so that no verification is needed (UnifiedLog.maybeStartTransactionVerification)."""
    commit = event.request
    assert isinstance(commit, TxnOffsetCommitRequest)
    state = engine.partitions.get(partition_of(event.group_id, event.settings.offsets_topic_num_partitions))
    return state is not None and commit.producer_id in state.transactions


def _wanted(event: Event) -> list[tuple[str, CommitPartition]]:
    """Return the offsets that the commit stores: none while the log refuses records."""
    return [] if event.refusal is not ErrorCode.NONE else storable(event)


def storable(event: Event) -> list[tuple[str, CommitPartition]]:
    """Return the offsets whose metadata is not too long (COMMIT-28)."""
    longest = event.settings.offset_metadata_max_bytes
    partitions = ((topic.name, partition) for topic in event.commit.topics for partition in topic.partitions)
    return [(name, partition) for name, partition in partitions if not is_too_long(partition.committed_metadata, longest)]


def _store_offsets(engine: EffectContext, event: Event) -> None:
    offsets, retention_ms = engine.offsets(event.group_id), getattr(event.commit, "retention_time_ms", -1)
    for topic, partition in _wanted(event):
        offsets.commit(topic, partition, event.now_ms, expires_ms=None if retention_ms < 0 else event.now_ms + retention_ms)


def _store_pending_offsets(engine: EffectContext, event: Event) -> None:
    offsets, asked = engine.offsets(event.group_id), event.commit
    assert isinstance(asked, TxnOffsetCommitRequest)
    for topic, partition in _wanted(event):
        offsets.commit_pending(asked.producer_id, topic, partition, event.now_ms)
        engine.partition(event.group_id).transactions.add(asked.producer_id)


def _materialise_offsets(engine: EffectContext, event: Event) -> None:
    engine.offsets(event.group_id).materialise(event.producer_id)


def _materialise_over_later_offsets(engine: EffectContext, event: Event) -> None:
    engine.offsets(event.group_id).materialise(event.producer_id, over_later=True)


def _drop_pending_offsets(engine: EffectContext, event: Event) -> None:
    engine.offsets(event.group_id).drop_pending(event.producer_id)


def _named_for_deletion(event: Event) -> list[TopicPartition]:
    assert isinstance(event.request, OffsetDeleteRequest)
    return [
        (topic.name, partition.partition_index)
        for topic in event.request.topics
        if not event.subscribed_group.is_subscribed_to(topic.name)
        for partition in topic.partitions
    ]


def _delete_offsets(engine: EffectContext, event: Event) -> None:
    for topic, index in _named_for_deletion(event):
        engine.offsets(event.group_id).delete(topic, index)


def _delete_stored_offsets(engine: EffectContext, event: Event) -> None:
    for key in _named_for_deletion(event):
        engine.offsets(event.group_id).by_partition.pop(key, None)


def _expire(engine: EffectContext, event: Event, since_ms: Callable[[CommittedOffset], int], is_kept: Callable[[str], bool] | None = None) -> None:
    """Remove the offsets that are older than the retention, except of topics that `is_kept`. `since_ms` returns when an offset's retention starts.

    Kafka's Java coordinator spares partitions with a pending offset. The Scala coordinator removes their stored offset; the pending one stays.
    """
    offsets, retention_ms = engine.offsets(event.group_id), engine.settings.offsets_retention_ms
    spares_pending = bool(engine.fields["expiry_spares_pending"])
    for (topic, index), committed in tuple(offsets.by_partition.items()):
        due_ms = since_ms(committed) + retention_ms if committed.expires_ms is None else committed.expires_ms
        is_spared = (spares_pending and offsets.is_pending(topic, index)) or (is_kept is not None and is_kept(topic))
        if due_ms <= event.now_ms and not is_spared:
            del offsets.by_partition[topic, index]


def _expire_by_commit(engine: EffectContext, event: Event) -> None:
    _expire(engine, event, lambda committed: committed.at_ms)


def _expire_since_empty(engine: EffectContext, event: Event) -> None:
    _expire(engine, event, lambda _: event.subscribed_group.since_ms)


def _expire_unsubscribed(engine: EffectContext, event: Event) -> None:
    _expire(engine, event, lambda committed: committed.at_ms, event.subscribed_group.is_subscribed_to)


def _delete_records(engine: EffectContext, event: Event) -> None:
    engine.partition(event.group_id).forget(event.group_id)


OFFSET_EFFECTS: Final[Mapping[EffectName, Callable[[EffectContext, Event], None]]] = {
    Effect.STORE_OFFSETS: _store_offsets,
    Effect.STORE_PENDING_OFFSETS: _store_pending_offsets,
    Effect.MATERIALISE_OFFSETS: _materialise_offsets,
    Effect.MATERIALISE_OVER_LATER_OFFSETS: _materialise_over_later_offsets,
    Effect.DROP_PENDING_OFFSETS: _drop_pending_offsets,
    Effect.DELETE_OFFSETS: _delete_offsets,
    Effect.DELETE_STORED_OFFSETS: _delete_stored_offsets,
    Effect.EXPIRE_BY_COMMIT: _expire_by_commit,
    Effect.EXPIRE_SINCE_EMPTY: _expire_since_empty,
    Effect.EXPIRE_UNSUBSCRIBED: _expire_unsubscribed,
    Effect.DELETE_RECORDS: _delete_records,
}
