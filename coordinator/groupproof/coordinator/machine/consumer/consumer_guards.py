"""Every guard of the `consumer` dialect's table, each a small pure function of the event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.consumer.classic_guards import CLASSIC_GUARDS
from groupproof.coordinator.machine.consumer.consumer_event import group_of
from groupproof.coordinator.machine.consumer.consumer_members import AWAY, LEFT, MemberProgress
from groupproof.coordinator.machine.consumer.effective_settings import consumer_settings
from groupproof.coordinator.machine.consumer.regexes import regex_problem
from groupproof.coordinator.machine.guards import GUARDS
from groupproof.protocol.rules.classic.classic_terms import Guard
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerGuard

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_event import ConsumerGroupEvent
    from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember
    from groupproof.coordinator.machine.event import Event
    from groupproof.protocol.rules.cells import GuardName
    from groupproof.protocol.wire.messages import FetchGroup

__all__ = ["CONSUMER_GUARDS", "EPOCH_COMMITS_SINCE", "fetches", "members_of_commit"]

JOINS: Final = 0
MEMBER_ID_OF_CLIENT_SINCE: Final = 1  # ConsumerGroupHeartbeat, KIP-1082
EPOCH_COMMITS_SINCE: Final = 9  # OffsetCommit and OffsetFetch, KIP-848

# The form of a heartbeat


def _member_id_missing(event: ConsumerGroupEvent) -> bool:
    if event.member_id:
        return False
    return event.version >= MEMBER_ID_OF_CLIENT_SINCE or event.member_epoch > JOINS or event.member_epoch == LEFT


def _instance_id_empty(event: ConsumerGroupEvent) -> bool:
    return event.instance_id == ""


def _rack_id_empty(event: ConsumerGroupEvent) -> bool:
    return event.heartbeat.rack_id == ""


def _joins(event: ConsumerGroupEvent) -> bool:
    return event.member_epoch == JOINS


def _join_without_timeout(event: ConsumerGroupEvent) -> bool:
    return _joins(event) and event.heartbeat.rebalance_timeout_ms == -1


def _join_owns(event: ConsumerGroupEvent) -> bool:
    return _joins(event) and event.heartbeat.topic_partitions != ()


def _join_without_subscription(event: ConsumerGroupEvent) -> bool:
    request = event.heartbeat
    return _joins(event) and request.subscribed_topic_names is None and request.subscribed_topic_regex is None


def _static_leave_without_instance(event: ConsumerGroupEvent) -> bool:
    return event.member_epoch == AWAY and event.instance_id is None


def _epoch_too_low(event: ConsumerGroupEvent) -> bool:
    return event.member_epoch < AWAY


def _assignor_unknown(event: ConsumerGroupEvent) -> bool:
    assignor = event.heartbeat.server_assignor
    return assignor is not None and assignor not in consumer_settings(event.settings).assignors


def _protocol_off(event: ConsumerGroupEvent) -> bool:
    return CONSUMER.name not in consumer_settings(event.settings).protocols


def _regex_invalid(event: ConsumerGroupEvent, *, has_named_groups: bool = True) -> bool:
    regex = event.heartbeat.subscribed_topic_regex
    if not regex:
        return False
    member = None if event.group is None or event.group.dialect is not CONSUMER else group_of(event).members.get(event.member_id)
    return (member is None or member.regex != regex) and regex_problem(regex, has_named_groups=has_named_groups) is not None


# The requester


def _leaves(event: ConsumerGroupEvent) -> bool:
    return event.member_epoch in (LEFT, AWAY)


def _is_established(event: ConsumerGroupEvent) -> bool:
    return event.member_epoch > JOINS


def _leaving_stranger(event: ConsumerGroupEvent) -> bool:
    return _leaves(event) and event.instance_id is None and event.member_id not in group_of(event).members


def _leaving_instance_unknown(event: ConsumerGroupEvent) -> bool:
    return _leaves(event) and event.instance_id is not None and group_of(event).holder_of(event.instance_id) is None


def _leaving_instance_fenced(event: ConsumerGroupEvent) -> bool:
    return _leaves(event) and _is_held_by_another(event)


def _is_held_by_another(event: ConsumerGroupEvent) -> bool:
    holder = group_of(event).holder_of(event.instance_id)
    return holder is not None and holder.member_id != event.member_id


def _leaves_for_now(event: ConsumerGroupEvent) -> bool:
    return event.member_epoch == AWAY


def _full(event: ConsumerGroupEvent) -> bool:
    return _full_for_new_ids(event) and group_of(event).holder_of(event.instance_id) is None


def _full_for_new_ids(event: ConsumerGroupEvent) -> bool:
    group = group_of(event)
    return len(group.members) >= consumer_settings(event.settings).members_max and event.member_id not in group.members


def _stranger(event: ConsumerGroupEvent) -> bool:
    return event.member_epoch > JOINS and event.instance_id is None and event.member_id not in group_of(event).members


def _own_instance_held(event: ConsumerGroupEvent) -> bool:
    holder = _joined_holder(event)
    return holder is not None and holder.member_id == event.member_id


def _instance_held(event: ConsumerGroupEvent) -> bool:
    holder = _joined_holder(event)
    return holder is not None and holder.member_id != event.member_id


def _joined_holder(event: ConsumerGroupEvent) -> ConsumerMember | None:
    """Return the holder of a joining member's instance id, if it is not away and speaks the consumer protocol."""
    holder = group_of(event).holder_of(event.instance_id) if _joins(event) else None
    return holder if holder is not None and not holder.is_away and holder.classic is None else None


def _instance_unknown(event: ConsumerGroupEvent) -> bool:
    return event.member_epoch > JOINS and event.instance_id is not None and group_of(event).holder_of(event.instance_id) is None


def _instance_fenced(event: ConsumerGroupEvent) -> bool:
    return event.member_epoch > JOINS and _is_held_by_another(event)


def _epoch_fenced(event: ConsumerGroupEvent) -> bool:
    return not _joins(event) and _epoch_fenced_at_0_too(event)


def _epoch_fenced_at_0_too(event: ConsumerGroupEvent) -> bool:
    """Return whether the member epoch is fenced. A static member that joins is not: it is new, or its place waits for it."""
    member = group_of(event).members.get(event.member_id)
    if member is None or (_joins(event) and event.instance_id is not None):
        return False
    if event.member_epoch >= member.epoch:
        return event.member_epoch > member.epoch
    return event.member_epoch != member.previous_epoch or not _owns_only_assigned(event, member)


def _owns_only_assigned(event: ConsumerGroupEvent, member: ConsumerMember) -> bool:
    """Return whether the member reports partitions, and only assigned ones (a lost answer, CGM-10)."""
    owned = event.heartbeat.topic_partitions
    return owned is not None and all(member.assigned.get(topic.topic_id, {}).keys() >= set(topic.partitions) for topic in owned)


def _state_unknown(event: ConsumerGroupEvent) -> bool:
    member = group_of(event).members.get(event.member_id)
    if member is None or member.progress is not MemberProgress.UNKNOWN:
        return False
    return event.member_epoch > JOINS and event.heartbeat.topic_partitions != ()


# Offsets


def fetches(event: Event) -> FetchGroup:
    """Return the part of an OffsetFetch that is about the group."""
    asked: Any = event.fetch
    assert asked is not None, "an OffsetFetch asks something of the group"
    return asked  # type: ignore[no-any-return]  # a broker that speaks the dialect reads every OffsetFetch so


def members_of_commit(event: ConsumerGroupEvent) -> tuple[str, int]:
    """Return the member id and the epoch of a commit or of a fetch."""
    if event.fetch is None:
        return event.member_id, event.generation
    asked = fetches(event)
    return asked.member_id or "", asked.member_epoch


def _no_membership(event: ConsumerGroupEvent) -> bool:
    return event.generation < 0


def _commits_as_stranger(event: ConsumerGroupEvent) -> bool:
    return members_of_commit(event)[0] not in group_of(event).members


def _commits_in_old_version(event: ConsumerGroupEvent) -> bool:
    member = group_of(event).members.get(event.member_id)
    return event.version < EPOCH_COMMITS_SINCE and (member is None or member.classic is None)


def _ahead_by(event: ConsumerGroupEvent) -> int:
    member_id, epoch = members_of_commit(event)
    return epoch - group_of(event).members[member_id].epoch


def _is_classic(event: ConsumerGroupEvent) -> bool:
    return members_of_commit(event)[0] in group_of(event).classic


def _fetches_as_nobody(event: ConsumerGroupEvent) -> bool:
    return event.version < EPOCH_COMMITS_SINCE or (fetches(event).member_id is None and fetches(event).member_epoch < 0)


# State and timers


def _revocation_over(event: ConsumerGroupEvent) -> bool:
    member = group_of(event).members.get(event.member_id)
    return member is None or member.ordered_at != member.epoch


CONSUMER_GUARDS: Final[Mapping[GuardName, Callable[[Any], bool]]] = {
    ConsumerGuard.MEMBER_ID_MISSING: _member_id_missing,
    ConsumerGuard.INSTANCE_ID_EMPTY: _instance_id_empty,
    ConsumerGuard.RACK_ID_EMPTY: _rack_id_empty,
    ConsumerGuard.JOIN_WITHOUT_TIMEOUT: _join_without_timeout,
    ConsumerGuard.JOIN_OWNS: _join_owns,
    ConsumerGuard.JOIN_WITHOUT_SUBSCRIPTION: _join_without_subscription,
    ConsumerGuard.STATIC_LEAVE_WITHOUT_INSTANCE: _static_leave_without_instance,
    ConsumerGuard.EPOCH_TOO_LOW: _epoch_too_low,
    ConsumerGuard.ASSIGNOR_UNKNOWN: _assignor_unknown,
    ConsumerGuard.PROTOCOL_OFF: _protocol_off,
    ConsumerGuard.REGEX_INVALID: _regex_invalid,
    ConsumerGuard.REGEX_INVALID_OR_NAMES: partial(_regex_invalid, has_named_groups=False),
    ConsumerGuard.LEAVES: _leaves,
    ConsumerGuard.IS_ESTABLISHED: _is_established,
    ConsumerGuard.LEAVING_STRANGER: _leaving_stranger,
    ConsumerGuard.LEAVING_INSTANCE_UNKNOWN: _leaving_instance_unknown,
    ConsumerGuard.LEAVING_INSTANCE_FENCED: _leaving_instance_fenced,
    ConsumerGuard.LEAVES_FOR_NOW: _leaves_for_now,
    ConsumerGuard.FULL: _full,
    ConsumerGuard.FULL_FOR_NEW_IDS: _full_for_new_ids,
    ConsumerGuard.STRANGER: _stranger,
    ConsumerGuard.OWN_INSTANCE_HELD: _own_instance_held,
    ConsumerGuard.INSTANCE_HELD: _instance_held,
    ConsumerGuard.INSTANCE_UNKNOWN: _instance_unknown,
    ConsumerGuard.INSTANCE_FENCED: _instance_fenced,
    ConsumerGuard.EPOCH_FENCED: _epoch_fenced,
    ConsumerGuard.EPOCH_FENCED_AT_0_TOO: _epoch_fenced_at_0_too,
    ConsumerGuard.STATE_UNKNOWN: _state_unknown,
    ConsumerGuard.NO_MEMBERSHIP: _no_membership,
    ConsumerGuard.COMMITS_AS_STRANGER: _commits_as_stranger,
    ConsumerGuard.COMMITS_IN_OLD_VERSION: _commits_in_old_version,
    ConsumerGuard.EPOCH_NEWER: lambda event: _ahead_by(event) > 0,
    ConsumerGuard.EPOCH_OLDER: lambda event: _ahead_by(event) < 0,
    ConsumerGuard.EPOCH_OTHER: lambda event: _ahead_by(event) != 0,
    ConsumerGuard.CLASSIC_EPOCH_NEWER: lambda event: _is_classic(event) and _ahead_by(event) > 0,
    ConsumerGuard.CLASSIC_EPOCH_OLDER: lambda event: _is_classic(event) and _ahead_by(event) < 0,
    ConsumerGuard.CLASSIC_EPOCH_OTHER: lambda event: _is_classic(event) and _ahead_by(event) != 0,
    ConsumerGuard.FETCHES_AS_NOBODY: _fetches_as_nobody,
    ConsumerGuard.FETCHES_WITHOUT_NAME: lambda event: fetches(event).member_id is None,
    ConsumerGuard.HAS_NO_MEMBERS: lambda event: not group_of(event).members,
    ConsumerGuard.GROUP_EPOCH_AHEAD: lambda event: group_of(event).generation > group_of(event).assignment_epoch,
    ConsumerGuard.MEMBER_UNSETTLED: lambda event: len(group_of(event).settled) < len(group_of(event).members),
    ConsumerGuard.REVOCATION_OVER: _revocation_over,
    **CLASSIC_GUARDS,
    **{guard: GUARDS[guard] for guard in CONSUMER.guards if isinstance(guard, Guard)},
}
