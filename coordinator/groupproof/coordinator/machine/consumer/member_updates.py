"""The first step of a heartbeat: update the member from the request. It may be new, return, or change its subscription."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from groupproof.coordinator.machine.consumer.consumer_event import group_of
from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember
from groupproof.coordinator.machine.consumer.effective_settings import consumer_settings
from groupproof.coordinator.machine.consumer.member_timers import end_session
from groupproof.coordinator.machine.consumer.regexes import matching
from groupproof.coordinator.machine.consumer.target_assignment import computed_assignor, stored_assignor

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_event import ConsumerGroupEvent
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.event import Event

__all__ = ["member_of_instance", "new_member", "new_member_id", "resolve_regexes", "take_up"]


def take_up(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    """Find or add the member and update it from the request. The event records the changes for the next steps."""
    group = group_of(event)
    event.member_id = event.member_id or new_member_id(engine, event)
    request = event.heartbeat
    event.look_back(resubscribes=event.member_epoch == 0 or request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
    member = _existing(engine, event) or new_member(event)
    event.beating, event.assigned_before = member, member.assigned
    owned = request.topic_partitions
    event.owned = None if owned is None else {topic.topic_id: frozenset(topic.partitions) for topic in owned}
    group.speak(member, None)
    _update_identity(engine, event, member)
    _update_subscription(engine, group, event, member)


def new_member_id(engine: EffectContext, event: Event) -> str:
    """Return an id as the coordinator makes it: a UUID without the client id as a prefix."""
    assert event.arrival is not None, "a member that gets an id has sent a request"
    return engine.choices.member_id("", event.arrival).lstrip("-")


def _existing(engine: EffectContext, event: ConsumerGroupEvent) -> ConsumerMember | None:
    group = group_of(event)
    holder = group.holder_of(event.instance_id)
    if holder is None or event.member_epoch != 0:
        return group.members.get(event.member_id)
    return member_of_instance(engine, event, holder)


def member_of_instance(engine: EffectContext, event: ConsumerGroupEvent, holder: ConsumerMember) -> ConsumerMember:
    """Give the place that waits for the instance to the returning member, with its share, at epoch 0 (CGS-18, CGS-21)."""
    group = group_of(event)
    if holder.member_id == event.member_id:
        holder.epoch = holder.previous_epoch = 0
        return holder
    successor = ConsumerMember(
        member_id=event.member_id, instance_id=holder.instance_id, rack_id=holder.rack_id, rebalance_timeout_ms=holder.rebalance_timeout_ms,
        assignor=holder.assignor, names=holder.names, regex=holder.regex, progress=holder.progress, assigned=holder.assigned, pending=holder.pending,
        classic=holder.classic,
    )  # fmt: skip
    end_session(engine, event.group_id, holder.member_id)
    group.replace(holder, successor)
    event.replaced = holder.member_id
    event.is_new = True
    return successor


def new_member(event: ConsumerGroupEvent) -> ConsumerMember:
    member = ConsumerMember(member_id=event.member_id)
    group_of(event).add(member)
    event.is_new = True
    return member


def _update_identity(engine: EffectContext, event: ConsumerGroupEvent, member: ConsumerMember) -> None:
    group, request = group_of(event), event.heartbeat
    if event.instance_id is not None and event.instance_id != member.instance_id:
        if member.instance_id is not None and not engine.fields["old_instance_leads"]:
            group.instances.pop(member.instance_id, None)
        member.instance_id = event.instance_id
        group.instances[event.instance_id] = member.member_id
    if request.rack_id is not None:
        member.rack_id = request.rack_id
    if request.rebalance_timeout_ms != -1:
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
    if event.arrival is not None:
        member.client_id, member.client_host = event.arrival.client_id, event.arrival.client_host


def _update_subscription(engine: EffectContext, group: ConsumerGroup, event: ConsumerGroupEvent, member: ConsumerMember) -> None:
    """Keep fields that are None. Other names bump the group epoch; another assignor does since 4.4 (CGX-01, CGX-05, CGX-06)."""
    request = event.heartbeat
    names = member.names if request.subscribed_topic_names is None else frozenset(request.subscribed_topic_names)
    regex = member.regex if request.subscribed_topic_regex is None else request.subscribed_topic_regex
    event.bumps = _changes_the_assignor(engine, event, member, request.server_assignor)
    if names == member.names and regex == member.regex:
        return
    if names != member.names:
        event.bumps = True
    if regex != member.regex and _bumps_at_once(engine, group, regex):
        event.bumps = True
    event.is_resubscribed = True
    group.resubscribe(member, names, regex)
    if regex and regex not in group.topics_of_regex and event.arrival is not None and engine.choices.resolves_at_once(event.arrival):
        group.resolver = event.arrival.client_id
        event.bumps |= resolve_regexes(engine, group, event.now_ms)


def resolve_regexes(engine: EffectContext, group: ConsumerGroup, now_ms: int) -> bool:
    """Match the group's regular expressions against the topics that its resolver may describe; return whether any result changed.

    `TopicRegexResolver.filterTopicDescribeAuthorizedTopics`: other topics are left out without an error.
    """
    names: Iterable[str] = engine.topics.by_name
    if engine.may_describe is not None:
        names = [name for name in names if engine.may_describe(group.resolver, name)]
    found = {regex: matching(regex, names) for regex in group.regexes}
    is_changed = any(topics != group.topics_of_regex.get(regex, frozenset()) for regex, topics in found.items())
    group.topics_of_regex, group.resolved_ms, group.resolved_version = found, now_ms, engine.topics.version
    return is_changed


def _bumps_at_once(engine: EffectContext, group: ConsumerGroup, regex: str) -> bool:
    """Return whether the expression takes effect at once, as it is already resolved. For a new one the resolution bumps (CGX-21, CGX-23, CGX-24)."""
    return regex in group.topics_of_regex if regex else bool(engine.fields["regex_drop_bumps"])


def _changes_the_assignor(engine: EffectContext, event: ConsumerGroupEvent, member: ConsumerMember, assignor: str | None) -> bool:
    """Update the member's vote where the request names an assignor; return whether the group's assignor changed.

    4.4: `hasPreferredServerAssignorChanged`. Kafka keeps the votes in two kinds of maps, which may order assignors with equal votes differently.
    Every heartbeat for one of them then bumps, while they are in a tie.
    """
    group, default, choices = group_of(event), consumer_settings(engine.settings).assignors[0], engine.choices
    if len(group.votes) < 2 and assignor in (None, member.assignor):
        return False  # at most one assignor has votes, and that does not change
    counts = bool(engine.fields["assignor_change_bumps"])
    before = stored_assignor(group, default, choices) if counts else ""
    if assignor is not None and assignor != member.assignor:
        group.vote(member, assignor)
    return counts and computed_assignor(group, default, choices, updated=event.member_id) != before
