"""Every effect of the classic table, as a function of the engine and the event. Nothing else changes a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.answers import own_assignment, sync_error
from groupproof.coordinator.machine.event import Event
from groupproof.coordinator.machine.join_effects import JOIN_EFFECTS, evict, parked_request, refuse_join
from groupproof.coordinator.machine.offset_effects import OFFSET_EFFECTS
from groupproof.coordinator.machine.timers import TimerKey, session_of
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import LeaveGroupRequest, LeftMember

if TYPE_CHECKING:
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.group import Group
    from groupproof.coordinator.machine.members import Member
    from groupproof.protocol.rules.cells import EffectName
    from groupproof.protocol.wire.messages import LeaveMember

__all__ = ["EFFECTS", "mark_synced"]


# Syncing -------------------------------------------------------------------------------------------------------------------------


def _park_sync(engine: EffectContext, event: Event) -> None:
    event.existing_group.members.park_sync(event.member, parked_request(event))


def _mark_synced(engine: EffectContext, event: Event) -> None:
    mark_synced(engine, event.existing_group, event.member_id)


def mark_synced(engine: EffectContext, group: Group, member_id: str) -> None:
    """Mark a member as synced. The last one ends the sync deadline."""
    unsynced = group.members.unsynced
    unsynced.pop(member_id, None)
    if not unsynced:
        engine.timers.cancel(TimerKey(ClassicEvent.SYNC_DEADLINE, group.group_id))


def _store_assignment(engine: EffectContext, event: Event) -> None:
    assignment = {assignment.member_id: assignment.assignment for assignment in event.sync.assignments}
    failed = event.refusal is not ErrorCode.NONE
    if not failed:
        engine.partition(event.group_id).groups[event.group_id] = event.existing_group.stored(assignment)
    outcome = Event(
        kind=ClassicEvent.APPEND_FAILED if failed else ClassicEvent.APPENDED, now_ms=event.now_ms, settings=event.settings, group_id=event.group_id, group=event.group,
        generation=event.generation,
    )  # fmt: skip
    outcome.assignment, outcome.error = assignment, event.refusal
    engine.apply(outcome)


def _assign(engine: EffectContext, event: Event) -> None:
    assignment = event.assignment or {}
    for member in event.existing_group.members:
        member.assignment = assignment.get(member.member_id, b"")  # entries of other ids are ignored (SYNC-08)


def _answer_syncs(engine: EffectContext, event: Event) -> None:
    for member in event.existing_group.members:
        parked = event.existing_group.members.park_sync(member, None)
        if parked is not None:
            engine.reply(parked.token, own_assignment(event.existing_group, member))
            engine.timers.arm(session_of(event.group_id, member.member_id), event.now_ms + member.session_timeout_ms)


def _fail_syncs(engine: EffectContext, event: Event, error: ErrorCode | None = None) -> None:
    for member in event.existing_group.members:
        member.assignment = b""
        parked = event.existing_group.members.park_sync(member, None)
        if parked is not None:
            engine.reply(parked.token, sync_error(event.error if error is None else error))
            engine.timers.arm(session_of(event.group_id, member.member_id), event.now_ms + member.session_timeout_ms)
    _end_sync_deadline(engine, event)


def _abort_syncs(engine: EffectContext, event: Event) -> None:
    _fail_syncs(engine, event, ErrorCode.REBALANCE_IN_PROGRESS)


def _end_sync_deadline(engine: EffectContext, event: Event) -> None:
    event.existing_group.members.unsynced.clear()
    engine.timers.cancel(TimerKey(ClassicEvent.SYNC_DEADLINE, event.group_id))


def _evict_unsynced(engine: EffectContext, event: Event) -> None:
    for member_id in tuple(event.existing_group.members.unsynced):
        evict(engine, event.existing_group, member_id)


# Sessions and leaving ------------------------------------------------------------------------------------------------------------


def _refresh_session(engine: EffectContext, event: Event) -> None:
    engine.timers.arm(session_of(event.group_id, event.member_id), event.now_ms + event.member.session_timeout_ms)


def _refresh_session_sparing_newcomers(engine: EffectContext, event: Event) -> None:
    if event.member.is_new and event.member.join is not None:
        engine.timers.cancel(session_of(event.group_id, event.member_id))
    else:
        _refresh_session(engine, event)


def _restart_sessions(engine: EffectContext, event: Event) -> None:
    for member in event.existing_group.members:
        engine.timers.arm(session_of(event.group_id, member.member_id), event.now_ms + member.session_timeout_ms)


def _named(event: Event) -> Member:
    """Return the member that the event names: by instance id where it has no member id (LEAVE-53)."""
    members = event.existing_group.members
    return members.by_id[event.member_id or members.instances[event.instance_id or ""]]


def _tell_removed(engine: EffectContext, event: Event) -> None:
    member = _named(event)
    if member.join is not None:
        refuse_join(engine, member.join, ErrorCode.UNKNOWN_MEMBER_ID, "")  # LEAVE-08


def _remove(engine: EffectContext, event: Event) -> None:
    evict(engine, event.existing_group, _named(event).member_id)


def _drop_pending(engine: EffectContext, event: Event) -> None:
    evict(engine, event.existing_group, event.member_id)


def _drop_evicted(engine: EffectContext, event: Event) -> None:
    event.existing_group.members.evicted.pop(event.member_id, None)


def _leave_one(engine: EffectContext, event: Event, entry: LeaveMember) -> bool:
    """Process one entry of a LeaveGroup; return whether its member was removed."""
    named = Event(
        kind=ClassicEvent.LEAVE_ENTRY, now_ms=event.now_ms, settings=event.settings, group_id=event.group_id, group=event.group, arrival=event.arrival,
        member_id=entry.member_id, instance_id=entry.group_instance_id,
    )  # fmt: skip
    row = engine.apply(named)
    assert isinstance(row.answer, ErrorCode)
    event.left += (LeftMember(member_id=entry.member_id, group_instance_id=entry.group_instance_id, error_code=row.answer),)
    return row.answer is ErrorCode.NONE


def _settle_left(engine: EffectContext, event: Event, members_left: int) -> None:
    settled = Event(kind=ClassicEvent.LEFT, now_ms=event.now_ms, settings=event.settings, group_id=event.group_id, group=event.group)
    settled.members_left = members_left
    engine.apply(settled)


def _leave_each(engine: EffectContext, event: Event) -> None:
    assert isinstance(event.request, LeaveGroupRequest)
    members_before = 0 if event.group is None else len(event.existing_group.members)
    removed = [_leave_one(engine, event, entry) for entry in event.request.members]
    if any(removed):
        _settle_left(engine, event, members_before - len(event.existing_group.members))


def _leave_one_by_one(engine: EffectContext, event: Event) -> None:
    assert isinstance(event.request, LeaveGroupRequest)
    for entry in event.request.members:
        members_before = 0 if event.group is None else len(event.existing_group.members)
        if _leave_one(engine, event, entry):
            _settle_left(engine, event, members_before - len(event.existing_group.members))
        if event.left[-1].error_code is ErrorCode.UNKNOWN_SERVER_ERROR:
            break


def _answer_parked(engine: EffectContext, event: Event) -> None:
    members = event.existing_group.members
    for member in members:
        join, sync = members.park_join(member, None), members.park_sync(member, None)
        if join is not None:
            refuse_join(engine, join, ErrorCode.NOT_COORDINATOR, member.member_id)
        if sync is not None:
            engine.reply(sync.token, sync_error(ErrorCode.NOT_COORDINATOR))


# Storage -------------------------------------------------------------------------------------------------------------------------


def _store_group(engine: EffectContext, event: Event) -> None:
    if engine.append_error is not ErrorCode.NONE:
        return
    assignment = {member.member_id: member.assignment for member in event.existing_group.members}
    engine.partition(event.group_id).groups[event.group_id] = event.existing_group.stored(assignment)


def _forget_group(engine: EffectContext, event: Event) -> None:
    group = event.existing_group
    for member_id in (*group.members.by_id, *group.members.pending, *group.members.evicted):
        engine.timers.cancel(session_of(group.group_id, member_id))
    for timer in (ClassicEvent.INITIAL_DELAY_END, ClassicEvent.JOIN_DEADLINE, ClassicEvent.SYNC_DEADLINE):
        engine.timers.cancel(TimerKey(timer, event.group_id))
    del engine.groups[event.group_id]


EFFECTS: Final[Mapping[EffectName, Callable[[EffectContext, Event], None]]] = {
    **JOIN_EFFECTS,
    Effect.PARK_SYNC: _park_sync,
    Effect.MARK_SYNCED: _mark_synced,
    Effect.REFRESH_SESSION: _refresh_session,
    Effect.REFRESH_SESSION_SPARING_NEWCOMERS: _refresh_session_sparing_newcomers,
    Effect.STORE_ASSIGNMENT: _store_assignment,
    Effect.STORE_GROUP: _store_group,
    Effect.ASSIGN: _assign,
    Effect.ANSWER_SYNCS: _answer_syncs,
    Effect.ABORT_SYNCS: _abort_syncs,
    Effect.END_SYNC_DEADLINE: _end_sync_deadline,
    Effect.FAIL_SYNCS: _fail_syncs,
    Effect.EVICT_UNSYNCED: _evict_unsynced,
    Effect.TELL_REMOVED: _tell_removed,
    Effect.REMOVE: _remove,
    Effect.DROP_PENDING: _drop_pending,
    Effect.DROP_EVICTED: _drop_evicted,
    Effect.LEAVE_EACH: _leave_each,
    Effect.LEAVE_ONE_BY_ONE: _leave_one_by_one,
    Effect.RESTART_SESSIONS: _restart_sessions,
    Effect.ANSWER_PARKED: _answer_parked,
    Effect.FORGET_GROUP: _forget_group,
    **OFFSET_EFFECTS,
}
