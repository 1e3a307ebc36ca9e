"""Requests that Kafka accepts and another coordinator may refuse: a requirement of level INFO, though the rule that accepts is of a MUST. Pure.

Such a refusal changes nothing: the machine does not process the request, and the replay goes on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.harness.judging.oracle.open_answers import OpenAnswer
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState, Level

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember
    from groupproof.coordinator.machine.coordinator import Arrival, Coordinator
    from groupproof.harness.judging.oracle.exchanges import Exchange, History

__all__ = ["OPEN_REFUSALS", "OpenRefusal", "open_refusal"]

_TAKES: Final = "Apache Kafka takes the request"
_MAY_REFUSE: Final = "which no KIP forbids"
_STATES: Final = frozenset(state.lower() for state in (*GroupState, *ConsumerState, "NotReady"))
"""The states of all kinds of groups; NotReady is one of streams groups (KIP-1071)."""

_TYPES: Final = frozenset({"classic", "consumer", "share", "streams"})
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRefusal:
    """Requests of an API that may be refused with one of the codes. `is_for` selects them by group and request, `is_for_any` by the request alone
    where it is about no group."""

    requirement: str
    api: Api
    codes: tuple[int, ...]
    is_for: Callable[[ConsumerGroup, Any], bool] | None = None
    is_for_any: Callable[[Any], bool] | None = None

    def selects(self, group: ConsumerGroup | None, asked: Any) -> bool:
        """Return whether the refusal may answer the request `asked`; `group` is its group, None where that is no consumer group."""
        if self.is_for_any is not None:
            return self.is_for_any(asked)
        return group is not None and self.is_for is not None and self.is_for(group, asked)


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


def _names_another_instance(group: ConsumerGroup, asked: Any) -> bool:
    holder = group.holder_of(asked.group_instance_id)
    return asked.group_instance_id is not None and (holder is None or holder.member_id != asked.member_id)


def _removes_consumers(group: ConsumerGroup, asked: Any) -> bool:
    named = [entry.member_id or group.instances.get(entry.group_instance_id or "", "") for entry in asked.members]
    return bool(named) and all(member_id in group.members and member_id not in group.classic for member_id in named)


def _filters_by_no_such_name(asked: Any) -> bool:
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
    OpenRefusal(requirement="CGO-22", api=Api.OFFSET_COMMIT, codes=(_STRANGER, _FENCED), is_for=_names_another_instance),
    # An administrator alone sees this (Redpanda). KIP-518 and KIP-848 describe the filters for the names that exist.
    OpenRefusal(requirement="CGD-22", api=Api.LIST_GROUPS, codes=(_INVALID,), is_for_any=_filters_by_no_such_name),
    OpenRefusal(requirement="CGG-48", api=Api.LEAVE_GROUP, codes=(_STRANGER,), is_for=_removes_consumers),
)


def open_refusal(asked: Exchange, arrival: Arrival, machine: Coordinator, history: History, now_ms: int) -> OpenAnswer | None:
    """Return why the answer may refuse a request that Kafka accepts; None where it may not, or where Kafka would refuse the request itself."""
    of_api = [item for item in OPEN_REFUSALS if item.api is asked.api]
    codes = _codes(asked.answer or {}) if of_api else set()
    candidates = [item for item in of_api if len(codes) == 1 and codes <= set(item.codes)]
    group = _consumer_group(machine, history.group, asked.api) if candidates else None
    found = None if _is_handed_out(asked, history) else next((item for item in candidates if item.selects(group, asked.message)), None)
    if found is None or machine.due_refusals(asked.message, arrival, now_ms):
        return None
    return OpenAnswer(requirement=found.requirement, level=Level.INFO, words=_MAY_REFUSE, expected=_TAKES)


def _is_handed_out(asked: Exchange, history: History) -> bool:
    """Return whether a JoinGroup brings an id that the coordinator handed out and that has not joined yet: it is no id of the client's own
    making (CGG-23)."""
    if asked.api is not Api.JOIN_GROUP:
        return False
    member_id = getattr(asked.message, "member_id", "")
    earlier = (exchange for exchange in history.exchanges if exchange.api is Api.JOIN_GROUP and exchange.seq < asked.request.seq)
    codes = {exchange.code for exchange in earlier if (exchange.answer or {}).get("member_id") == member_id}
    return ErrorCode.MEMBER_ID_REQUIRED in codes and ErrorCode.NONE not in codes


def _consumer_group(machine: Coordinator, group_id: str, api: Api) -> ConsumerGroup | None:
    """Return the request's group, or the one that it would create, if it is a consumer group."""
    group: Any = machine.group(group_id)
    if group is None:
        return ConsumerGroup(group_id=group_id) if api is _BEAT else None
    return group if group.dialect is CONSUMER else None


def _codes(body: Mapping[str, Any]) -> set[int]:
    """Return the answer's error codes: of the whole if that is refused, else of each entry."""
    entries = [*body.get("members", ()), *(partition for topic in body.get("topics", ()) for partition in topic["partitions"])]
    whole = int(body.get("error_code", ErrorCode.NONE))
    return {whole} if whole else {int(entry.get("error_code", ErrorCode.NONE)) for entry in entries}
