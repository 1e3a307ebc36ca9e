"""A heartbeat whose records cannot be written: it gets an error answer, and the group keeps its previous state (CGL-15, CGA-26).

Kafka's `CoordinatorRuntime` reverts to its last snapshot where the log refuses an operation's records, or the operation throws. Timers are not in the
snapshot: timers that the heartbeat armed or cancelled stay so, except timers of members that no longer exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groupproof.coordinator.assignors.server_assignors import AssignorFailed
from groupproof.coordinator.machine.consumer.consumer_answers import error_answer
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup, StoredConsumerGroup
from groupproof.coordinator.machine.consumer.member_timers import end_timers
from groupproof.coordinator.machine.machine_outputs import AppliedRow
from groupproof.protocol.vocabulary import ErrorCode

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_event import ConsumerGroupEvent
    from groupproof.coordinator.machine.engine import Engine

__all__ = ["apply_unless_refused"]


def apply_unless_refused(engine: Engine, event: ConsumerGroupEvent) -> None:
    """Apply a heartbeat's row. Undo it where the log refuses its records (`event.refusal`), or where the assignor fails.

    A classic group that the heartbeat would convert is not undone: its own rows handle a refusal.
    """
    group: Any = event.group
    if group is not None and not isinstance(group, ConsumerGroup):
        engine.apply(event)
        return
    before, written = len(engine.out), None if group is None else group.copied(*_changing(group, event))
    try:
        engine.apply(event)
    except AssignorFailed:
        error, requirement = ErrorCode.UNKNOWN_SERVER_ERROR, "CGA-26"
    else:
        if not event.refusal or _is_as_written(engine, event, written):
            return
        error, requirement = event.refusal, "CGL-15"
    del engine.out[before:]
    _undo(engine, event, group, written)
    assert event.arrival is not None, "a heartbeat has a sender"
    engine.out.append(AppliedRow(event.arrival.token, event.group_id, f"{event.kind.value}/refused-write", requirement, event.member_id))
    engine.reply(event.arrival.token, error_answer(event, error, engine.fields))


def _changing(group: ConsumerGroup, event: ConsumerGroupEvent) -> tuple[str, ...]:
    """Return the members that a heartbeat may change: its own and the one that it replaces. Empty where a leave may convert the group."""
    if event.member_epoch < 0:
        return ()
    holder = group.holder_of(event.instance_id)
    return (event.member_id,) if holder is None else (event.member_id, holder.member_id)


def _is_as_written(engine: Engine, event: ConsumerGroupEvent, written: ConsumerGroup | None) -> bool:
    """Return whether the group still equals its records. No record contains `is_stale`."""
    after: Any = engine.groups.get(event.group_id)
    if after is None or written is None:
        return after is written
    looked, after.is_stale = after.is_stale, written.is_stale
    is_same = bool(after == written)
    after.is_stale = looked
    return is_same


def _undo(engine: Engine, event: ConsumerGroupEvent, group: ConsumerGroup | None, written: ConsumerGroup | None) -> None:
    """Restore the `written` state of the group."""
    group_id, stored = event.group_id, engine.partition(event.group_id).groups
    after: Any = engine.groups.pop(group_id, None)
    members = () if written is None else written.members
    for member_id in set() if after is None else set(after.member_ids()).difference(members):
        end_timers(engine, group_id, member_id)
    if written is None:
        stored.pop(group_id, None)
        event.group = None
        return
    engine.groups[group_id], event.group = written, written
    if group_id in stored or group is not after:
        stored[group_id] = StoredConsumerGroup(written)
