"""What others can change in a classic group without the tap: members, administrators and tools that reach its brokers directly. Pure.

All of it is legal. An administrator removes a member (LeaveGroup, KIP-345). A tool sets offsets (`kafka-consumer-groups --reset-offsets`), and a
transaction commits offsets at any time (KIP-447). A member that does not come through the tap makes the group rebalance, and another process with
the same instance id fences a static member. So these answers blame no coordinator:

* A member of the group is answered with UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS or FENCED_INSTANCE_ID.
* A join is refused because the group is full or speaks another protocol, or gets a newer generation than expected, or a leader from elsewhere.
* OffsetFetch returns other offsets. DescribeGroups shows other members or another state.
* A parked request is answered early, because a member for whom the group waited was removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.harness.judging.checkers.dialect_checkers import FieldDifference, UnexpectedAnswer
from groupproof.harness.judging.checkers.frame_facts import instance_of
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["may_be_of_unobserved_member"]

_JOIN, _SYNC, _FETCH = Api.JOIN_GROUP.title, Api.SYNC_GROUP.title, Api.OFFSET_FETCH.title
_OUT: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
_OUTDATED: Final = _OUT | {ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS}
_CODES: Final[Mapping[str, frozenset[ErrorCode]]] = {
    _JOIN: _OUT | {ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.INCONSISTENT_GROUP_PROTOCOL},
    _SYNC: _OUTDATED,
    Api.HEARTBEAT.title: _OUTDATED,
    Api.OFFSET_COMMIT.title: _OUTDATED,
    Api.LEAVE_GROUP.title: _OUT,
    _FETCH: frozenset({ErrorCode.UNSTABLE_OFFSET_COMMIT}),
}
_OF_A_MEMBER: Final = frozenset({ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS})
"""The codes by which the rules answer a member, or one that is let in. After another code they do not know the sender as a member."""
_DESCRIBED: Final = frozenset({"group_state", "members", "protocol_type", "protocol_data"})


def may_be_of_unobserved_member(answer: UnexpectedAnswer) -> bool:
    """Return whether a member, an administrator or a tool that did not come through the tap can explain the answer."""
    if answer.is_early:
        return _may_be_early(answer)
    codes = [difference for difference in answer.differences if difference.field == "error_code"]
    if codes:
        return all(_may_be_refused(difference, answer) for difference in codes)
    if answer.request.api == _JOIN:
        return any(_is_newer(difference) or _leads_from_elsewhere(difference, answer) for difference in answer.differences)
    if answer.request.api == Api.DESCRIBE_GROUPS.title:
        return bool(answer.differences) and all(difference.field in _DESCRIBED for difference in answer.differences)
    return answer.request.api == _FETCH and bool(answer.differences)


def _is_newer(difference: FieldDifference) -> bool:
    return difference.field == "generation_id" and difference.observed > difference.expected


def _leads_from_elsewhere(difference: FieldDifference, answer: UnexpectedAnswer) -> bool:
    return difference.field == "leader" and bool(difference.observed) and difference.observed not in answer.ids


def _may_be_early(answer: UnexpectedAnswer) -> bool:
    if answer.request.api == _JOIN:
        return answer.code in _OUT or (not answer.code and answer.waits_for_others)
    return answer.request.api == _SYNC and answer.code in _OUTDATED


def _may_be_refused(difference: FieldDifference, answer: UnexpectedAnswer) -> bool:
    request, code = answer.request, difference.observed
    if difference.expected not in _OF_A_MEMBER or code not in _CODES.get(request.api or "", ()):
        return False
    if code == ErrorCode.FENCED_INSTANCE_ID:
        return instance_of(request) is not None
    # A first join names no id that could have been removed. A commit without an id is refused once the group has members (COMMIT-02).
    return code != ErrorCode.UNKNOWN_MEMBER_ID or request.api != _JOIN or bool(request.member)
