"""Every effect of the `consumer` dialect's table: heartbeat steps, leaves and timers (Kafka's `GroupMetadataManager.consumerGroupHeartbeat`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.consumer.classic_effects import CLASSIC_EFFECTS
from groupproof.coordinator.machine.consumer.commit_epochs import EPOCH_COMMITS
from groupproof.coordinator.machine.consumer.consumer_event import group_of
from groupproof.coordinator.machine.consumer.consumer_group import StoredConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import AWAY, MemberProgress
from groupproof.coordinator.machine.consumer.effective_settings import GroupTimes, consumer_settings, group_times
from groupproof.coordinator.machine.consumer.leavers import leavers_of
from groupproof.coordinator.machine.consumer.member_timers import end_timers, revocation_of
from groupproof.coordinator.machine.consumer.member_updates import resolve_regexes, take_up
from groupproof.coordinator.machine.consumer.migration import MIGRATIONS, joins_again
from groupproof.coordinator.machine.consumer.reconciliation import Reconciler
from groupproof.coordinator.machine.consumer.target_assignment import computed_assignor, stored_assignor, target_of
from groupproof.coordinator.machine.effects import EFFECTS
from groupproof.coordinator.machine.timers import TimerKey, session_of
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEffect, ConsumerEvent
from groupproof.protocol.rules.consumer.group_configs import REGEX_REFRESH_LEAST_MS

if TYPE_CHECKING:
    from groupproof.coordinator.assignors.group_spec import SubscriptionType
    from groupproof.coordinator.machine.consumer.consumer_event import ConsumerGroupEvent
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
    from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.event import Event
    from groupproof.protocol.rules.cells import EffectName

__all__ = ["CONSUMER_EFFECTS", "times_of", "waits_for_target"]


_RETRY_MS: Final = 500


def times_of(engine: EffectContext, group_id: str) -> GroupTimes:
    """Return the group's effective times: the broker's, or its own configs."""
    configs = engine.group_configs.get(group_id)
    if not configs:
        return consumer_settings(engine.settings).times
    return group_times(engine.settings, configs, raises=bool(engine.fields["configs_are_raised"]))


# Creation and death of groups


def _create_group(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    EFFECTS[Effect.CREATE_GROUP](engine, event)
    group = group_of(event)
    group.generation = group.assignment_epoch = engine.fields["first_group_epoch"]


def _replace_classic_group(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    """Begin the epochs anew (`maybeDeleteEmptyClassicGroup`). The offsets stay, because they belong to the partition (CGG-13)."""
    EFFECTS[Effect.FORGET_GROUP](engine, event)
    _create_group(engine, event)


def _replace_consumer_group(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    _forget(engine, event)
    engine.partition(event.group_id).groups.pop(event.group_id, None)
    event.group = None
    engine.apply(event)


def _forget(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    for member_id in group_of(event).members:
        end_timers(engine, event.group_id, member_id)
    engine.timers.cancel(TimerKey(ConsumerEvent.REGEX_RESOLUTION, event.group_id))
    del engine.groups[event.group_id]


def _store(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    groups, group = engine.partition(event.group_id).groups, group_of(event)
    stored = groups.get(event.group_id)
    if not (isinstance(stored, StoredConsumerGroup) and stored.group is group):
        groups[event.group_id] = StoredConsumerGroup(group)


def _check_state(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    group = group_of(event)
    if group.state is not group.inferred_state():
        engine.consequence(ConsumerEvent.STATE_CHECK, event)


# The steps of a heartbeat


def _bump(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    """Count the group epoch up by one for one trigger (CGI-14).

    Until 4.2 a group leaves epoch 0 in any case (CGM-07). Since 4.3 no group begins there, but one whose classic group had no generation yet stays
    at 0.

    A group checks only with its topics whether all members have the same subscription. A member that joins without a topic, or with an unresolved
    regular expression, may therefore count as equal to the others (the previous `ConsumerGroup.subscriptionType`).
    """
    group = group_of(event)
    before = group.generation
    bumps = event.bumps or (group.generation == 0 and not engine.fields["first_group_epoch"])
    if bumps or group.is_stale:
        bumps = group.look_at(engine.topics) or bumps
        event.subscriptions = None
    if bumps:
        _count_up(engine, event)
        event.has_bumped = group.generation != before


def _count_up(engine: EffectContext, event: Event) -> None:
    group = group_of(event)
    group.generation = engine.choices.group_epoch(group, event.arrival)


def _assign(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    group = group_of(event)
    if group.generation <= group.assignment_epoch or waits_for_target(engine, group, event.now_ms):
        return
    if event.has_bumped and not engine.choices.computes_target(group, event.arrival, is_usual=True):
        return
    _compute_target(
        engine, event, updated=event.member_id, newcomer=event.is_new, replaced=event.replaced,
        subscriptions=None if engine.fields.get("target_by_own_subscriptions") else event.subscriptions,
    )  # fmt: skip


def _compute_target(
    engine: EffectContext, event: Event, *,
    updated: str | None = None, newcomer: bool = False, replaced: str | None = None, subscriptions: SubscriptionType | None = None,
) -> None:  # fmt: skip
    """Compute the target of the group's epoch, for the heartbeat of the member `updated` if there is one (`target_of`)."""
    group = group_of(event)
    group.assignor = computed_assignor(group, _default_assignor(engine), engine.choices, updated=updated)
    group.target = target_of(
        group, group.assignor, engine.choices, updated=updated, newcomer=newcomer, replaced=replaced,
        is_view=not engine.fields["old_instance_leads"], subscriptions=subscriptions,
    )  # fmt: skip
    group.assignment_epoch, group.assigned_ms = group.generation, event.now_ms
    group.note_all_progress()


def _assign_remaining(engine: EffectContext, event: Event) -> None:
    """Compute the target of the remaining members, where a coordinator does so before the next heartbeat."""
    group = group_of(event)
    if group.members and engine.choices.computes_target(group, event.arrival, is_usual=False):
        _compute_target(engine, event)


def _default_assignor(engine: EffectContext) -> str:
    return consumer_settings(engine.settings).assignors[0]


def waits_for_target(engine: EffectContext, group: ConsumerGroup, now_ms: int) -> bool:
    """Return whether the next target is computed later (KIP-1263)."""
    if not engine.fields["assignment_waits"] or group.assigned_ms is None:
        return False
    interval_ms = times_of(engine, group.group_id).assignment_interval_ms
    return bool(interval_ms) and not engine.choices.is_over(group.assigned_ms + interval_ms, now_ms)


def _reconcile(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    group, member, fields = group_of(event), event.consumer, engine.fields
    drops_topics = bool(fields["revokes_dropped_topics"])
    enforces = drops_topics and event.is_resubscribed
    if member.is_settled(group.assignment_epoch) and not enforces:
        group.note_progress(member)
        return
    step = Reconciler(
        target=group.target.get(member.member_id, {}),
        target_epoch=group.assignment_epoch,
        owned=event.owned,
        is_owned=lambda topic_id, index: (topic_id, index) in group.owners,
        subscribed=_topic_ids(engine, group, member) if drops_topics else None,
        enforces=enforces,
        keeps_epoch=bool(fields["outdated_order_keeps_epoch"]),
        frees_own=bool(fields["own_pending_is_free"]),
    ).step(member)
    if step is not None:
        group.take(member, step)
        if member.classic is None:  # a classic member has its deadlines to rejoin and to sync instead
            _watch_revocation(engine, event, member)


def _reconcile_unless_stale(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    if not joins_again(engine, event):
        _reconcile(engine, event)


def _topic_ids(engine: EffectContext, group: ConsumerGroup, member: ConsumerMember) -> frozenset[str]:
    by_name = engine.topics.by_name
    return frozenset(by_name[name].topic_id for name in group.names_of(member) if name in by_name)


def _watch_revocation(engine: EffectContext, event: ConsumerGroupEvent, member: ConsumerMember) -> None:
    """Arm the rebalance timer with the order to revoke, not with the target behind it (CGM-47)."""
    key = revocation_of(event.group_id, member.member_id)
    if member.progress is MemberProgress.UNREVOKED_PARTITIONS:
        member.ordered_at = member.epoch
        engine.timers.arm(key, event.now_ms + max(0, member.rebalance_timeout_ms))
    else:
        member.ordered_at = None
        engine.timers.cancel(key)


def _refresh_session(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    times = times_of(engine, event.group_id)
    event.interval_ms = times.heartbeat_interval_ms
    engine.timers.arm(session_of(event.group_id, event.member_id), event.now_ms + times.session_timeout_ms)


def _order_resolution(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    """Order the resolution. Kafka does it on another thread: the answer does not wait for it (CGX-19)."""
    group = group_of(event)
    if event.kind is ConsumerEvent.CLASSIC_JOIN and not engine.fields["join_drops_regex"]:
        return
    if not group.regexes or not _resolution_is_due(engine, group, event):
        return
    resolution = TimerKey(ConsumerEvent.REGEX_RESOLUTION, event.group_id)
    if engine.timers.due_of(resolution) is None:
        assert event.arrival is not None, "a request asks for the resolution"
        group.resolver = event.arrival.client_id  # the topics that this client may see count for all members (CGX-31)
        engine.timers.arm(resolution, event.now_ms)


def _resolution_is_due(engine: EffectContext, group: ConsumerGroup, event: ConsumerGroupEvent) -> bool:
    """Return whether the group resolves its regular expressions now: at most once in 10 s, even for a new one (CGX-28,
    `maybeUpdateRegularExpressions`)."""
    last_ms = event.resolved_before_ms
    if last_ms is not None and event.now_ms <= last_ms + REGEX_REFRESH_LEAST_MS:
        return False
    is_new = bool(event.consumer.regex) and event.consumer.regex not in group.topics_of_regex
    if last_ms is None or is_new or len(group.regexes) != event.resolved_before:
        return True
    has_new_topics = engine.topics.names_version > group.resolved_version
    return has_new_topics or event.now_ms > last_ms + consumer_settings(engine.settings).regex_refresh_interval_ms


def _resolve(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    """Bump if an expression matches other topics, or the group's topics differ from those at the last bump: an expression may have been dropped since
    (`handleRegularExpressionsResult` compares the metadata's hash)."""
    group = group_of(event)
    matches_others = resolve_regexes(engine, group, event.now_ms)
    if group.look_at(engine.topics) or matches_others:
        _count_up(engine, event)


# Descriptions


def _look_up(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    event.topic_names = {topic.topic_id: name for name, topic in engine.topics.by_name.items()}
    event.assignor = stored_assignor(group_of(event), _default_assignor(engine), engine.choices)
    event.describes_pending = bool(engine.fields["describes_pending"])


# Leaves


def _leave_for_now(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    """Keep the slot until the session ends, which runs from the last heartbeat (CGS-12, CGS-27)."""
    group = group_of(event)
    member = group.holder_of(event.instance_id)
    assert member is not None, "a member that leaves with epoch -2 has an instance id"
    group.free_pending(member)
    member.epoch = AWAY
    group.note_progress(member)


def _remove(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    """Remove the leaving members. The group epoch goes up by one for all of them (CGM-33, `consumerGroupFenceMembers`)."""
    group, leavers = group_of(event), leavers_of(event)
    if leavers:
        group.unmatched = frozenset()
    for member in leavers:
        end_timers(engine, group.group_id, member.member_id)
        group.remove(member)
    if not leavers:
        return
    group.look_at(engine.topics)
    _count_up(engine, event)
    _assign_remaining(engine, event)
    if not group.members and not engine.fields["empty_group_waits"]:
        group.assigned_ms, group.assignment_epoch = None, group.generation


def _try_again(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    """Retry a timer of a consumer group whose write failed (`EventBasedCoordinatorTimer`)."""
    engine.timers.arm(TimerKey(event.kind, event.group_id, event.member_id), event.now_ms + _RETRY_MS)


def _restart_timers(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    """Restart the timers with the full timeouts (CGL-05, CGL-06)."""
    session_ms = times_of(engine, event.group_id).session_timeout_ms
    for member in group_of(event).members.values():
        engine.timers.arm(session_of(event.group_id, member.member_id), event.now_ms + session_ms)
        if member.progress is MemberProgress.UNREVOKED_PARTITIONS:
            _watch_revocation(engine, event, member)


CONSUMER_EFFECTS: Final[Mapping[EffectName, Callable[[Any, Any], None]]] = {
    ConsumerEffect.CREATE_GROUP: _create_group,
    ConsumerEffect.REPLACE_CLASSIC_GROUP: _replace_classic_group,
    ConsumerEffect.REPLACE_CONSUMER_GROUP: _replace_consumer_group,
    ConsumerEffect.TAKE_UP: take_up,
    ConsumerEffect.BUMP: _bump,
    ConsumerEffect.ASSIGN: _assign,
    ConsumerEffect.RECONCILE: _reconcile,
    ConsumerEffect.REFRESH_SESSION: _refresh_session,
    ConsumerEffect.ORDER_RESOLUTION: _order_resolution,
    ConsumerEffect.LEAVE_FOR_NOW: _leave_for_now,
    ConsumerEffect.REMOVE: _remove,
    ConsumerEffect.RESOLVE: _resolve,
    ConsumerEffect.CHECK_STATE: _check_state,
    ConsumerEffect.STORE: _store,
    ConsumerEffect.TRY_AGAIN: _try_again,
    ConsumerEffect.RESTART_TIMERS: _restart_timers,
    ConsumerEffect.FORGET: _forget,
    ConsumerEffect.LOOK_UP: _look_up,
    ConsumerEffect.RECONCILE_UNLESS_STALE: _reconcile_unless_stale,
    **EPOCH_COMMITS,
    **CLASSIC_EFFECTS,
    **MIGRATIONS,
    **{effect: EFFECTS[effect] for effect in CONSUMER.effects if isinstance(effect, Effect)},
}

assert ClassicEvent.SESSION_END in CONSUMER.timers, "a member's session is the timer of the classic dialect"
