"""Every guard of the classic table: a small pure function of the event. The coordinator has no other condition on a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.members import breaks_the_reader, chosen_metadata, leading_protocols
from groupproof.protocol.rules.classic.classic_terms import Guard
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.messages import OffsetDeleteRequest

if TYPE_CHECKING:
    from groupproof.coordinator.machine.event import Event
    from groupproof.protocol.rules.cells import GuardName

__all__ = ["GUARDS", "MEMBER_ID_REQUIRED_SINCE", "PROTOCOL_NAMED_SINCE"]

MEMBER_ID_REQUIRED_SINCE: Final = 4  # JoinGroup, KIP-394
ERROR_UNSAID_SINCE: Final = 6  # JoinGroup, as in 2.4
SKIP_ASSIGNMENT_SINCE: Final = 9  # JoinGroup, KIP-814
PROTOCOL_NAMED_SINCE: Final = 5  # SyncGroup, KIP-559
LOADING_ANSWERED_SINCE: Final = 2  # TxnOffsetCommit, KAFKA-7296
BEGINS_SINCE: Final = 5  # TxnOffsetCommit, KIP-890: it adds its partition to the transaction, regardless of the setting


def _always(_: Event) -> bool:
    return True


# before the group is looked up


def _not_active(event: Event) -> bool:
    return not event.gate.active


def _group_id_empty(event: Event) -> bool:
    return not event.group_id


def _session_timeout_out_of_bounds(event: Event) -> bool:
    bounds = event.settings
    return not bounds.group_min_session_timeout_ms <= event.join.session_timeout_ms <= bounds.group_max_session_timeout_ms


def _loading(event: Event) -> bool:
    return event.gate.loading


def _not_led_here(event: Event) -> bool:
    return not event.gate.led


def _not_loaded_here(event: Event) -> bool:
    return not event.gate.led or event.gate.loading


def _loading_old(event: Event) -> bool:
    return event.gate.loading and event.version < LOADING_ANSWERED_SINCE


def _unverified(event: Event) -> bool:
    is_asked = bool(event.settings.transaction_partition_verification_enable) or event.version >= BEGINS_SINCE
    return is_asked and event.verdict is not ErrorCode.NONE


# the requester


def _has_member_id(event: Event) -> bool:
    return bool(event.member_id)


def _no_member_id(event: Event) -> bool:
    return not event.member_id


def _stranger(event: Event) -> bool:
    return event.member_id not in event.existing_group.members.by_id


def _pending(event: Event) -> bool:
    return event.member_id in event.existing_group.members.pending


def _pending_with_instance(event: Event) -> bool:
    return _pending(event) and event.instance_id is not None


def _pending_with_instance_unsaid(event: Event) -> bool:
    return _pending_with_instance(event) and event.version >= ERROR_UNSAID_SINCE


def _leader(event: Event) -> bool:
    return event.member_id == event.existing_group.members.leader


def _instance_unknown(event: Event) -> bool:
    return event.instance_id is not None and event.instance_id not in event.existing_group.members.instances


def _fenced(event: Event) -> bool:
    holder = event.existing_group.members.instances.get(event.instance_id) if event.instance_id is not None else None
    return holder is not None and holder != event.member_id


def _other_generation(event: Event) -> bool:
    return event.generation != event.existing_group.generation


def _generation_negative(event: Event) -> bool:
    return event.generation < 0


def _instance_named(event: Event) -> bool:
    return not event.member_id and event.instance_id in event.existing_group.members.instances


def _names_nobody(event: Event) -> bool:
    return event.generation < 0 and not event.member_id and event.instance_id is None


def _protocol_differs(event: Event) -> bool:
    asked, group = event.sync, event.existing_group
    return asked.protocol_type not in (None, group.protocol_type) or asked.protocol_name not in (None, group.protocol_name)


def _protocol_unnamed(event: Event) -> bool:
    return event.version >= PROTOCOL_NAMED_SINCE and None in (event.sync.protocol_type, event.sync.protocol_name)


def _stranger_named(event: Event) -> bool:
    return bool(event.member_id) and _stranger(event)


def _other_generation_named(event: Event) -> bool:
    generation = 0 if event.group is None else event.group.generation
    return event.generation >= 0 and event.generation != generation


def _version_6(event: Event) -> bool:
    return event.version >= 6


def _version_9(event: Event) -> bool:
    return event.version >= 9


# joins


def _not_appended(event: Event) -> bool:
    return event.refusal is not ErrorCode.NONE


def _first_not_appended(event: Event) -> bool:
    return _not_appended(event) and _generation_negative(event)


def _instance_returns_not_appended(event: Event) -> bool:
    return _not_appended(event) and _instance_returns_unchanged(event)


def _group_is_full(event: Event) -> bool:
    members, limit = event.existing_group.members, event.settings.group_max_size
    member = members.get(event.member_id)
    if event.existing_group.state is GroupState.PREPARING_REBALANCE:  # the last members to rejoin an oversized group are refused (KAFKA-9885)
        return (member is None or member.join is None) and members.joined >= limit
    return member is None and len(members) >= limit


def _group_is_full_by_size(event: Event) -> bool:
    members, limit = event.existing_group.members, event.settings.group_max_size
    member = members.get(event.member_id)
    if member is None:
        return not event.member_id and len(members) >= limit  # an id that was pending is admitted beyond the limit
    return member.join is None and len(members) > limit


def _protocols_unfit(event: Event) -> bool:
    names = tuple(protocol.name for protocol in event.join.protocols)
    if event.group is None or event.group.state is GroupState.EMPTY:
        return not event.join.protocol_type or not names
    return event.join.protocol_type != event.existing_group.protocol_type or not event.existing_group.members.supports_any(names)


def _instance_returns_unchanged(event: Event) -> bool:
    if not _instance_named(event):
        return False
    group = event.existing_group
    returning = group.members.instances[event.instance_id or ""]
    ballots = [event.join.protocols if member.member_id == returning else member.protocols for member in group.members]
    return group.protocol_name in leading_protocols(ballots)  # in a tie the protocol may stay


def _instance_returns_skipping(event: Event) -> bool:
    return event.version >= SKIP_ASSIGNMENT_SINCE and _instance_returns_unchanged(event)


def _instance_comes(event: Event) -> bool:
    return not event.member_id and event.instance_id is not None


def _member_id_needed(event: Event) -> bool:
    if event.member_id or event.instance_id is not None or event.version < MEMBER_ID_REQUIRED_SINCE:
        return False
    return event.arrival is None or not event.arrival.joins_at_once


def _metadata_same(event: Event) -> bool:
    return event.member.protocols == event.join.protocols


# leaves


def _only_pending_left(event: Event) -> bool:
    return event.members_left == 0


# timers and checks


def _satisfied(event: Event) -> bool:
    member = event.member
    return not member.is_new and (member.join is not None or member.sync is not None)


def _newcomer_parked(event: Event) -> bool:
    return event.member.is_new and event.member.join is not None


def _initial_delay_runs(event: Event) -> bool:
    return event.existing_group.before is GroupState.EMPTY


def _newcomer_and_time_left(event: Event) -> bool:
    return event.existing_group.newcomer_came and event.existing_group.budget_ms != 0


def _newcomer_at_first_and_time_left(event: Event) -> bool:
    return event.existing_group.generation == 0 and _newcomer_and_time_left(event)


def _joins_missing(event: Event) -> bool:
    return not event.existing_group.members.all_joined


def _subscription_breaks(event: Event) -> bool:
    group = event.existing_group
    staying = group.members.staying
    return group.protocol_type == "consumer" and bool(staying) and any(map(breaks_the_reader, set(chosen_metadata(staying))))


def _only_absent_static(event: Event) -> bool:
    members = event.existing_group.members
    return not members.joined and any(member.is_static for member in members)


def _nobody_joined(event: Event) -> bool:
    return not event.existing_group.members.joined


def _no_members(event: Event) -> bool:
    return not len(event.existing_group.members)


# offsets


def _not_consumer(event: Event) -> bool:
    return not event.existing_group.is_consumer


def _topics_known(event: Event) -> bool:
    return event.existing_group.subscribed_topics() is not None


def _never_had_members(event: Event) -> bool:
    return event.existing_group.protocol_type is None


def _last_offsets_named(event: Event) -> bool:
    assert isinstance(event.request, OffsetDeleteRequest)
    named = {(topic.name, partition.partition_index) for topic in event.request.topics for partition in topic.partitions}
    if event.offsets is None:
        return bool(named)
    return bool(named) and event.offsets.by_partition.keys() <= named and not event.offsets.pending


def _txn_committed(event: Event) -> bool:
    return event.is_committed


def _offsets_remain(event: Event) -> bool:
    return bool(event.offsets)


def _stored_offsets_remain(event: Event) -> bool:
    return event.offsets is not None and bool(event.offsets.by_partition)


def _oversized(event: Event) -> bool:
    return len(event.existing_group.members) > event.settings.group_max_size


GUARDS: Final[Mapping[GuardName, Callable[[Event], bool]]] = {
    Guard.ALWAYS: _always,
    Guard.NOT_ACTIVE: _not_active,
    Guard.GROUP_ID_EMPTY: _group_id_empty,
    Guard.SESSION_TIMEOUT_OUT_OF_BOUNDS: _session_timeout_out_of_bounds,
    Guard.LOADING: _loading,
    Guard.NOT_LED_HERE: _not_led_here,
    Guard.NOT_LOADED_HERE: _not_loaded_here,
    Guard.LOADING_OLD: _loading_old,
    Guard.UNVERIFIED: _unverified,
    Guard.HAS_MEMBER_ID: _has_member_id,
    Guard.NO_MEMBER_ID: _no_member_id,
    Guard.STRANGER: _stranger,
    Guard.PENDING: _pending,
    Guard.PENDING_WITH_INSTANCE: _pending_with_instance,
    Guard.PENDING_WITH_INSTANCE_UNSAID: _pending_with_instance_unsaid,
    Guard.LEADER: _leader,
    Guard.INSTANCE_UNKNOWN: _instance_unknown,
    Guard.FENCED: _fenced,
    Guard.OTHER_GENERATION: _other_generation,
    Guard.GENERATION_NEGATIVE: _generation_negative,
    Guard.NAMES_NOBODY: _names_nobody,
    Guard.PROTOCOL_DIFFERS: _protocol_differs,
    Guard.PROTOCOL_UNNAMED: _protocol_unnamed,
    Guard.STRANGER_NAMED: _stranger_named,
    Guard.OTHER_GENERATION_NAMED: _other_generation_named,
    Guard.VERSION_6: _version_6,
    Guard.VERSION_9: _version_9,
    Guard.NOT_APPENDED: _not_appended,
    Guard.FIRST_NOT_APPENDED: _first_not_appended,
    Guard.INSTANCE_RETURNS_NOT_APPENDED: _instance_returns_not_appended,
    Guard.GROUP_IS_FULL: _group_is_full,
    Guard.GROUP_IS_FULL_BY_SIZE: _group_is_full_by_size,
    Guard.PROTOCOLS_UNFIT: _protocols_unfit,
    Guard.INSTANCE_RETURNS_UNCHANGED: _instance_returns_unchanged,
    Guard.INSTANCE_RETURNS_SKIPPING: _instance_returns_skipping,
    Guard.INSTANCE_COMES: _instance_comes,
    Guard.MEMBER_ID_NEEDED: _member_id_needed,
    Guard.METADATA_SAME: _metadata_same,
    Guard.INSTANCE_NAMED: _instance_named,
    Guard.ONLY_PENDING_LEFT: _only_pending_left,
    Guard.SATISFIED: _satisfied,
    Guard.NEWCOMER_PARKED: _newcomer_parked,
    Guard.INITIAL_DELAY_RUNS: _initial_delay_runs,
    Guard.NEWCOMER_AND_TIME_LEFT: _newcomer_and_time_left,
    Guard.NEWCOMER_AT_FIRST_AND_TIME_LEFT: _newcomer_at_first_and_time_left,
    Guard.JOINS_MISSING: _joins_missing,
    Guard.SUBSCRIPTION_BREAKS: _subscription_breaks,
    Guard.ONLY_ABSENT_STATIC: _only_absent_static,
    Guard.NOBODY_JOINED: _nobody_joined,
    Guard.NO_MEMBERS: _no_members,
    Guard.NOT_CONSUMER: _not_consumer,
    Guard.TOPICS_KNOWN: _topics_known,
    Guard.NEVER_HAD_MEMBERS: _never_had_members,
    Guard.LAST_OFFSETS_NAMED: _last_offsets_named,
    Guard.TXN_COMMITTED: _txn_committed,
    Guard.OFFSETS_REMAIN: _offsets_remain,
    Guard.STORED_OFFSETS_REMAIN: _stored_offsets_remain,
    Guard.OVERSIZED: _oversized,
}
