"""The effects of classic members' requests to a consumer group: JoinGroup, SyncGroup, Heartbeat (Kafka's `classicGroupJoinToConsumerGroup` etc.)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.consumer.classic_blobs import partitions_by_id, share_in_bytes, subscription_of
from groupproof.coordinator.machine.consumer.consumer_event import ConsumerGroupEvent, group_of
from groupproof.coordinator.machine.consumer.consumer_members import ClassicSide
from groupproof.coordinator.machine.consumer.leavers import entries_of
from groupproof.coordinator.machine.consumer.member_timers import rejoin_of, resync_of
from groupproof.coordinator.machine.consumer.member_updates import member_of_instance, new_member, new_member_id
from groupproof.coordinator.machine.timers import session_of
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEffect, ConsumerEvent
from groupproof.protocol.wire.messages import JoinGroupRequest, JoinGroupResponse

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.event import Event
    from groupproof.protocol.rules.cells import EffectName
    from groupproof.protocol.wire.subscription import Subscription

__all__ = ["CLASSIC_EFFECTS"]


# JoinGroup


def _name_member(engine: EffectContext, event: Event) -> None:
    """Store no pending id: the next JoinGroup may come with any id (CGG-24)."""
    event.answered_id = new_member_id(engine, event)


def _join_as_classic(engine: EffectContext, event: Event) -> None:
    joining = ConsumerGroupEvent(
        kind=ConsumerEvent.CLASSIC_JOIN, now_ms=event.now_ms, settings=event.settings, group_id=event.group_id, group=event.group,
        member_id=event.member_id, instance_id=event.instance_id, request=event.request, arrival=event.arrival,
    )  # fmt: skip
    engine.apply(joining)
    event.group = joining.group


def _take_up_classic(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    group, asked = group_of(event), event.join
    assert isinstance(asked, JoinGroupRequest)
    event.epoch_before = group.generation
    event.look_back()
    subscription = subscription_of(asked.protocols[0].metadata)
    assert subscription is not None, "rows before this one let no other subscription through"
    member = _joining(engine, event)
    event.beating, event.assigned_before = member, member.assigned
    owned = partitions_by_id(subscription.owned, engine.topics)
    event.owned = {topic_id: frozenset(indexes) for topic_id, indexes in owned.items()}
    group.speak(member, ClassicSide(session_timeout_ms=asked.session_timeout_ms, protocols=asked.protocols))
    _update(engine, event, member, subscription)


def _joining(engine: EffectContext, event: ConsumerGroupEvent) -> ConsumerMember:
    """Return the joining member: by its id, or a new one. Without an id it is the holder of the instance, under a new id (CGG-63)."""
    group = group_of(event)
    is_nameless = not event.member_id
    event.member_id = event.member_id or new_member_id(engine, event)
    holder = group.holder_of(event.instance_id)
    if holder is not None:
        return member_of_instance(engine, event, holder) if is_nameless else holder
    return group.members.get(event.member_id) or new_member(event)


def _update(engine: EffectContext, event: ConsumerGroupEvent, member: ConsumerMember, subscription: Subscription) -> None:
    group, asked = group_of(event), event.join
    if event.instance_id is not None and event.instance_id != member.instance_id:
        member.instance_id = event.instance_id
        group.instances[event.instance_id] = member.member_id
    member.rack_id = subscription.rack or member.rack_id
    member.rebalance_timeout_ms = _rebalance_timeout_ms(asked, member.rebalance_timeout_ms, event.version)
    assert event.arrival is not None, "a JoinGroup arrives"
    member.client_id, member.client_host = event.arrival.client_id, event.arrival.client_host
    names = frozenset(subscription.topics)
    regex = "" if engine.fields["join_drops_regex"] else member.regex
    event.bumps = event.is_resubscribed = names != member.names or regex != member.regex
    group.resubscribe(member, names, regex)


def _rebalance_timeout_ms(asked: JoinGroupRequest, before_ms: int, version: int) -> int:
    """Return the member's rebalance timeout. In v0 it is the session timeout (`JoinGroupRequest.maybeOverrideRebalanceTimeout`)."""
    if version == 0:
        return asked.session_timeout_ms
    return before_ms if asked.rebalance_timeout_ms == -1 else asked.rebalance_timeout_ms


def _await_sync(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    group_id, member_id, asked = event.group_id, event.member_id, event.join
    engine.timers.cancel(rejoin_of(group_id, member_id))
    engine.timers.arm(session_of(group_id, member_id), event.now_ms + asked.session_timeout_ms)
    engine.timers.arm(resync_of(group_id, member_id), event.now_ms + max(0, _rebalance_timeout_ms(asked, -1, event.version)))


def _answer_join(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    """Name no leader: no member computes an assignment (CGG-26, CGG-27)."""
    member = event.consumer
    assert event.arrival is not None, "a JoinGroup arrives"
    assert member.classic is not None, "a member that joins with a JoinGroup is classic"
    engine.reply(
        event.arrival.token,
        JoinGroupResponse(
            generation_id=member.epoch, protocol_type="consumer", protocol_name=member.classic.protocol.name, member_id=member.member_id,
        ),
    )  # fmt: skip


# SyncGroup, Heartbeat and LeaveGroup


def _side(event: Event) -> tuple[ConsumerMember, ClassicSide]:
    member = group_of(event).members[event.member_id]
    assert member.classic is not None, "rows before this one let no other member through"
    return member, member.classic


def _note_share(engine: EffectContext, event: Event) -> None:
    member, side = _side(event)
    event.assignment = {member.member_id: share_in_bytes(member.assigned, engine.topics, side.protocol.metadata)}


def _refresh_classic_session(engine: EffectContext, event: Event) -> None:
    engine.timers.arm(session_of(event.group_id, event.member_id), event.now_ms + _side(event)[1].session_timeout_ms)


def _await_rejoin(engine: EffectContext, event: Event) -> None:
    """Arm the timer once: further REBALANCE_IN_PROGRESS answers do not arm it again (`scheduleConsumerGroupJoinTimeoutIfAbsent`, CGG-40)."""
    key = rejoin_of(event.group_id, event.member_id)
    if engine.timers.due_of(key) is None:
        engine.timers.arm(key, event.now_ms + max(0, _side(event)[0].rebalance_timeout_ms))


def _end_resync(engine: EffectContext, event: Event) -> None:
    engine.timers.cancel(resync_of(event.group_id, event.member_id))


def _note_leavers(engine: EffectContext, event: Event) -> None:
    event.left = entries_of(event)


CLASSIC_EFFECTS: Final[Mapping[EffectName, Callable[[Any, Any], None]]] = {
    ConsumerEffect.NAME_MEMBER: _name_member,
    ConsumerEffect.JOIN_AS_CLASSIC: _join_as_classic,
    ConsumerEffect.TAKE_UP_CLASSIC: _take_up_classic,
    ConsumerEffect.AWAIT_SYNC: _await_sync,
    ConsumerEffect.ANSWER_JOIN: _answer_join,
    ConsumerEffect.NOTE_SHARE: _note_share,
    ConsumerEffect.REFRESH_CLASSIC_SESSION: _refresh_classic_session,
    ConsumerEffect.AWAIT_REJOIN: _await_rejoin,
    ConsumerEffect.END_RESYNC: _end_resync,
    ConsumerEffect.NOTE_LEAVERS: _note_leavers,
}
