"""The effects of joining and of the join phase: who is admitted, which timers run, how the phase ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.answers import join_error, sync_error
from groupproof.coordinator.machine.members import Member, ParkedRequest
from groupproof.coordinator.machine.timers import TimerKey, session_of
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect
from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.event import Event
    from groupproof.coordinator.machine.group import Group
    from groupproof.protocol.rules.cells import EffectName
    from groupproof.protocol.wire.messages import JoinGroupRequest

__all__ = ["JOIN_EFFECTS", "evict", "fill_join", "parked_request", "refuse_join"]


def fill_join(event: Event, message: JoinGroupRequest) -> None:
    """Copy the member's identity into the event. A JoinGroup has no generation."""
    event.member_id, event.instance_id = message.member_id, message.group_instance_id


def parked_request(event: Event) -> ParkedRequest:
    """Return the event's request in the form in which it is parked."""
    assert event.arrival is not None, "only a request is parked"
    return ParkedRequest(event.arrival.token, event.arrival.api_version)


def _rebalance_timeout_ms(event: Event) -> int:
    """Return the requested rebalance timeout. In v0 it is the session timeout (TIMER-25)."""
    asked = event.join.rebalance_timeout_ms
    return event.join.session_timeout_ms if asked < 0 else asked


def refuse_join(engine: EffectContext, parked: ParkedRequest, error: ErrorCode, member_id: str) -> None:
    """Answer a parked JoinGroup with an error, in the form of its version."""
    generation = engine.fields["join_error_generation"]
    engine.reply(parked.token, join_error(error, member_id, parked.api_version, generation))


def _new_id(engine: EffectContext, event: Event) -> str:
    assert event.arrival is not None
    return engine.choices.member_id(event.arrival.client_id if event.instance_id is None else event.instance_id, event.arrival)


# Joining -------------------------------------------------------------------------------------------------------------------------


def _create_group(engine: EffectContext, event: Event) -> None:
    engine.create(event)
    key = TimerKey(ClassicEvent.CLEANUP, "")
    if engine.timers.due_of(key) is None:
        engine.timers.arm(key, event.now_ms + engine.settings.offsets_retention_check_interval_ms)


def _reject(engine: EffectContext, event: Event) -> None:
    event.existing_group.members.remove(event.member_id)
    engine.timers.cancel(session_of(event.group_id, event.member_id))
    event.answered_id = ""


def _reject_member(engine: EffectContext, event: Event) -> None:
    if event.member_id in event.existing_group.members.pending:
        event.answered_id = ""
    else:
        _reject(engine, event)


def _forget_instance(engine: EffectContext, event: Event) -> None:
    event.existing_group.members.instances.pop(event.instance_id or "", None)


def _blank_member_id(engine: EffectContext, event: Event) -> None:
    event.answered_id = ""


def _give_member_id(engine: EffectContext, event: Event) -> None:
    event.answered_id = _new_id(engine, event)
    event.existing_group.members.pending[event.answered_id] = None
    engine.timers.arm(session_of(event.group_id, event.answered_id), event.now_ms + event.join.session_timeout_ms)


def _admit(engine: EffectContext, event: Event) -> None:
    group, asked = event.existing_group, event.join
    assert event.arrival is not None
    member = Member(
        member_id=event.member_id or _new_id(engine, event), group_instance_id=event.instance_id, client_id=event.arrival.client_id,
        client_host=event.arrival.client_host, session_timeout_ms=asked.session_timeout_ms, rebalance_timeout_ms=_rebalance_timeout_ms(event),
        protocol_type=asked.protocol_type, protocols=asked.protocols, is_new=True,
    )  # fmt: skip
    if group.state is GroupState.PREPARING_REBALANCE and group.before is GroupState.EMPTY:
        group.newcomer_came = True
    if not group.members.by_id:
        group.protocol_type = asked.protocol_type
    parked = parked_request(event)
    group.members.add(member)
    group.members.park_join(member, parked)
    event.answered_id = member.member_id


def _start_newcomer_timer(engine: EffectContext, event: Event) -> None:
    engine.timers.arm(session_of(event.group_id, event.answered_id or ""), event.now_ms + engine.settings.new_member_join_timeout_ms)


def _end_newcomer(engine: EffectContext, event: Event) -> None:
    event.existing_group.members.by_id[event.answered_id or event.member_id].is_new = False


def _take_timeouts(engine: EffectContext, event: Event) -> None:
    member = event.existing_group.members.by_id[event.answered_id or event.member_id]
    member.session_timeout_ms = event.join.session_timeout_ms
    member.rebalance_timeout_ms = _rebalance_timeout_ms(event)


def _update(engine: EffectContext, event: Event) -> None:
    event.existing_group.members.set_protocols(event.member, event.join.protocols)
    event.existing_group.members.park_join(
        event.member, parked_request(event)
    )  # it replaces an older parked request, which is never answered (JOIN-35)


def _replace_instance(engine: EffectContext, event: Event) -> None:
    group = event.existing_group
    members = group.members
    assert event.instance_id is not None
    member = members.by_id[members.instances[event.instance_id]]
    event.old_leader = members.leader
    join, sync = members.park_join(member, None), members.park_sync(member, None)
    if join is not None:
        refuse_join(engine, join, ErrorCode.FENCED_INSTANCE_ID, member.member_id)
    if sync is not None:
        engine.reply(sync.token, sync_error(ErrorCode.FENCED_INSTANCE_ID))
    engine.timers.cancel(session_of(group.group_id, member.member_id))
    event.answered_id = _new_id(engine, event)
    members.rename(member, event.answered_id)
    engine.timers.arm(
        session_of(group.group_id, member.member_id), event.now_ms + member.session_timeout_ms
    )  # with the previous timeout, as in Kafka
    members.set_protocols(member, event.join.protocols)


def _park_join(engine: EffectContext, event: Event) -> None:
    members = event.existing_group.members
    members.park_join(members.by_id[event.answered_id or ""], parked_request(event))


# The join phase ------------------------------------------------------------------------------------------------------------------


def _start_initial_delay(engine: EffectContext, event: Event) -> None:
    group, delay_ms = event.existing_group, engine.settings.group_initial_rebalance_delay_ms
    group.delay_ms = delay_ms
    group.budget_ms = max(group.members.rebalance_timeout_ms - delay_ms, 0)
    engine.timers.arm(TimerKey(ClassicEvent.INITIAL_DELAY_END, event.group_id), event.now_ms + delay_ms)


def _extend_initial_delay(engine: EffectContext, event: Event) -> None:
    group, spent_ms = event.existing_group, event.existing_group.delay_ms
    group.newcomer_came = False
    group.delay_ms = min(engine.settings.group_initial_rebalance_delay_ms, group.budget_ms)
    group.budget_ms = max(group.budget_ms - spent_ms, 0)
    engine.timers.arm(TimerKey(ClassicEvent.INITIAL_DELAY_END, event.group_id), event.now_ms + group.delay_ms)


def _rearm_join_deadline(engine: EffectContext, event: Event) -> None:
    engine.timers.arm(TimerKey(ClassicEvent.JOIN_DEADLINE, event.group_id), event.now_ms + event.existing_group.members.rebalance_timeout_ms)


def _await_joins(engine: EffectContext, event: Event) -> None:
    _rearm_join_deadline(engine, event)
    engine.consequence(ClassicEvent.JOIN_CHECK, event)


def _check_joins(engine: EffectContext, event: Event) -> None:
    engine.consequence(ClassicEvent.JOIN_CHECK, event)


def _check_absence(engine: EffectContext, event: Event) -> None:
    engine.consequence(ClassicEvent.ABSENCE_CHECK, event)


def _end_unjoined_timers(engine: EffectContext, event: Event) -> None:
    for member_id in event.existing_group.members.unjoined:
        engine.timers.cancel(session_of(event.group_id, member_id))


def _evict_unjoined(engine: EffectContext, event: Event) -> None:
    members = event.existing_group.members
    for member_id in members.unjoined:
        members.remove(member_id)
        if engine.timers.due_of(TimerKey(ClassicEvent.SESSION_END, event.group_id, member_id)) is not None:
            members.evicted[member_id] = None


def _next_generation(engine: EffectContext, event: Event) -> None:
    event.existing_group.members.elect_joined()
    _next_generation_empty(engine, event)


def _next_generation_empty(engine: EffectContext, event: Event) -> None:
    engine.timers.cancel(TimerKey(ClassicEvent.JOIN_DEADLINE, event.group_id))
    engine.timers.cancel(TimerKey(ClassicEvent.INITIAL_DELAY_END, event.group_id))
    group, choices = event.existing_group, engine.choices
    number = group.generation + 1 if choices.counts_by_one else choices.generation(group)
    group.next_generation(number, partial(choices.protocol, event.group_id))


def _answer_joins(engine: EffectContext, event: Event) -> None:
    group, members = event.existing_group, event.existing_group.members
    group_id, now_ms, leader, reply, arm = group.group_id, event.now_ms, members.leader, engine.reply, engine.timers.arm
    for member in members.by_id.values():
        member_id, parked = member.member_id, member.join
        if parked is not None:
            members.park_join(member, None)
            reply(parked.token, group.join_answer(member_id, members.listed(group.protocol_name) if member_id == leader else ()))
        arm(session_of(group_id, member_id), now_ms + member.session_timeout_ms)
        member.is_new = False


def _answer_joins_sparing_newcomers(engine: EffectContext, event: Event) -> None:
    newcomers = [member for member in event.existing_group.members if member.is_new]
    _answer_joins(engine, event)
    for member in newcomers:
        if member.session_timeout_ms < engine.settings.new_member_join_timeout_ms:
            engine.timers.cancel(session_of(event.group_id, member.member_id))


def _start_sync_deadline(engine: EffectContext, event: Event) -> None:
    group = event.existing_group
    group.members.unsynced.update(dict.fromkeys(group.members.by_id))
    engine.timers.arm(TimerKey(ClassicEvent.SYNC_DEADLINE, event.group_id), event.now_ms + group.members.rebalance_timeout_ms)


def evict(engine: EffectContext, group: Group, member_id: str) -> None:
    """Remove a member or a pending id, and cancel its session timer."""
    group.members.remove(member_id)
    engine.timers.cancel(session_of(group.group_id, member_id))


JOIN_EFFECTS: Final[Mapping[EffectName, Callable[[EffectContext, Event], None]]] = {
    Effect.CREATE_GROUP: _create_group,
    Effect.REJECT: _reject,
    Effect.REJECT_MEMBER: _reject_member,
    Effect.FORGET_INSTANCE: _forget_instance,
    Effect.BLANK_MEMBER_ID: _blank_member_id,
    Effect.GIVE_MEMBER_ID: _give_member_id,
    Effect.ADMIT: _admit,
    Effect.START_NEWCOMER_TIMER: _start_newcomer_timer,
    Effect.UPDATE: _update,
    Effect.REPLACE_INSTANCE: _replace_instance,
    Effect.END_NEWCOMER: _end_newcomer,
    Effect.TAKE_TIMEOUTS: _take_timeouts,
    Effect.PARK_JOIN: _park_join,
    Effect.START_INITIAL_DELAY: _start_initial_delay,
    Effect.EXTEND_INITIAL_DELAY: _extend_initial_delay,
    Effect.AWAIT_JOINS: _await_joins,
    Effect.REARM_JOIN_DEADLINE: _rearm_join_deadline,
    Effect.CHECK_JOINS: _check_joins,
    Effect.CHECK_ABSENCE: _check_absence,
    Effect.END_UNJOINED_TIMERS: _end_unjoined_timers,
    Effect.EVICT_UNJOINED: _evict_unjoined,
    Effect.NEXT_GENERATION: _next_generation,
    Effect.NEXT_GENERATION_EMPTY: _next_generation_empty,
    Effect.ANSWER_JOINS: _answer_joins,
    Effect.ANSWER_JOINS_SPARING_NEWCOMERS: _answer_joins_sparing_newcomers,
    Effect.START_SYNC_DEADLINE: _start_sync_deadline,
}
