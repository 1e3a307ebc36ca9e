"""The effects on committed offsets: stored, pending within a transaction, deleted, expired. Nothing else changes a group's offsets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.answers import is_too_long
from groupproof.protocol.rules.classic.classic_terms import Effect
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import OffsetDeleteRequest, TxnOffsetCommitRequest

if TYPE_CHECKING:
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.event import Input
    from groupproof.coordinator.machine.offsets import Committed
    from groupproof.protocol.rules.cells import EffectName
    from groupproof.protocol.vocabulary import TopicPartition
    from groupproof.protocol.wire.messages import CommitPartition

__all__ = ["OFFSET_EFFECTS", "storable"]


def _wanted(on: Input) -> list[tuple[str, CommitPartition]]:
    """Return what the commit may store: nothing while the log refuses records."""
    return [] if on.refusal is not ErrorCode.NONE else storable(on)


def storable(on: Input) -> list[tuple[str, CommitPartition]]:
    """Return what the commit would have stored: no metadata that is too long (COMMIT-28)."""
    longest = on.settings.offset_metadata_max_bytes
    partitions = ((topic.name, each) for topic in on.commit.topics for each in topic.partitions)
    return [(name, each) for name, each in partitions if not is_too_long(each.committed_metadata, longest)]


def _store_offsets(engine: EffectContext, on: Input) -> None:
    offsets, retention_ms = engine.offsets(on.group_id), getattr(on.commit, "retention_time_ms", -1)
    for topic, partition in _wanted(on):
        offsets.commit(topic, partition, on.now_ms, expires_ms=None if retention_ms < 0 else on.now_ms + retention_ms)


def _store_pending_offsets(engine: EffectContext, on: Input) -> None:
    offsets, asked = engine.offsets(on.group_id), on.commit
    assert isinstance(asked, TxnOffsetCommitRequest)
    for topic, partition in _wanted(on):
        offsets.commit_pending(asked.producer_id, topic, partition, on.now_ms)
        engine.partition(on.group_id).transactions.add(asked.producer_id)


def _materialise_offsets(engine: EffectContext, on: Input) -> None:
    engine.offsets(on.group_id).materialise(on.producer_id)


def _materialise_over_later_offsets(engine: EffectContext, on: Input) -> None:
    engine.offsets(on.group_id).materialise(on.producer_id, over_later=True)


def _drop_pending_offsets(engine: EffectContext, on: Input) -> None:
    engine.offsets(on.group_id).drop_pending(on.producer_id)


def _named_for_deletion(on: Input) -> list[TopicPartition]:
    assert isinstance(on.request, OffsetDeleteRequest)
    return [
        (topic.name, each.partition_index) for topic in on.request.topics if not on.here.is_subscribed_to(topic.name) for each in topic.partitions
    ]


def _delete_offsets(engine: EffectContext, on: Input) -> None:
    for topic, index in _named_for_deletion(on):
        engine.offsets(on.group_id).delete(topic, index)


def _delete_stored_offsets(engine: EffectContext, on: Input) -> None:
    for key in _named_for_deletion(on):
        engine.offsets(on.group_id).by_partition.pop(key, None)


def _expire(engine: EffectContext, on: Input, since_ms: Callable[[Committed], int], is_kept: Callable[[str], bool] | None = None) -> None:
    """Remove what is older than the retention, but not of a topic that is kept; `since_ms` tells from when the retention counts.

    The coordinator in Java spares partitions with a pending offset, the one in Scala removes what is stored of them; what is pending stays.
    """
    offsets, retention_ms = engine.offsets(on.group_id), engine.settings.offsets_retention_ms
    spares_pending = bool(engine.fields["expiry_spares_pending"])
    for (topic, index), committed in tuple(offsets.by_partition.items()):
        due_ms = since_ms(committed) + retention_ms if committed.expires_ms is None else committed.expires_ms
        is_spared = (spares_pending and offsets.is_pending(topic, index)) or (is_kept is not None and is_kept(topic))
        if due_ms <= on.now_ms and not is_spared:
            del offsets.by_partition[topic, index]


def _expire_by_commit(engine: EffectContext, on: Input) -> None:
    _expire(engine, on, lambda committed: committed.at_ms)


def _expire_since_empty(engine: EffectContext, on: Input) -> None:
    _expire(engine, on, lambda _: on.here.since_ms)


def _expire_unsubscribed(engine: EffectContext, on: Input) -> None:
    _expire(engine, on, lambda committed: committed.at_ms, on.here.is_subscribed_to)


def _delete_records(engine: EffectContext, on: Input) -> None:
    engine.partition(on.group_id).forget(on.group_id)


OFFSET_EFFECTS: Final[Mapping[EffectName, Callable[[EffectContext, Input], None]]] = {
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
