"""The guards of classic members in a consumer group, and of the conversion of a group between the protocols. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.consumer.classic_blobs import assignment_of, first_unreadable, subscription_of
from groupproof.coordinator.machine.consumer.consumer_event import group_of
from groupproof.coordinator.machine.consumer.consumer_members import MemberProgress
from groupproof.coordinator.machine.consumer.effective_settings import consumer_settings
from groupproof.coordinator.machine.consumer.leavers import leavers_of
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerGuard

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_event import ConsumerGroupEvent
    from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember
    from groupproof.coordinator.machine.event import Event
    from groupproof.protocol.rules.cells import GuardName

__all__ = ["CLASSIC_GUARDS"]

CONSUMER_TYPE: Final = "consumer"

# Upgrades: the group is a classic one


def _upgrades_off(event: Event) -> bool:
    return not consumer_settings(event.settings).upgrades


def _too_many_to_upgrade(event: Event) -> bool:
    return len(event.existing_group.members) > consumer_settings(event.settings).members_max


def _protocol_missing(event: Event) -> bool:
    """Nothing catches the exception of `ClassicGroupMember.metadata`, nor that of `protocolName().get()` before the first generation."""
    group = event.existing_group
    member = first_unreadable(group)
    return member is not None and assignment_of(member) is not None and not member.supports(group.protocol_name)


def _unreadable(event: Event) -> bool:
    return first_unreadable(event.existing_group) is not None


def _upgraded_full_for_new_ids(event: ConsumerGroupEvent) -> bool:
    members = event.existing_group.members
    return len(members) >= consumer_settings(event.settings).members_max and event.member_id not in members


def _upgraded_full(event: ConsumerGroupEvent) -> bool:
    return _upgraded_full_for_new_ids(event) and event.instance_id not in event.existing_group.members.instances


def _own_id_joins(event: ConsumerGroupEvent) -> bool:
    return event.instance_id is None and event.member_id in event.existing_group.members


# Downgrades


def _downgrades(event: Event) -> bool:
    """`validateOnlineDowngradeWithFencedMembers`: a group that becomes Empty stays a consumer group (CGG-59)."""
    group, leavers = group_of(event), leavers_of(event)
    if not leavers or not consumer_settings(event.settings).downgrades:
        return False
    members_left = len(group.members) - len(leavers)
    classic_left = len(group.classic) - sum(member.classic is not None for member in leavers)
    return classic_left == members_left and 0 < members_left <= event.settings.group_max_size


def _downgrades_by_return(event: Event) -> bool:
    """`validateOnlineDowngradeWithReplacedMember`."""
    group = group_of(event)
    holder = group.holder_of(event.instance_id)
    if holder is None or holder.classic is not None or not consumer_settings(event.settings).downgrades:
        return False
    return len(group.classic) == len(group.members) - 1 and len(group.members) <= event.settings.group_max_size


def _downgrades_without_target(event: Event) -> bool:
    """`ClassicGroup.fromConsumerGroup` assumes that every member is in the target."""
    return _downgrades(event) and not group_of(event).has_target_of_all(beside=leavers_of(event))


def _returns_without_target(event: Event) -> bool:
    """Kafka gives the returning member the assignment of the member that it replaces (`joiningMember`)."""
    return _downgrades_by_return(event) and not group_of(event).has_target_of_all()


# JoinGroup


def _classic_off(event: Event) -> bool:
    return consumer_settings(event.settings).migration_policy == "disabled"


def _protocols_unfit(event: Event) -> bool:
    return event.join.protocol_type != CONSUMER_TYPE or not group_of(event).supports_any([protocol.name for protocol in event.join.protocols])


def _joining_instance_unknown(event: Event) -> bool:
    return bool(event.member_id) and _holder_unknown(event)


def _joining_instance_fenced(event: Event) -> bool:
    return bool(event.member_id) and _holder_fenced(event)


def _subscription_unreadable(event: Event) -> bool:
    return subscription_of(event.join.protocols[0].metadata) is None


# Heartbeat and SyncGroup


def _holder_unknown(event: Event) -> bool:
    return event.instance_id is not None and group_of(event).holder_of(event.instance_id) is None


def _holder_fenced(event: Event) -> bool:
    holder = group_of(event).holder_of(event.instance_id)
    return holder is not None and holder.member_id != event.member_id


def _member(event: Event) -> ConsumerMember:
    return group_of(event).members[event.member_id]


def _no_classic_member(event: Event) -> bool:
    return event.member_id not in group_of(event).classic


def _other_epoch(event: Event) -> bool:
    return event.generation != _member(event).epoch


def _has_to_move(event: Event) -> bool:
    """Return whether a JoinGroup would advance the member, regardless of a newer epoch."""
    member = _member(event)
    if member.progress is MemberProgress.UNRELEASED_PARTITIONS:
        return not group_of(event).is_waiting(member)
    return member.progress is MemberProgress.UNREVOKED_PARTITIONS


def _must_rejoin(event: Event) -> bool:
    return _member(event).epoch < group_of(event).assignment_epoch or _has_to_move(event)


def _must_rejoin_for_epoch(event: Event) -> bool:
    return _member(event).epoch < group_of(event).generation or _has_to_move(event)


def _has_nothing_to_revoke(event: Event) -> bool:
    return _member(event).progress is not MemberProgress.UNREVOKED_PARTITIONS


def _must_rejoin_first(event: Event) -> bool:
    return _member(event).epoch < group_of(event).assignment_epoch and _has_nothing_to_revoke(event)


def _must_rejoin_first_for_epoch(event: Event) -> bool:
    return _member(event).epoch < group_of(event).generation and _has_nothing_to_revoke(event)


def _protocol_unlike_join(event: Event) -> bool:
    side = _member(event).classic
    assert side is not None, "rows before this one let no other member through"
    return event.sync.protocol_type not in (None, CONSUMER_TYPE) or event.sync.protocol_name not in (None, side.protocol.name)


CLASSIC_GUARDS: Final[Mapping[GuardName, Callable[[Any], bool]]] = {
    ConsumerGuard.UPGRADES_OFF: _upgrades_off,
    ConsumerGuard.TOO_MANY_TO_UPGRADE: _too_many_to_upgrade,
    ConsumerGuard.PROTOCOL_MISSING: _protocol_missing,
    ConsumerGuard.UNREADABLE: _unreadable,
    ConsumerGuard.UPGRADED_FULL: _upgraded_full,
    ConsumerGuard.UPGRADED_FULL_FOR_NEW_IDS: _upgraded_full_for_new_ids,
    ConsumerGuard.OWN_ID_JOINS: _own_id_joins,
    ConsumerGuard.DOWNGRADES: _downgrades,
    ConsumerGuard.DOWNGRADES_BY_RETURN: _downgrades_by_return,
    ConsumerGuard.DOWNGRADES_WITHOUT_TARGET: _downgrades_without_target,
    ConsumerGuard.RETURNS_WITHOUT_TARGET: _returns_without_target,
    ConsumerGuard.CLASSIC_OFF: _classic_off,
    ConsumerGuard.PROTOCOLS_UNFIT: _protocols_unfit,
    ConsumerGuard.JOINING_INSTANCE_UNKNOWN: _joining_instance_unknown,
    ConsumerGuard.JOINING_INSTANCE_FENCED: _joining_instance_fenced,
    ConsumerGuard.SUBSCRIPTION_UNREADABLE: _subscription_unreadable,
    ConsumerGuard.HOLDER_UNKNOWN: _holder_unknown,
    ConsumerGuard.HOLDER_FENCED: _holder_fenced,
    ConsumerGuard.NO_CLASSIC_MEMBER: _no_classic_member,
    ConsumerGuard.OTHER_EPOCH: _other_epoch,
    ConsumerGuard.MUST_REJOIN: _must_rejoin,
    ConsumerGuard.MUST_REJOIN_FOR_EPOCH: _must_rejoin_for_epoch,
    ConsumerGuard.MUST_REJOIN_FIRST: _must_rejoin_first,
    ConsumerGuard.MUST_REJOIN_FIRST_FOR_EPOCH: _must_rejoin_first_for_epoch,
    ConsumerGuard.PROTOCOL_UNLIKE_JOIN: _protocol_unlike_join,
}
