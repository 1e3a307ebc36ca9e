"""Converts a group from one protocol to the other, with its members (KIP-848's online migration).

Kafka's `GroupMetadataManager.convertToConsumerGroup` and `convertToClassicGroup`, `ConsumerGroup.fromClassicGroup`, `ClassicGroup.fromConsumerGroup`.
The offsets belong to the partition, and stay there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.answers import sync_error
from groupproof.coordinator.machine.consumer.classic_blobs import assignment_of, partitions_by_id, share_in_bytes, subscription_of
from groupproof.coordinator.machine.consumer.consumer_event import group_of
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup, StoredConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import ClassicSide, ConsumerMember
from groupproof.coordinator.machine.consumer.leavers import leavers_of
from groupproof.coordinator.machine.consumer.member_timers import end_session, rejoin_of
from groupproof.coordinator.machine.effects import EFFECTS
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.join_effects import refuse_join
from groupproof.coordinator.machine.members import Member, leading_protocols
from groupproof.coordinator.machine.timers import TimerKey, session_of
from groupproof.protocol.rules.classic.classic_terms import Effect
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEffect, ConsumerEvent
from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_event import ConsumerGroupEvent
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.event import Event
    from groupproof.coordinator.machine.topics_image import TopicsImage
    from groupproof.protocol.rules.cells import EffectName

__all__ = ["MIGRATIONS", "joins_again"]

# Upgrades


def _abort_parked(engine: EffectContext, event: Event) -> None:
    """Kafka answers parked requests before it checks whether the group can be converted (CGG-15)."""
    members = event.existing_group.members
    for member in members:
        join, sync = members.park_join(member, None), members.park_sync(member, None)
        if join is not None:
            refuse_join(engine, join, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
        if sync is not None:
            engine.reply(sync.token, sync_error(ErrorCode.REBALANCE_IN_PROGRESS))


def _upgrade(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    _abort_parked(engine, event)
    classic = event.existing_group
    EFFECTS[Effect.FORGET_GROUP](engine, event)
    group = _consumer_group_of(classic, engine.topics, event.now_ms, epoch_min=engine.fields.get("upgrade_begins_at_1", 0))
    engine.put(event, group, "upgraded")
    engine.partition(event.group_id).groups[event.group_id] = StoredConsumerGroup(group)
    for member in classic.members:
        engine.timers.arm(session_of(event.group_id, member.member_id), event.now_ms + member.session_timeout_ms)
    engine.apply(event)


def _consumer_group_of(classic: Group, topics: TopicsImage, now_ms: int, *, epoch_min: int = 0) -> ConsumerGroup:
    """Return the consumer group. Its epochs start at the generation, and each member is settled with its last assignment (CGG-11, CGG-12).

    In every release generation 0 becomes epoch 0, which its members treat as the epoch of a join (`mends`).
    """
    epoch = max(classic.generation, epoch_min)
    group = ConsumerGroup(group_id=classic.group_id, since_ms=now_ms, generation=epoch, assignment_epoch=epoch)
    for member in classic.members:
        _add_classic(group, member, classic.protocol_name, topics)
    group.look_at(topics)
    group.state = group.inferred_state()
    return group


def _add_classic(group: ConsumerGroup, member: Member, protocol_name: str | None, topics: TopicsImage) -> None:
    subscription, assignment = subscription_of(member.metadata(protocol_name)), assignment_of(member)
    assert subscription is not None, "rows before this one let no other subscription through"
    assert assignment is not None, "rows before this one let no other assignment through"
    share = partitions_by_id(assignment.partitions, topics)
    group.add(ConsumerMember(
        member_id=member.member_id, instance_id=member.group_instance_id, rack_id=subscription.rack or None, client_id=member.client_id,
        client_host=member.client_host, rebalance_timeout_ms=member.rebalance_timeout_ms, names=frozenset(subscription.topics), epoch=group.generation,
        previous_epoch=group.generation, classic=ClassicSide(session_timeout_ms=member.session_timeout_ms, protocols=member.protocols),
    ))  # fmt: skip
    group.give(group.members[member.member_id], share)


# Downgrades


def joins_again(engine: EffectContext, event: ConsumerGroupEvent) -> bool:
    """Return whether the group must rejoin after a static member's return downgrades it: not where its target is still valid (CGG-64)."""
    if not engine.fields["old_target_joins_again"]:
        return event.bumps
    group = group_of(event)
    return group.assignment_epoch < group.generation


def _downgrade(engine: EffectContext, event: Event) -> None:
    """Keep the group epoch as the generation: the removal of the leavers does not bump it (CGG-56, CGG-57)."""
    group = group_of(event)
    gone = {member.member_id for member in leavers_of(event)}
    _convert(engine, event, [member for member in group.members.values() if member.member_id not in gone], group.generation)
    engine.consequence(ConsumerEvent.DOWNGRADED, event)


def _downgrade_by_return(engine: EffectContext, event: ConsumerGroupEvent) -> None:
    """Put the returned member last in joining order, as in Kafka."""
    group, returned, has_to_join = group_of(event), event.consumer, joins_again(engine, event)
    engine.timers.cancel(rejoin_of(event.group_id, event.member_id))
    others = [member for member in group.members.values() if member is not returned]
    _convert(engine, event, [*others, returned], event.epoch_before)
    if has_to_join:
        engine.consequence(ConsumerEvent.DOWNGRADED, event)


def _convert(engine: EffectContext, event: Event, members: Iterable[ConsumerMember], generation: int) -> None:
    group = group_of(event)
    for member_id in group.members:
        end_session(engine, event.group_id, member_id)
    engine.timers.cancel(TimerKey(ConsumerEvent.REGEX_RESOLUTION, event.group_id))
    del engine.groups[event.group_id]
    classic = Group(group_id=event.group_id, state=GroupState.STABLE, generation=generation, protocol_type="consumer", since_ms=event.now_ms)
    engine.put(event, classic, "downgraded")
    for member in members:
        classic.members.add(_classic_member(member))
    _assign(engine, group, classic)
    for restored in classic.members:
        engine.timers.arm(session_of(event.group_id, restored.member_id), event.now_ms + restored.session_timeout_ms)
    EFFECTS[Effect.STORE_GROUP](engine, event)


def _classic_member(member: ConsumerMember) -> Member:
    assert member.classic is not None, f"{member.member_id} speaks the consumer protocol and stays in a classic group"
    return Member(
        member_id=member.member_id, group_instance_id=member.instance_id, client_id=member.client_id, client_host=member.client_host,
        session_timeout_ms=member.classic.session_timeout_ms, rebalance_timeout_ms=member.rebalance_timeout_ms, protocol_type="consumer",
        protocols=member.classic.protocols,
    )  # fmt: skip


def _assign(engine: EffectContext, group: ConsumerGroup, classic: Group) -> None:
    """Choose the leader and the protocol, and give each member its share of the target (`ClassicGroup.fromConsumerGroup`)."""
    members = classic.members
    members.leader = members.elect(tuple(members.by_id))
    leading = leading_protocols(members.ballots)
    choose = partial(engine.choices.protocol, classic.group_id)
    classic.protocol_name = choose(leading) if len(leading) > 1 else leading[0]
    classic.subscriptions = members.metadata(classic.protocol_name)
    for member in members:
        member.assignment = share_in_bytes(group.target.get(member.member_id, {}), engine.topics, member.metadata(classic.protocol_name))


MIGRATIONS: Final[Mapping[EffectName, Callable[[Any, Any], None]]] = {
    ConsumerEffect.ABORT_PARKED: _abort_parked,
    ConsumerEffect.UPGRADE: _upgrade,
    ConsumerEffect.DOWNGRADE: _downgrade,
    ConsumerEffect.DOWNGRADE_BY_RETURN: _downgrade_by_return,
}
