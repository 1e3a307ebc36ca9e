"""Every effect of the table, each a function of the engine and the input; nothing else changes a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.answers import own_assignment, sync_error
from groupproof.coordinator.machine.event import Input
from groupproof.coordinator.machine.join_effects import JOIN_EFFECTS, evict, parked_request, refuse_join
from groupproof.coordinator.machine.offset_effects import OFFSET_EFFECTS
from groupproof.coordinator.machine.timers import TimerKey, session_of
from groupproof.protocol.rules.classic.classic_terms import Effect, On
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import LeaveGroupRequest, LeftMember

if TYPE_CHECKING:
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.members import Member
    from groupproof.protocol.rules.cells import EffectName
    from groupproof.protocol.wire.messages import LeaveMember

__all__ = ["EFFECTS"]


# Syncing -------------------------------------------------------------------------------------------------------------------------


def _park_sync(engine: EffectContext, on: Input) -> None:
    on.here.members.park_sync(on.member, parked_request(on))


def _mark_synced(engine: EffectContext, on: Input) -> None:
    on.here.members.unsynced.pop(on.member_id, None)
    if not on.here.members.unsynced:
        engine.timers.cancel(TimerKey(On.SYNC_DEADLINE, on.group_id))


def _store_assignment(engine: EffectContext, on: Input) -> None:
    assignment = {each.member_id: each.assignment for each in on.sync.assignments}
    failed = on.refusal is not ErrorCode.NONE
    if not failed:
        engine.partition(on.group_id).groups[on.group_id] = on.here.stored(assignment)
    outcome = Input(
        on=On.APPEND_FAILED if failed else On.APPENDED, now_ms=on.now_ms, settings=on.settings, group_id=on.group_id, group=on.group,
        generation=on.generation,
    )  # fmt: skip
    outcome.assignment, outcome.error = assignment, on.refusal
    engine.apply(outcome)


def _assign(engine: EffectContext, on: Input) -> None:
    assignment = on.assignment or {}
    for member in on.here.members:
        member.assignment = assignment.get(member.member_id, b"")  # entries of strangers are ignored (SYNC-08)


def _answer_syncs(engine: EffectContext, on: Input) -> None:
    for member in on.here.members:
        parked = on.here.members.park_sync(member, None)
        if parked is not None:
            engine.reply(parked.token, own_assignment(on, member))
            engine.timers.arm(session_of(on.group_id, member.member_id), on.now_ms + member.session_timeout_ms)


def _fail_syncs(engine: EffectContext, on: Input, error: ErrorCode | None = None) -> None:
    for member in on.here.members:
        member.assignment = b""
        parked = on.here.members.park_sync(member, None)
        if parked is not None:
            engine.reply(parked.token, sync_error(on.error if error is None else error))
            engine.timers.arm(session_of(on.group_id, member.member_id), on.now_ms + member.session_timeout_ms)
    _end_sync_deadline(engine, on)


def _abort_syncs(engine: EffectContext, on: Input) -> None:
    _fail_syncs(engine, on, ErrorCode.REBALANCE_IN_PROGRESS)


def _end_sync_deadline(engine: EffectContext, on: Input) -> None:
    on.here.members.unsynced.clear()
    engine.timers.cancel(TimerKey(On.SYNC_DEADLINE, on.group_id))


def _evict_unsynced(engine: EffectContext, on: Input) -> None:
    for member_id in tuple(on.here.members.unsynced):
        evict(engine, on.here, member_id)


# Sessions and leaving ------------------------------------------------------------------------------------------------------------


def _refresh_session(engine: EffectContext, on: Input) -> None:
    engine.timers.arm(session_of(on.group_id, on.member_id), on.now_ms + on.member.session_timeout_ms)


def _refresh_session_sparing_newcomers(engine: EffectContext, on: Input) -> None:
    if on.member.is_new and on.member.join is not None:
        engine.timers.cancel(session_of(on.group_id, on.member_id))
    else:
        _refresh_session(engine, on)


def _restart_sessions(engine: EffectContext, on: Input) -> None:
    for member in on.here.members:
        engine.timers.arm(session_of(on.group_id, member.member_id), on.now_ms + member.session_timeout_ms)


def _named(on: Input) -> Member:
    """Return the member that the input names, by its instance where it gives no member id (LEAVE-53)."""
    members = on.here.members
    return members.by_id[on.member_id or members.instances[on.instance_id or ""]]


def _tell_removed(engine: EffectContext, on: Input) -> None:
    member = _named(on)
    if member.join is not None:
        refuse_join(engine, member.join, ErrorCode.UNKNOWN_MEMBER_ID, "")  # LEAVE-08


def _remove(engine: EffectContext, on: Input) -> None:
    evict(engine, on.here, _named(on).member_id)


def _drop_pending(engine: EffectContext, on: Input) -> None:
    evict(engine, on.here, on.member_id)


def _drop_evicted(engine: EffectContext, on: Input) -> None:
    on.here.members.evicted.pop(on.member_id, None)


def _leave_one(engine: EffectContext, on: Input, entry: LeaveMember) -> bool:
    """Judge one entry of the list; return whether it was removed."""
    named = Input(
        on=On.LEAVE_ENTRY, now_ms=on.now_ms, settings=on.settings, group_id=on.group_id, group=on.group, arrival=on.arrival,
        member_id=entry.member_id, instance_id=entry.group_instance_id,
    )  # fmt: skip
    row = engine.apply(named)
    assert isinstance(row.answer, ErrorCode)
    on.left += (LeftMember(member_id=entry.member_id, group_instance_id=entry.group_instance_id, error_code=row.answer),)
    return row.answer is ErrorCode.NONE


def _settle_left(engine: EffectContext, on: Input, members_left: int) -> None:
    settled = Input(on=On.LEFT, now_ms=on.now_ms, settings=on.settings, group_id=on.group_id, group=on.group)
    settled.members_left = members_left
    engine.apply(settled)


def _leave_each(engine: EffectContext, on: Input) -> None:
    assert isinstance(on.request, LeaveGroupRequest)
    members_before = 0 if on.group is None else len(on.here.members)
    removed = [_leave_one(engine, on, entry) for entry in on.request.members]
    if any(removed):
        _settle_left(engine, on, members_before - len(on.here.members))


def _leave_one_by_one(engine: EffectContext, on: Input) -> None:
    assert isinstance(on.request, LeaveGroupRequest)
    for entry in on.request.members:
        members_before = 0 if on.group is None else len(on.here.members)
        if _leave_one(engine, on, entry):
            _settle_left(engine, on, members_before - len(on.here.members))
        if on.left[-1].error_code is ErrorCode.UNKNOWN_SERVER_ERROR:
            break


def _answer_parked(engine: EffectContext, on: Input) -> None:
    members = on.here.members
    for member in members:
        join, sync = members.park_join(member, None), members.park_sync(member, None)
        if join is not None:
            refuse_join(engine, join, ErrorCode.NOT_COORDINATOR, member.member_id)
        if sync is not None:
            engine.reply(sync.token, sync_error(ErrorCode.NOT_COORDINATOR))


# Storage -------------------------------------------------------------------------------------------------------------------------


def _store_group(engine: EffectContext, on: Input) -> None:
    if engine.append_error is not ErrorCode.NONE:
        return
    assignment = {member.member_id: member.assignment for member in on.here.members}
    engine.partition(on.group_id).groups[on.group_id] = on.here.stored(assignment)


def _forget_group(engine: EffectContext, on: Input) -> None:
    group = on.here
    for member_id in (*group.members.by_id, *group.members.pending, *group.members.evicted):
        engine.timers.cancel(session_of(group.group_id, member_id))
    for timer in (On.INITIAL_DELAY_END, On.JOIN_DEADLINE, On.SYNC_DEADLINE):
        engine.timers.cancel(TimerKey(timer, on.group_id))
    del engine.groups[on.group_id]


EFFECTS: Final[Mapping[EffectName, Callable[[EffectContext, Input], None]]] = {
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
