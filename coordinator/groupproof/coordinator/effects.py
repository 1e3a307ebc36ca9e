"""Every effect of the table, each a function of the engine and the input; nothing else changes a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.answers import is_too_long, join_answer, join_error, own_assignment, sync_error
from groupproof.coordinator.group import Group
from groupproof.coordinator.inputs import Input
from groupproof.coordinator.members import Member, Parked
from groupproof.coordinator.storage import StoredGroup
from groupproof.coordinator.timers import TimerKey
from groupproof.protocol.messages import LeaveGroupRequest, LeftMember
from groupproof.protocol.spec import Effect, On
from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from groupproof.coordinator.engine import Engine

__all__ = ["EFFECTS"]


def _parked(on: Input) -> Parked:
    assert on.arrival is not None, "only a request is parked"
    return Parked(on.arrival.token, on.arrival.api_version)


def _rebalance_timeout_ms(on: Input) -> int:
    """Return the rebalance timeout asked for; in v0 the session timeout serves (TIMER-25)."""
    asked = on.join.rebalance_timeout_ms
    return on.join.session_timeout_ms if asked < 0 else asked


def _refuse_join(engine: Engine, parked: Parked, error: ErrorCode, member_id: str) -> None:
    generation = engine.profile.fields["join_error_generation"]
    engine.reply(parked.token, join_error(error, member_id, parked.api_version, generation))


def _new_id(engine: Engine, on: Input) -> str:
    assert on.arrival is not None
    return engine.choices.member_id(on.arrival.client_id if on.instance_id is None else on.instance_id, on.arrival)


# Joining -------------------------------------------------------------------------------------------------------------------------


def _create_group(engine: Engine, on: Input) -> None:
    engine.created(Group(group_id=on.group_id, since_ms=on.now_ms), on)
    key = TimerKey(On.CLEANUP, "")
    if engine.timers.due_of(key) is None:
        engine.timers.arm(key, on.now_ms + engine.settings.offsets_retention_check_interval_ms)


def _reject(engine: Engine, on: Input) -> None:
    on.here.members.remove(on.member_id)
    engine.cancel_session(on.here, on.member_id)
    on.answered_id = ""


def _give_member_id(engine: Engine, on: Input) -> None:
    on.answered_id = _new_id(engine, on)
    on.here.members.pending[on.answered_id] = None
    engine.arm_session(on.here, on.answered_id, on.now_ms + on.join.session_timeout_ms)


def _admit(engine: Engine, on: Input) -> None:
    group, asked = on.here, on.join
    assert on.arrival is not None
    member = Member(
        member_id=on.member_id or _new_id(engine, on), group_instance_id=on.instance_id, client_id=on.arrival.client_id,
        client_host=on.arrival.client_host, session_timeout_ms=asked.session_timeout_ms, rebalance_timeout_ms=_rebalance_timeout_ms(on),
        protocol_type=asked.protocol_type, protocols=asked.protocols, is_new=True,
    )  # fmt: skip
    if group.state is GroupState.PREPARING_REBALANCE and group.before is GroupState.EMPTY:
        group.newcomer_came = True
    if not len(group.members):
        group.protocol_type = asked.protocol_type
    group.members.add(member)
    group.members.park_join(member, _parked(on))
    on.answered_id = member.member_id


def _start_newcomer_timer(engine: Engine, on: Input) -> None:
    engine.arm_session(on.here, on.answered_id or "", on.now_ms + engine.settings.new_member_join_timeout_ms)


def _take_timeouts(engine: Engine, on: Input) -> None:
    member = on.here.members.by_id[on.answered_id or on.member_id]
    member.session_timeout_ms = on.join.session_timeout_ms
    member.rebalance_timeout_ms = _rebalance_timeout_ms(on)


def _update(engine: Engine, on: Input) -> None:
    on.here.members.set_protocols(on.member, on.join.protocols)
    on.here.members.park_join(on.member, _parked(on))  # an older one is superseded and never answered (JOIN-35)


def _replace_instance(engine: Engine, on: Input) -> None:
    group = on.here
    members = group.members
    assert on.instance_id is not None
    member = members.by_id[members.instances[on.instance_id]]
    on.old_leader = members.leader
    join, sync = members.park_join(member, None), members.park_sync(member, None)
    if join is not None:
        _refuse_join(engine, join, ErrorCode.FENCED_INSTANCE_ID, member.member_id)
    if sync is not None:
        engine.reply(sync.token, sync_error(ErrorCode.FENCED_INSTANCE_ID))
    engine.cancel_session(group, member.member_id)
    on.answered_id = _new_id(engine, on)
    members.rename(member, on.answered_id)
    member.is_new = False
    engine.arm_session(group, member.member_id, on.now_ms + member.session_timeout_ms)  # the timeout of before, as in Kafka
    members.set_protocols(member, on.join.protocols)


def _park_join(engine: Engine, on: Input) -> None:
    members = on.here.members
    members.park_join(members.by_id[on.answered_id or ""], _parked(on))


# Syncing -------------------------------------------------------------------------------------------------------------------------


def _park_sync(engine: Engine, on: Input) -> None:
    on.here.members.park_sync(on.member, _parked(on))


def _mark_synced(engine: Engine, on: Input) -> None:
    on.here.members.unsynced.pop(on.member_id, None)
    if not on.here.members.unsynced:
        engine.timers.cancel(TimerKey(On.SYNC_DEADLINE, on.group_id))


def _store_assignment(engine: Engine, on: Input) -> None:
    assignment = {each.member_id: each.assignment for each in on.sync.assignments}
    failed = engine.append_error is not ErrorCode.NONE
    if not failed:
        engine.partition(on.group_id).groups[on.group_id] = StoredGroup.of(on.here, assignment)
    outcome = Input(
        on=On.APPEND_FAILED if failed else On.APPENDED, now_ms=on.now_ms, settings=on.settings, group_id=on.group_id, group=on.group,
        generation=on.generation, assignment=assignment, error=engine.append_error,
    )  # fmt: skip
    engine.apply(outcome)


def _assign(engine: Engine, on: Input) -> None:
    assignment = on.assignment or {}
    for member in on.here.members:
        member.assignment = assignment.get(member.member_id, b"")  # entries of strangers are ignored (SYNC-08)


def _answer_syncs(engine: Engine, on: Input) -> None:
    for member in on.here.members:
        parked = on.here.members.park_sync(member, None)
        if parked is not None:
            engine.reply(parked.token, own_assignment(on, member))
            engine.arm_session(on.here, member.member_id, on.now_ms + member.session_timeout_ms)


def _fail_syncs(engine: Engine, on: Input, error: ErrorCode | None = None) -> None:
    for member in on.here.members:
        member.assignment = b""
        parked = on.here.members.park_sync(member, None)
        if parked is not None:
            engine.reply(parked.token, sync_error(on.error if error is None else error))
            engine.arm_session(on.here, member.member_id, on.now_ms + member.session_timeout_ms)
    _end_sync_deadline(engine, on)


def _abort_syncs(engine: Engine, on: Input) -> None:
    _fail_syncs(engine, on, ErrorCode.REBALANCE_IN_PROGRESS)


def _end_sync_deadline(engine: Engine, on: Input) -> None:
    on.here.members.unsynced.clear()
    engine.timers.cancel(TimerKey(On.SYNC_DEADLINE, on.group_id))


def _evict_unsynced(engine: Engine, on: Input) -> None:
    for member_id in tuple(on.here.members.unsynced):
        _evict(engine, on.here, member_id)


# The join phase ------------------------------------------------------------------------------------------------------------------


def _start_initial_delay(engine: Engine, on: Input) -> None:
    group, delay_ms = on.here, engine.settings.group_initial_rebalance_delay_ms
    group.delay_ms = delay_ms
    group.budget_ms = max(group.members.rebalance_timeout_ms - delay_ms, 0)
    engine.timers.arm(TimerKey(On.INITIAL_DELAY_END, on.group_id), on.now_ms + delay_ms)


def _extend_initial_delay(engine: Engine, on: Input) -> None:
    group, spent_ms = on.here, on.here.delay_ms
    group.newcomer_came = False
    group.delay_ms = min(engine.settings.group_initial_rebalance_delay_ms, group.budget_ms)
    group.budget_ms = max(group.budget_ms - spent_ms, 0)
    engine.timers.arm(TimerKey(On.INITIAL_DELAY_END, on.group_id), on.now_ms + group.delay_ms)


def _rearm_join_deadline(engine: Engine, on: Input) -> None:
    engine.timers.arm(TimerKey(On.JOIN_DEADLINE, on.group_id), on.now_ms + on.here.members.rebalance_timeout_ms)


def _await_joins(engine: Engine, on: Input) -> None:
    _rearm_join_deadline(engine, on)
    engine.consequence(On.JOIN_CHECK, on)


def _check_joins(engine: Engine, on: Input) -> None:
    engine.consequence(On.JOIN_CHECK, on)


def _check_absence(engine: Engine, on: Input) -> None:
    engine.consequence(On.ABSENCE_CHECK, on)


def _unjoined(on: Input) -> list[str]:
    return [member.member_id for member in on.here.members if member.join is None and not member.is_static]


def _end_unjoined_timers(engine: Engine, on: Input) -> None:
    for member_id in _unjoined(on):
        engine.cancel_session(on.here, member_id)


def _evict_unjoined(engine: Engine, on: Input) -> None:
    for member_id in _unjoined(on):
        on.here.members.remove(member_id)


def _evict(engine: Engine, group: Group, member_id: str) -> None:
    group.members.remove(member_id)
    engine.cancel_session(group, member_id)


def _next_generation(engine: Engine, on: Input) -> None:
    on.here.members.elect_joined()
    _next_generation_empty(engine, on)


def _next_generation_empty(engine: Engine, on: Input) -> None:
    engine.timers.cancel(TimerKey(On.JOIN_DEADLINE, on.group_id))
    engine.timers.cancel(TimerKey(On.INITIAL_DELAY_END, on.group_id))
    on.here.next_generation(partial(engine.choices.protocol, on.group_id))


def _answer_joins(engine: Engine, on: Input) -> None:
    group = on.here
    listed = group.members.listed(group.protocol_name)
    for member in group.members:
        parked = group.members.park_join(member, None)
        if parked is not None:
            is_leader = member.member_id == group.members.leader
            engine.reply(parked.token, join_answer(on, member, listed if is_leader else ()))
        engine.arm_session(group, member.member_id, on.now_ms + member.session_timeout_ms)
        member.is_new = False


def _start_sync_deadline(engine: Engine, on: Input) -> None:
    group = on.here
    group.members.unsynced.update(dict.fromkeys(group.members.by_id))
    engine.timers.arm(TimerKey(On.SYNC_DEADLINE, on.group_id), on.now_ms + group.members.rebalance_timeout_ms)


# Sessions and leaving ------------------------------------------------------------------------------------------------------------


def _refresh_session(engine: Engine, on: Input) -> None:
    engine.arm_session(on.here, on.member_id, on.now_ms + on.member.session_timeout_ms)


def _restart_sessions(engine: Engine, on: Input) -> None:
    for member in on.here.members:
        engine.arm_session(on.here, member.member_id, on.now_ms + member.session_timeout_ms)


def _named(on: Input) -> Member:
    """Return the member that the input names, by its instance where it gives no member id (LEAVE-53)."""
    members = on.here.members
    return members.by_id[on.member_id or members.instances[on.instance_id or ""]]


def _tell_removed(engine: Engine, on: Input) -> None:
    member = _named(on)
    if member.join is not None:
        _refuse_join(engine, member.join, ErrorCode.UNKNOWN_MEMBER_ID, "")  # LEAVE-08


def _remove(engine: Engine, on: Input) -> None:
    _evict(engine, on.here, _named(on).member_id)


def _drop_pending(engine: Engine, on: Input) -> None:
    _evict(engine, on.here, on.member_id)


def _leave_each(engine: Engine, on: Input) -> None:
    assert isinstance(on.request, LeaveGroupRequest)
    members_before = 0 if on.group is None else len(on.group.members)
    for entry in on.request.members:
        named = Input(
            on=On.LEAVE_ENTRY, now_ms=on.now_ms, settings=on.settings, group_id=on.group_id, group=on.group, arrival=on.arrival,
            member_id=entry.member_id, instance_id=entry.group_instance_id,
        )  # fmt: skip
        row = engine.apply(named)
        assert isinstance(row.answer, ErrorCode)
        on.left.append(LeftMember(member_id=entry.member_id, group_instance_id=entry.group_instance_id, error_code=row.answer))
    if any(left.error_code == ErrorCode.NONE for left in on.left):
        members_left = members_before - len(on.here.members)
        engine.apply(Input(on=On.LEFT, now_ms=on.now_ms, settings=on.settings, group_id=on.group_id, group=on.group, members_left=members_left))


def _answer_parked(engine: Engine, on: Input) -> None:
    members = on.here.members
    for member in members:
        join, sync = members.park_join(member, None), members.park_sync(member, None)
        if join is not None:
            _refuse_join(engine, join, ErrorCode.NOT_COORDINATOR, member.member_id)
        if sync is not None:
            engine.reply(sync.token, sync_error(ErrorCode.NOT_COORDINATOR))


# Storage -------------------------------------------------------------------------------------------------------------------------


def _store_group(engine: Engine, on: Input) -> None:
    assignment = {member.member_id: member.assignment for member in on.here.members}
    engine.partition(on.group_id).groups[on.group_id] = StoredGroup.of(on.here, assignment)


def _store_offsets(engine: Engine, on: Input) -> None:
    offsets, longest = engine.offsets(on.group_id), engine.settings.offset_metadata_max_bytes
    for topic in on.commit.topics:
        for partition in topic.partitions:
            if not is_too_long(partition.committed_metadata, longest):
                offsets.commit(topic.name, partition, on.now_ms)


def _delete_records(engine: Engine, on: Input) -> None:
    engine.partition(on.group_id).forget(on.group_id)


def _forget_group(engine: Engine, on: Input) -> None:
    group = on.here
    for member_id in (*group.members.by_id, *group.members.pending):
        engine.cancel_session(group, member_id)
    for timer in (On.INITIAL_DELAY_END, On.JOIN_DEADLINE, On.SYNC_DEADLINE):
        engine.timers.cancel(TimerKey(timer, on.group_id))
    del engine.groups[on.group_id]


EFFECTS: Final[Mapping[Effect, Callable[[Engine, Input], None]]] = {
    Effect.CREATE_GROUP: _create_group,
    Effect.REJECT: _reject,
    Effect.GIVE_MEMBER_ID: _give_member_id,
    Effect.ADMIT: _admit,
    Effect.START_NEWCOMER_TIMER: _start_newcomer_timer,
    Effect.UPDATE: _update,
    Effect.REPLACE_INSTANCE: _replace_instance,
    Effect.TAKE_TIMEOUTS: _take_timeouts,
    Effect.PARK_JOIN: _park_join,
    Effect.PARK_SYNC: _park_sync,
    Effect.MARK_SYNCED: _mark_synced,
    Effect.REFRESH_SESSION: _refresh_session,
    Effect.STORE_ASSIGNMENT: _store_assignment,
    Effect.STORE_GROUP: _store_group,
    Effect.STORE_OFFSETS: _store_offsets,
    Effect.ASSIGN: _assign,
    Effect.ANSWER_SYNCS: _answer_syncs,
    Effect.ABORT_SYNCS: _abort_syncs,
    Effect.END_SYNC_DEADLINE: _end_sync_deadline,
    Effect.FAIL_SYNCS: _fail_syncs,
    Effect.START_INITIAL_DELAY: _start_initial_delay,
    Effect.EXTEND_INITIAL_DELAY: _extend_initial_delay,
    Effect.AWAIT_JOINS: _await_joins,
    Effect.REARM_JOIN_DEADLINE: _rearm_join_deadline,
    Effect.CHECK_JOINS: _check_joins,
    Effect.CHECK_ABSENCE: _check_absence,
    Effect.END_UNJOINED_TIMERS: _end_unjoined_timers,
    Effect.EVICT_UNJOINED: _evict_unjoined,
    Effect.EVICT_UNSYNCED: _evict_unsynced,
    Effect.NEXT_GENERATION: _next_generation,
    Effect.NEXT_GENERATION_EMPTY: _next_generation_empty,
    Effect.ANSWER_JOINS: _answer_joins,
    Effect.START_SYNC_DEADLINE: _start_sync_deadline,
    Effect.TELL_REMOVED: _tell_removed,
    Effect.REMOVE: _remove,
    Effect.DROP_PENDING: _drop_pending,
    Effect.LEAVE_EACH: _leave_each,
    Effect.RESTART_SESSIONS: _restart_sessions,
    Effect.ANSWER_PARKED: _answer_parked,
    Effect.DELETE_RECORDS: _delete_records,
    Effect.FORGET_GROUP: _forget_group,
}
