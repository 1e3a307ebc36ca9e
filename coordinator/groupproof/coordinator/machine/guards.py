"""Every guard of the table, each a small pure function of the input; there is no other condition on a request in the coordinator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.members import chosen_metadata, leading_protocols
from groupproof.coordinator.machine.readable_subscriptions import breaks_the_reader
from groupproof.protocol.rules.classic.classic_terms import Guard
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.messages import OffsetDeleteRequest

if TYPE_CHECKING:
    from groupproof.coordinator.machine.event import Input
    from groupproof.protocol.rules.cells import GuardName

__all__ = ["GUARDS"]

MEMBER_ID_REQUIRED_SINCE: Final = 4  # JoinGroup, KIP-394
ERROR_UNSAID_SINCE: Final = 6  # JoinGroup, as 2.4 has it
SKIP_ASSIGNMENT_SINCE: Final = 9  # JoinGroup, KIP-814
PROTOCOL_NAMED_SINCE: Final = 5  # SyncGroup, KIP-559
LOAD_TOLD_SINCE: Final = 2  # TxnOffsetCommit, KAFKA-7296
BEGINS_SINCE: Final = 5  # TxnOffsetCommit, KIP-890: it adds its partition to the transaction, whatever the setting says


def _always(_: Input) -> bool:
    return True


# before the group is looked at


def _not_active(on: Input) -> bool:
    return not on.gate.active


def _group_id_empty(on: Input) -> bool:
    return not on.group_id


def _session_timeout_out_of_bounds(on: Input) -> bool:
    bounds = on.settings
    return not bounds.group_min_session_timeout_ms <= on.join.session_timeout_ms <= bounds.group_max_session_timeout_ms


def _loading(on: Input) -> bool:
    return on.gate.loading


def _not_led_here(on: Input) -> bool:
    return not on.gate.led


def _not_loaded_here(on: Input) -> bool:
    return not on.gate.led or on.gate.loading


def _loading_old(on: Input) -> bool:
    return on.gate.loading and on.version < LOAD_TOLD_SINCE


def _unverified(on: Input) -> bool:
    is_asked = bool(on.settings.transaction_partition_verification_enable) or on.version >= BEGINS_SINCE
    return is_asked and on.verdict is not ErrorCode.NONE


# who asks


def _has_member_id(on: Input) -> bool:
    return bool(on.member_id)


def _no_member_id(on: Input) -> bool:
    return not on.member_id


def _stranger(on: Input) -> bool:
    return on.member_id not in on.here.members.by_id


def _pending(on: Input) -> bool:
    return on.member_id in on.here.members.pending


def _pending_with_instance(on: Input) -> bool:
    return _pending(on) and on.instance_id is not None


def _pending_with_instance_unsaid(on: Input) -> bool:
    return _pending_with_instance(on) and on.version >= ERROR_UNSAID_SINCE


def _leader(on: Input) -> bool:
    return on.member_id == on.here.members.leader


def _instance_unknown(on: Input) -> bool:
    return on.instance_id is not None and on.instance_id not in on.here.members.instances


def _fenced(on: Input) -> bool:
    holder = on.here.members.instances.get(on.instance_id) if on.instance_id is not None else None
    return holder is not None and holder != on.member_id


def _other_generation(on: Input) -> bool:
    return on.generation != on.here.generation


def _generation_negative(on: Input) -> bool:
    return on.generation < 0


def _instance_named(on: Input) -> bool:
    return not on.member_id and on.instance_id in on.here.members.instances


def _names_nobody(on: Input) -> bool:
    return on.generation < 0 and not on.member_id and on.instance_id is None


def _protocol_differs(on: Input) -> bool:
    asked, group = on.sync, on.here
    return asked.protocol_type not in (None, group.protocol_type) or asked.protocol_name not in (None, group.protocol_name)


def _protocol_unnamed(on: Input) -> bool:
    return on.version >= PROTOCOL_NAMED_SINCE and None in (on.sync.protocol_type, on.sync.protocol_name)


def _stranger_named(on: Input) -> bool:
    return bool(on.member_id) and _stranger(on)


def _other_generation_named(on: Input) -> bool:
    generation = 0 if on.group is None else on.group.generation
    return on.generation >= 0 and on.generation != generation


def _version_6(on: Input) -> bool:
    return on.version >= 6


def _version_9(on: Input) -> bool:
    return on.version >= 9


# joins


def _not_appended(on: Input) -> bool:
    return on.refusal is not ErrorCode.NONE


def _first_not_appended(on: Input) -> bool:
    return _not_appended(on) and _generation_negative(on)


def _instance_returns_not_appended(on: Input) -> bool:
    return _not_appended(on) and _instance_returns_unchanged(on)


def _group_is_full(on: Input) -> bool:
    members, limit = on.here.members, on.settings.group_max_size
    member = members.get(on.member_id)
    if on.here.state is GroupState.PREPARING_REBALANCE:  # the last to rejoin an oversized group are turned away (KAFKA-9885)
        return (member is None or member.join is None) and members.joined >= limit
    return member is None and len(members) >= limit


def _group_is_full_by_size(on: Input) -> bool:
    members, limit = on.here.members, on.settings.group_max_size
    member = members.get(on.member_id)
    if member is None:
        return not on.member_id and len(members) >= limit  # an id that was pending is admitted beyond the limit
    return member.join is None and len(members) > limit


def _protocols_unfit(on: Input) -> bool:
    names = tuple(protocol.name for protocol in on.join.protocols)
    if on.group is None or on.group.state is GroupState.EMPTY:
        return not on.join.protocol_type or not names
    return on.join.protocol_type != on.here.protocol_type or not on.here.members.supports_any(names)


def _instance_returns_unchanged(on: Input) -> bool:
    if not _instance_named(on):
        return False
    group = on.here
    returning = group.members.instances[on.instance_id or ""]
    ballots = [on.join.protocols if each.member_id == returning else each.protocols for each in group.members]
    return group.protocol_name in leading_protocols(ballots)  # with equal votes the choice may stay


def _instance_returns_skipping(on: Input) -> bool:
    return on.version >= SKIP_ASSIGNMENT_SINCE and _instance_returns_unchanged(on)


def _instance_comes(on: Input) -> bool:
    return not on.member_id and on.instance_id is not None


def _member_id_needed(on: Input) -> bool:
    return not on.member_id and on.instance_id is None and on.version >= MEMBER_ID_REQUIRED_SINCE


def _metadata_same(on: Input) -> bool:
    return on.member.protocols == on.join.protocols


# leaves


def _only_pending_left(on: Input) -> bool:
    return on.members_left == 0


# timers and checks


def _satisfied(on: Input) -> bool:
    member = on.member
    return not member.is_new and (member.join is not None or member.sync is not None)


def _newcomer_parked(on: Input) -> bool:
    return on.member.is_new and on.member.join is not None


def _initial_delay_runs(on: Input) -> bool:
    return on.here.before is GroupState.EMPTY


def _newcomer_and_time_left(on: Input) -> bool:
    return on.here.newcomer_came and on.here.budget_ms != 0


def _newcomer_at_first_and_time_left(on: Input) -> bool:
    return on.here.generation == 0 and _newcomer_and_time_left(on)


def _joins_missing(on: Input) -> bool:
    return not on.here.members.all_joined


def _subscription_breaks(on: Input) -> bool:
    group = on.here
    staying = group.members.staying
    return group.protocol_type == "consumer" and bool(staying) and any(map(breaks_the_reader, chosen_metadata(staying)))


def _only_absent_static(on: Input) -> bool:
    members = on.here.members
    return not members.joined and any(each.is_static for each in members)


def _nobody_joined(on: Input) -> bool:
    return not on.here.members.joined


def _no_members(on: Input) -> bool:
    return not len(on.here.members)


# offsets


def _not_consumer(on: Input) -> bool:
    return not on.here.is_consumer


def _topics_known(on: Input) -> bool:
    return on.here.subscribed_topics() is not None


def _never_had_members(on: Input) -> bool:
    return on.here.protocol_type is None


def _last_offsets_named(on: Input) -> bool:
    assert isinstance(on.request, OffsetDeleteRequest)
    named = {(topic.name, each.partition_index) for topic in on.request.topics for each in topic.partitions}
    if on.offsets is None:
        return bool(named)
    return bool(named) and on.offsets.by_partition.keys() <= named and not on.offsets.pending


def _txn_committed(on: Input) -> bool:
    return on.is_committed


def _offsets_remain(on: Input) -> bool:
    return bool(on.offsets)


def _stored_offsets_remain(on: Input) -> bool:
    return on.offsets is not None and bool(on.offsets.by_partition)


def _oversized(on: Input) -> bool:
    return len(on.here.members) > on.settings.group_max_size


GUARDS: Final[Mapping[GuardName, Callable[[Input], bool]]] = {
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
