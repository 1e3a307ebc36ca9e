"""The effects of joining and of the join phase: who is admitted, which timers run, how the phase ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.answers import join_answer, join_error, sync_error
from groupproof.coordinator.machine.members import Member, Parked
from groupproof.coordinator.machine.timers import TimerKey, session_of
from groupproof.protocol.rules.classic.classic_terms import Effect, On
from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.event import Input
    from groupproof.coordinator.machine.group import Group
    from groupproof.protocol.rules.cells import EffectName

__all__ = ["JOIN_EFFECTS", "evict", "parked_request", "refuse_join"]


def parked_request(on: Input) -> Parked:
    """Return the request as something to be answered later."""
    assert on.arrival is not None, "only a request is parked"
    return Parked(on.arrival.token, on.arrival.api_version)


def _rebalance_timeout_ms(on: Input) -> int:
    """Return the rebalance timeout asked for; in v0 the session timeout serves (TIMER-25)."""
    asked = on.join.rebalance_timeout_ms
    return on.join.session_timeout_ms if asked < 0 else asked


def refuse_join(engine: EffectContext, parked: Parked, error: ErrorCode, member_id: str) -> None:
    """Answer a parked JoinGroup with an error, in the form of its version."""
    generation = engine.fields["join_error_generation"]
    engine.reply(parked.token, join_error(error, member_id, parked.api_version, generation))


def _new_id(engine: EffectContext, on: Input) -> str:
    assert on.arrival is not None
    return engine.choices.member_id(on.arrival.client_id if on.instance_id is None else on.instance_id, on.arrival)


# Joining -------------------------------------------------------------------------------------------------------------------------


def _create_group(engine: EffectContext, on: Input) -> None:
    engine.create(on)
    key = TimerKey(On.CLEANUP, "")
    if engine.timers.due_of(key) is None:
        engine.timers.arm(key, on.now_ms + engine.settings.offsets_retention_check_interval_ms)


def _reject(engine: EffectContext, on: Input) -> None:
    on.here.members.remove(on.member_id)
    engine.timers.cancel(session_of(on.group_id, on.member_id))
    on.answered_id = ""


def _reject_member(engine: EffectContext, on: Input) -> None:
    if on.member_id in on.here.members.pending:
        on.answered_id = ""
    else:
        _reject(engine, on)


def _forget_instance(engine: EffectContext, on: Input) -> None:
    on.here.members.instances.pop(on.instance_id or "", None)


def _blank_member_id(engine: EffectContext, on: Input) -> None:
    on.answered_id = ""


def _give_member_id(engine: EffectContext, on: Input) -> None:
    on.answered_id = _new_id(engine, on)
    on.here.members.pending[on.answered_id] = None
    engine.timers.arm(session_of(on.group_id, on.answered_id), on.now_ms + on.join.session_timeout_ms)


def _admit(engine: EffectContext, on: Input) -> None:
    group, asked = on.here, on.join
    assert on.arrival is not None
    member = Member(
        member_id=on.member_id or _new_id(engine, on), group_instance_id=on.instance_id, client_id=on.arrival.client_id,
        client_host=on.arrival.client_host, session_timeout_ms=asked.session_timeout_ms, rebalance_timeout_ms=_rebalance_timeout_ms(on),
        protocol_type=asked.protocol_type, protocols=asked.protocols, is_new=True,
    )  # fmt: skip
    if group.state is GroupState.PREPARING_REBALANCE and group.before is GroupState.EMPTY:
        group.newcomer_came = True
    if not group.members.by_id:
        group.protocol_type = asked.protocol_type
    parked = parked_request(on)
    group.members.add(member)
    group.members.park_join(member, parked)
    on.answered_id = member.member_id


def _start_newcomer_timer(engine: EffectContext, on: Input) -> None:
    engine.timers.arm(session_of(on.group_id, on.answered_id or ""), on.now_ms + engine.settings.new_member_join_timeout_ms)


def _end_newcomer(engine: EffectContext, on: Input) -> None:
    on.here.members.by_id[on.answered_id or on.member_id].is_new = False


def _take_timeouts(engine: EffectContext, on: Input) -> None:
    member = on.here.members.by_id[on.answered_id or on.member_id]
    member.session_timeout_ms = on.join.session_timeout_ms
    member.rebalance_timeout_ms = _rebalance_timeout_ms(on)


def _update(engine: EffectContext, on: Input) -> None:
    on.here.members.set_protocols(on.member, on.join.protocols)
    on.here.members.park_join(on.member, parked_request(on))  # an older one is superseded and never answered (JOIN-35)


def _replace_instance(engine: EffectContext, on: Input) -> None:
    group = on.here
    members = group.members
    assert on.instance_id is not None
    member = members.by_id[members.instances[on.instance_id]]
    on.old_leader = members.leader
    join, sync = members.park_join(member, None), members.park_sync(member, None)
    if join is not None:
        refuse_join(engine, join, ErrorCode.FENCED_INSTANCE_ID, member.member_id)
    if sync is not None:
        engine.reply(sync.token, sync_error(ErrorCode.FENCED_INSTANCE_ID))
    engine.timers.cancel(session_of(group.group_id, member.member_id))
    on.answered_id = _new_id(engine, on)
    members.rename(member, on.answered_id)
    engine.timers.arm(session_of(group.group_id, member.member_id), on.now_ms + member.session_timeout_ms)  # the timeout of before, as in Kafka
    members.set_protocols(member, on.join.protocols)


def _park_join(engine: EffectContext, on: Input) -> None:
    members = on.here.members
    members.park_join(members.by_id[on.answered_id or ""], parked_request(on))


# The join phase ------------------------------------------------------------------------------------------------------------------


def _start_initial_delay(engine: EffectContext, on: Input) -> None:
    group, delay_ms = on.here, engine.settings.group_initial_rebalance_delay_ms
    group.delay_ms = delay_ms
    group.budget_ms = max(group.members.rebalance_timeout_ms - delay_ms, 0)
    engine.timers.arm(TimerKey(On.INITIAL_DELAY_END, on.group_id), on.now_ms + delay_ms)


def _extend_initial_delay(engine: EffectContext, on: Input) -> None:
    group, spent_ms = on.here, on.here.delay_ms
    group.newcomer_came = False
    group.delay_ms = min(engine.settings.group_initial_rebalance_delay_ms, group.budget_ms)
    group.budget_ms = max(group.budget_ms - spent_ms, 0)
    engine.timers.arm(TimerKey(On.INITIAL_DELAY_END, on.group_id), on.now_ms + group.delay_ms)


def _rearm_join_deadline(engine: EffectContext, on: Input) -> None:
    engine.timers.arm(TimerKey(On.JOIN_DEADLINE, on.group_id), on.now_ms + on.here.members.rebalance_timeout_ms)


def _await_joins(engine: EffectContext, on: Input) -> None:
    _rearm_join_deadline(engine, on)
    engine.consequence(On.JOIN_CHECK, on)


def _check_joins(engine: EffectContext, on: Input) -> None:
    engine.consequence(On.JOIN_CHECK, on)


def _check_absence(engine: EffectContext, on: Input) -> None:
    engine.consequence(On.ABSENCE_CHECK, on)


def _end_unjoined_timers(engine: EffectContext, on: Input) -> None:
    for member_id in on.here.members.unjoined:
        engine.timers.cancel(session_of(on.group_id, member_id))


def _evict_unjoined(engine: EffectContext, on: Input) -> None:
    members = on.here.members
    for member_id in members.unjoined:
        members.remove(member_id)
        if engine.timers.due_of(TimerKey(On.SESSION_END, on.group_id, member_id)) is not None:
            members.evicted[member_id] = None


def _next_generation(engine: EffectContext, on: Input) -> None:
    on.here.members.elect_joined()
    _next_generation_empty(engine, on)


def _next_generation_empty(engine: EffectContext, on: Input) -> None:
    engine.timers.cancel(TimerKey(On.JOIN_DEADLINE, on.group_id))
    engine.timers.cancel(TimerKey(On.INITIAL_DELAY_END, on.group_id))
    on.here.next_generation(partial(engine.choices.protocol, on.group_id))


def _answer_joins(engine: EffectContext, on: Input) -> None:
    group, members = on.here, on.here.members
    listed = members.listed(group.protocol_name)
    for member in members.by_id.values():
        parked = members.park_join(member, None)
        if parked is not None:
            engine.reply(parked.token, join_answer(on, member, listed if member.member_id == members.leader else ()))
        engine.timers.arm(session_of(group.group_id, member.member_id), on.now_ms + member.session_timeout_ms)
        member.is_new = False


def _answer_joins_sparing_newcomers(engine: EffectContext, on: Input) -> None:
    newcomers = [member for member in on.here.members if member.is_new]
    _answer_joins(engine, on)
    for member in newcomers:
        if member.session_timeout_ms < engine.settings.new_member_join_timeout_ms:
            engine.timers.cancel(session_of(on.group_id, member.member_id))


def _start_sync_deadline(engine: EffectContext, on: Input) -> None:
    group = on.here
    group.members.unsynced.update(dict.fromkeys(group.members.by_id))
    engine.timers.arm(TimerKey(On.SYNC_DEADLINE, on.group_id), on.now_ms + group.members.rebalance_timeout_ms)


def evict(engine: EffectContext, group: Group, member_id: str) -> None:
    """Remove a member or a pending id, with its timer."""
    group.members.remove(member_id)
    engine.timers.cancel(session_of(group.group_id, member_id))


JOIN_EFFECTS: Final[Mapping[EffectName, Callable[[EffectContext, Input], None]]] = {
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
