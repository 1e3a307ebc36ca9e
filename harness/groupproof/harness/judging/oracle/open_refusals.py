"""Requests that Kafka accepts and another coordinator may refuse: a requirement of level INFO, though the rule that accepts is of a MUST. Pure.

Such a refusal changes nothing: the machine does not process the request, and the replay goes on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.group import Group
from groupproof.harness.judging.oracle.answer_diff import as_answered, differences
from groupproof.harness.judging.oracle.open_answers import OpenAnswer
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_states import COMPLETING, STABLE
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState, Level
from groupproof.protocol.wire.message_conversion import body_of
from groupproof.protocol.wire.messages import JoinGroupRequest

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember
    from groupproof.coordinator.machine.coordinator import Arrival, Coordinator
    from groupproof.harness.judging.oracle.exchanges import Exchange, History
    from groupproof.protocol.rules.dialect import Dialect

__all__ = ["OPEN_REFUSALS", "OpenRefusal", "open_refusal"]

_TAKES: Final = "Apache Kafka takes the request"
_REBALANCES: Final = "Apache Kafka begins a rebalance"
_SAME_FOR_THE_LEADER: Final = "and the metadata of the group's protocol has not changed"
_MAY_REFUSE: Final = "which no KIP forbids"
_STATES: Final = frozenset(state.lower() for state in (*GroupState, *ConsumerState, "NotReady"))
"""The states of all kinds of groups; NotReady is one of streams groups (KIP-1071)."""

_TYPES: Final = frozenset({CLASSIC.name, CONSUMER.name, "share", "streams"})
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRefusal:
    """Requests of an API to groups of a dialect that may be refused with one of the codes. `is_for` selects them by group and request.

    Without a dialect they are about no group.
    """

    requirement: str
    api: Api
    codes: tuple[int, ...]
    is_for: Callable[[Any, Any], bool]
    dialect: Dialect | None = CONSUMER


def _joins(asked: Any) -> bool:
    return bool(asked.member_epoch == 0)


def _member(group: ConsumerGroup, asked: Any) -> ConsumerMember | None:
    return group.members.get(asked.member_id)


def _brings_instance(group: ConsumerGroup, asked: Any) -> bool:
    member = _member(group, asked)
    return _joins(asked) and member is not None and member.instance_id is None and asked.instance_id is not None


def _changes_instance(group: ConsumerGroup, asked: Any) -> bool:
    member = _member(group, asked)
    return _joins(asked) and member is not None and member.instance_id is not None and asked.instance_id not in (None, member.instance_id)


def _switches_without_join(group: ConsumerGroup, asked: Any) -> bool:
    return asked.member_epoch > 0 and asked.member_id in group.classic


def _names_what_is_no_topic(group: ConsumerGroup, asked: Any) -> bool:
    return any(not _TOPIC.fullmatch(name) for name in asked.subscribed_topic_names or ())


def _has_odd_timeout(group: ConsumerGroup, asked: Any) -> bool:
    return _joins(asked) and asked.rebalance_timeout_ms <= 0 and asked.rebalance_timeout_ms != -1


def _has_own_id(group: ConsumerGroup, asked: Any) -> bool:
    return group.state is not ConsumerState.EMPTY and bool(asked.member_id) and asked.member_id not in group.members


def _is_named_for_nothing(group: ConsumerGroup, asked: Any) -> bool:
    return group.state is ConsumerState.EMPTY and asked.generation_id < 0 and bool(asked.member_id)


def _names_somebody_without_members(group: Group | None, asked: Any) -> bool:
    """Return whether a commit without a generation names a member or an instance of a classic group without members.

    Kafka 3.0 to 3.2 refused it: who names itself claims a membership. Releases before and after store it (`validateOffsetCommit`).
    """
    is_of_nobody = not asked.member_id and asked.group_instance_id is None
    return (group is None or group.state is GroupState.EMPTY) and asked.generation_id < 0 and not is_of_nobody


def _names_another_instance(group: ConsumerGroup, asked: Any) -> bool:
    holder = group.holder_of(asked.group_instance_id)
    return asked.group_instance_id is not None and (holder is None or holder.member_id != asked.member_id)


def _removes_consumers(group: ConsumerGroup, asked: Any) -> bool:
    named = [entry.member_id or group.instances.get(entry.group_instance_id or "", "") for entry in asked.members]
    return bool(named) and all(member_id in group.members and member_id not in group.classic for member_id in named)


def _filters_by_no_such_name(_group: object, asked: Any) -> bool:
    """Return whether a filter of ListGroups names a state or a type that no kind of group has, in any case of letters (KAFKA-16095)."""
    states, types = ({name.strip().lower() for name in names} for names in (asked.states_filter, asked.types_filter))
    return bool(states - _STATES or types - _TYPES)


_INVALID, _STRANGER, _FENCED = ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID
_BEAT: Final = Api.CONSUMER_GROUP_HEARTBEAT
_NO_TOPIC: Final = 17  # INVALID_TOPIC_EXCEPTION, which no coordinator of Kafka answers

OPEN_REFUSALS: Final = (
    OpenRefusal(requirement="CGM-24", api=_BEAT, codes=(_INVALID,), is_for=_brings_instance),
    OpenRefusal(requirement="CGS-03", api=_BEAT, codes=(_INVALID,), is_for=_changes_instance),
    OpenRefusal(requirement="CGG-49", api=_BEAT, codes=(_STRANGER, ErrorCode.FENCED_MEMBER_EPOCH), is_for=_switches_without_join),
    OpenRefusal(requirement="CGH-32", api=_BEAT, codes=(_NO_TOPIC,), is_for=_names_what_is_no_topic),
    OpenRefusal(requirement="CGH-29", api=_BEAT, codes=(_INVALID,), is_for=_has_odd_timeout),
    OpenRefusal(requirement="CGG-24", api=Api.JOIN_GROUP, codes=(_STRANGER,), is_for=_has_own_id),
    OpenRefusal(requirement="CGO-15", api=Api.OFFSET_COMMIT, codes=(_STRANGER,), is_for=_is_named_for_nothing),
    OpenRefusal(requirement="CGO-15", api=Api.TXN_OFFSET_COMMIT, codes=(_STRANGER,), is_for=_is_named_for_nothing),
    OpenRefusal(requirement="TR-029", api=Api.OFFSET_COMMIT, codes=(_STRANGER,), is_for=_names_somebody_without_members, dialect=CLASSIC),
    OpenRefusal(requirement="TR-029", api=Api.TXN_OFFSET_COMMIT, codes=(_STRANGER,), is_for=_names_somebody_without_members, dialect=CLASSIC),
    OpenRefusal(requirement="CGO-22", api=Api.OFFSET_COMMIT, codes=(_STRANGER, _FENCED), is_for=_names_another_instance),
    # An administrator alone sees this (Redpanda). KIP-518 and KIP-848 describe the filters for the names that exist.
    OpenRefusal(requirement="CGD-22", api=Api.LIST_GROUPS, codes=(_INVALID,), is_for=_filters_by_no_such_name, dialect=None),
    OpenRefusal(requirement="CGG-48", api=Api.LEAVE_GROUP, codes=(_STRANGER,), is_for=_removes_consumers),
)


def open_refusal(asked: Exchange, arrival: Arrival, machine: Coordinator, history: History, now_ms: int) -> OpenAnswer | None:
    """Return why the answer may refuse a request that Kafka accepts; None where it may not, or where Kafka would refuse the request itself.

    A follower that joins again with other metadata may be answered as an unchanged one, if that of the group's protocol is the same.
    """
    if asked.api is Api.JOIN_GROUP and asked.code == ErrorCode.NONE:
        return _open_rejoin(asked, arrival, machine, history.group, now_ms)
    of_api = [item for item in OPEN_REFUSALS if item.api is asked.api]
    codes = _codes(asked.answer or {}) if of_api else set()
    candidates = [item for item in of_api if len(codes) == 1 and codes <= set(item.codes)]
    fitting = [item for item in candidates if not _is_handed_out(asked, history) and _is_for(item, machine, history.group, asked)]
    found = next(iter(fitting), None)
    if found is None or machine.due_refusals(asked.message, arrival, now_ms):
        return None
    return OpenAnswer(requirement=found.requirement, level=Level.INFO, words=_MAY_REFUSE, expected=_TAKES)


def _open_rejoin(asked: Exchange, arrival: Arrival, machine: Coordinator, group_id: str, now_ms: int) -> OpenAnswer | None:
    """Return why a JoinGroup with other metadata begins no rebalance: a broker may leave aside the order of the protocols (KoP), or those that are not
    the group's. MUST is that a change of what the leader assigns by is noticed (TR-112)."""
    group, message = machine.group(group_id), asked.message
    if not isinstance(message, JoinGroupRequest) or not isinstance(group, Group) or group.state not in (COMPLETING, STABLE):
        return None
    member = group.members.get(message.member_id)
    if member is None or member.protocols == message.protocols:
        return None
    leads = member.member_id == group.members.leader
    if leads and group.state is STABLE:  # a leader begins a rebalance by joining again (TR-111)
        return None
    metadata = {protocol.name: protocol.metadata for protocol in message.protocols}
    if metadata.get(group.protocol_name or "") != member.metadata(group.protocol_name) or machine.due_refusals(message, arrival, now_ms):
        return None
    listed = group.members.listed(group.protocol_name) if leads else ()
    expected = as_answered(asked.api, asked.version, body_of(group.join_answer(member.member_id, listed)))
    if any(not difference.is_idle for difference in differences(expected, asked.answer or {})):
        return None
    return OpenAnswer(requirement="JOIN-26", level=Level.INFO, words=_SAME_FOR_THE_LEADER, expected=_REBALANCES)


def _is_handed_out(asked: Exchange, history: History) -> bool:
    """Return whether a JoinGroup brings an id that the coordinator handed out and that has not joined yet: it is no id of the client's own
    making (CGG-23)."""
    if asked.api is not Api.JOIN_GROUP:
        return False
    member_id = getattr(asked.message, "member_id", "")
    earlier = (exchange for exchange in history.exchanges if exchange.api is Api.JOIN_GROUP and exchange.seq < asked.request.seq)
    codes = {exchange.code for exchange in earlier if (exchange.answer or {}).get("member_id") == member_id}
    return ErrorCode.MEMBER_ID_REQUIRED in codes and ErrorCode.NONE not in codes


def _is_for(item: OpenRefusal, machine: Coordinator, group_id: str, asked: Exchange) -> bool:
    """Return whether the item is for the request to its group, or to the group that it would create."""
    if item.dialect is None:
        return item.is_for(None, asked.message)
    group: Any = machine.group(group_id)
    if group is None and asked.api is _BEAT:
        group = ConsumerGroup(group_id=group_id)
    is_of_dialect = item.dialect is CLASSIC if group is None else group.dialect is item.dialect
    return is_of_dialect and item.is_for(group, asked.message)


def _codes(body: Mapping[str, Any]) -> set[int]:
    """Return the answer's error codes: of the whole if that is refused, else of each entry."""
    entries = [*body.get("members", ()), *(partition for topic in body.get("topics", ()) for partition in topic["partitions"])]
    whole = int(body.get("error_code", ErrorCode.NONE))
    return {whole} if whole else {int(entry.get("error_code", ErrorCode.NONE)) for entry in entries}
