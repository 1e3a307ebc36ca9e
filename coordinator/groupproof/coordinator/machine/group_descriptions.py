"""The forms of answers to DescribeGroups and ListGroups.

Sources: Kafka's `GroupMetadataManager.describeGroups` and `listGroups`, `GroupMetadata.summary` and `overview` before 4.0; KIP-430, KIP-518,
KIP-1043.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from groupproof.protocol.rules.classic.classic_terms import Form
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.messages import (
    DescribedGroup,
    DescribedMember,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

if TYPE_CHECKING:
    from groupproof.coordinator.machine.any_group import AnyGroup
    from groupproof.coordinator.machine.event import Event
    from groupproof.coordinator.machine.members import Member
    from groupproof.protocol.rules.cells import AnswerName
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["DESCRIPTIONS"]


def _described(event: Event, member: Callable[[Member], DescribedMember], protocol: str = "") -> DescribeGroupsResponse:
    group = event.existing_group
    description = DescribedGroup(
        group_id=group.group_id, group_state=group.state.value, protocol_type=group.protocol_type or "", protocol_data=protocol,
        members=tuple(member(item) for item in group.members), authorized_operations=event.operations,
    )  # fmt: skip
    return DescribeGroupsResponse(groups=(description,))


def _member(member: Member, metadata: bytes = b"", assignment: bytes = b"") -> DescribedMember:
    return DescribedMember(
        member_id=member.member_id, group_instance_id=member.group_instance_id, client_id=member.client_id, client_host=member.client_host,
        member_metadata=metadata, member_assignment=assignment,
    )  # fmt: skip


def _stable(event: Event) -> DescribeGroupsResponse:
    name = event.existing_group.protocol_name
    return _described(event, lambda member: _member(member, member.metadata(name), member.assignment), name or "")


def _stable_by_assignment(event: Event) -> DescribeGroupsResponse:
    return _described(event, lambda member: _member(member, member.assignment, member.assignment), event.existing_group.protocol_name or "")


def _rebalancing(event: Event) -> DescribeGroupsResponse:
    return _described(event, lambda member: _member(member, assignment=member.assignment))


def _bare(event: Event) -> DescribeGroupsResponse:
    return _described(event, _member)


def _dead(event: Event) -> DescribeGroupsResponse:
    dead = DescribedGroup(group_id=event.group_id, group_state=GroupState.DEAD.value, authorized_operations=event.operations)
    return DescribeGroupsResponse(groups=(dead,))


def _not_found(event: Event) -> DescribeGroupsResponse:
    description = DescribedGroup(
        group_id=event.group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=f"Group {event.group_id} not found.",
        group_state=GroupState.DEAD.value,
    )  # fmt: skip
    return DescribeGroupsResponse(groups=(description,))


def _overview(group: AnyGroup) -> ListedGroup:
    return ListedGroup(group_id=group.group_id, protocol_type=group.protocol_type or "", group_state=group.state.value, group_type=group.dialect.name)


def _listed(event: Event, plain: Callable[[str], str] = lambda name: name.strip().lower(), error: ErrorCode = ErrorCode.NONE) -> ListGroupsResponse:
    """List the groups that pass the filters. An empty filter passes every group. A group's type is its dialect."""
    assert isinstance(event.request, ListGroupsRequest)
    states = {plain(name) for name in event.request.states_filter}
    types = {name.lower() for name in event.request.types_filter}
    groups = tuple(
        _overview(group)
        for group in event.groups
        if (not types or group.dialect.name in types) and (not states or plain(group.state.value) in states)
    )
    return ListGroupsResponse(error_code=error, groups=groups)


def _listed_untrimmed(event: Event) -> ListGroupsResponse:
    return _listed(event, str.lower)


def _listed_exact(event: Event) -> ListGroupsResponse:
    return _listed(event, str)


def _listed_loading(event: Event) -> ListGroupsResponse:
    return _listed(event, str.lower, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


DESCRIPTIONS: Final[Mapping[AnswerName, Callable[[Event], GroupResponse]]] = {
    Form.DESCRIBED_STABLE: _stable,
    Form.DESCRIBED_BY_ASSIGNMENT: _stable_by_assignment,
    Form.DESCRIBED: _rebalancing,
    Form.DESCRIBED_BARE: _bare,
    Form.DESCRIBED_DEAD: _dead,
    Form.NOT_FOUND: _not_found,
    Form.LISTED: _listed,
    Form.LISTED_UNTRIMMED: _listed_untrimmed,
    Form.LISTED_EXACT: _listed_exact,
    Form.LISTED_LOADING: _listed_loading,
}
