"""Every answer of the classic table: plain error codes in the shape of each API, and the forms that carry more than a code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.group_descriptions import DESCRIPTIONS
from groupproof.coordinator.machine.offsets import Offsets
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Form
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import (
    CommittedPartition,
    CommittedTopic,
    DeletedGroup,
    DeletedOffset,
    DeletedOffsetTopic,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsResponse,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupResponse,
    TxnOffsetCommitResponse,
)

if TYPE_CHECKING:
    from groupproof.coordinator.machine.event import Event
    from groupproof.coordinator.machine.group import Group
    from groupproof.coordinator.machine.members import Member
    from groupproof.protocol.rules.cells import AnswerName, EventKind
    from groupproof.protocol.vocabulary import TopicPartition
    from groupproof.protocol.wire.messages import FetchGroup, GroupResponse, JoinMember, TxnOffsetCommitRequest

__all__ = ["FORMS", "error_answer", "fetch_answer", "is_too_long", "join_error", "own_assignment", "sync_error"]

PROTOCOL_NULL_SINCE: Final = 7  # JoinGroup; in earlier versions a missing protocol name is empty (KIP-559)


def join_error(error: ErrorCode, member_id: str, version: int, generation: int) -> JoinGroupResponse:
    """Return an error answer without protocol, leader or members (JOIN-30). `generation` is -1, or 0 before 2.2."""
    name = None if version >= PROTOCOL_NULL_SINCE else ""
    return JoinGroupResponse(error_code=error, generation_id=generation, protocol_name=name, member_id=member_id)


def sync_error(error: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error)


def own_assignment(group: Group, member: Member) -> SyncGroupResponse:
    """Return the member's own recorded assignment only (SYNC-13)."""
    return SyncGroupResponse(protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment)


def _leaders_list(event: Event, member_id: str) -> tuple[JoinMember, ...]:
    members = event.existing_group.members
    return members.listed(event.existing_group.protocol_name) if member_id == members.leader else ()


# Forms ---------------------------------------------------------------------------------------------------------------------------


def _current_generation(event: Event) -> JoinGroupResponse:
    return event.existing_group.join_answer(event.member.member_id, _leaders_list(event, event.member_id))


def _returned(event: Event) -> Member:
    """Return the static member under its new id."""
    member = event.existing_group.members.get(event.answered_id or "")
    assert member is not None, "a replaced instance is a member"
    return member


def _old_leader(event: Event) -> JoinGroupResponse:
    return replace(event.existing_group.join_answer(_returned(event).member_id), leader=event.old_leader or "")


def _skip_assignment(event: Event) -> JoinGroupResponse:
    group, member_id = event.existing_group, _returned(event).member_id
    return replace(group.join_answer(member_id, _leaders_list(event, member_id)), skip_assignment=member_id == group.members.leader)


def _not_appended(event: Event) -> JoinGroupResponse:
    return join_error(event.refusal, "", event.version, -1)


def _old_leader_not_appended(event: Event) -> JoinGroupResponse:
    return replace(event.existing_group.join_answer(""), error_code=event.refusal)


def _own_assignment(event: Event) -> SyncGroupResponse:
    return own_assignment(event.existing_group, event.member)


def _committed(event: Event) -> GroupResponse:
    longest = event.settings.offset_metadata_max_bytes

    def code(metadata: str | None) -> ErrorCode:
        return event.refusal or (ErrorCode.OFFSET_METADATA_TOO_LARGE if is_too_long(metadata, longest) else ErrorCode.NONE)

    return _commit_answer(event.commit, code)


def _unverified(event: Event) -> GroupResponse:
    return _commit_answer(event.commit, lambda _: event.verdict)


def is_too_long(metadata: str | None, longest: int) -> bool:
    """Return whether commit metadata is longer than `longest`, counted in UTF-16 units like Java's `String.length` (COMMIT-28)."""
    return metadata is not None and len(metadata.encode("utf-16-le", "surrogatepass")) // 2 > longest


def _commit_answer(request: OffsetCommitRequest | TxnOffsetCommitRequest, code: Callable[[str | None], ErrorCode]) -> GroupResponse:
    topics = tuple(
        CommittedTopic(
            name=topic.name,
            partitions=tuple(
                CommittedPartition(partition_index=partition.partition_index, error_code=code(partition.committed_metadata))
                for partition in topic.partitions
            ),
        )
        for topic in request.topics
    )
    return OffsetCommitResponse(topics=topics) if isinstance(request, OffsetCommitRequest) else TxnOffsetCommitResponse(topics=topics)


def _offsets_deleted(event: Event) -> OffsetDeleteResponse:
    return _deletion_answer(event, lambda _: True)


def _stored_offsets_deleted(event: Event) -> OffsetDeleteResponse:
    stored = () if event.offsets is None else event.offsets.by_partition.keys()
    return _deletion_answer(event, lambda key: key in stored)


def _deletion_answer(event: Event, is_answered: Callable[[TopicPartition], bool]) -> OffsetDeleteResponse:
    assert isinstance(event.request, OffsetDeleteRequest)
    topics = []
    for topic in event.request.topics:
        is_subscribed = event.subscribed_group.is_subscribed_to(topic.name)
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_subscribed else ErrorCode.NONE
        indexes = [
            partition.partition_index for partition in topic.partitions if is_subscribed or is_answered((topic.name, partition.partition_index))
        ]
        topics.append(
            DeletedOffsetTopic(name=topic.name, partitions=tuple(DeletedOffset(partition_index=partition, error_code=code) for partition in indexes))
        )
    return OffsetDeleteResponse(topics=tuple(topics))


def _stored_offsets(event: Event) -> OffsetFetchResponse:
    assert isinstance(event.request, OffsetFetchRequest)
    return _fetched(event, require_stable=event.request.require_stable)


def _committed_offsets(event: Event) -> OffsetFetchResponse:
    return _fetched(event, require_stable=False)


def _fetched(event: Event, *, require_stable: bool) -> OffsetFetchResponse:
    assert event.fetch is not None
    topics = (event.offsets or Offsets()).fetch(event.fetch.topics, require_stable=require_stable)
    return fetch_answer(FetchedGroup(group_id=event.group_id, topics=topics))


def _no_offsets(event: Event) -> OffsetFetchResponse:
    assert event.fetch is not None
    return fetch_answer(FetchedGroup(group_id=event.group_id, topics=_every_partition(event.fetch, ErrorCode.NONE)))


def _each_entry(event: Event) -> LeaveGroupResponse:
    if any(left_member.error_code is ErrorCode.UNKNOWN_SERVER_ERROR for left_member in event.left):
        return LeaveGroupResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    return LeaveGroupResponse(members=event.left)


def fetch_answer(group: FetchedGroup) -> OffsetFetchResponse:
    """Return the answer for one group. The coordinator joins the answers of a request's groups."""
    return OffsetFetchResponse(groups=(group,))


# Errors --------------------------------------------------------------------------------------------------------------------------


def error_answer(event: Event, error: ErrorCode, fields: Mapping[str, int]) -> GroupResponse:
    """Return the answer with the error code `error`, in the shape of the request's API."""
    if event.kind is ClassicEvent.HEARTBEAT:
        return _beaten(error)
    if event.kind is ClassicEvent.JOIN_GROUP:
        member_id = event.member_id if event.answered_id is None else event.answered_id
        return join_error(error, member_id, event.version, fields["join_error_generation"])
    if event.kind is ClassicEvent.OFFSET_FETCH:
        assert event.fetch is not None
        topics = _every_partition(event.fetch, error) if event.version < 2 else ()
        return fetch_answer(FetchedGroup(group_id=event.group_id, topics=topics, error_code=error))
    if event.kind is ClassicEvent.DESCRIBE_GROUPS:
        operations = fields["group_operations_unasked"]
        return DescribeGroupsResponse(groups=(DescribedGroup(group_id=event.group_id, error_code=error, authorized_operations=operations),))
    assert event.kind in _PLAIN, f"{event.kind.value} has no answer"
    return _PLAIN[event.kind](event, error)


@cache
def _beaten(error: ErrorCode) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=error)


def _every_partition(asked: FetchGroup, error: ErrorCode) -> tuple[FetchedTopic, ...]:
    return tuple(
        FetchedTopic(
            name=topic.name, partitions=tuple(FetchedPartition(partition_index=index, error_code=error) for index in topic.partition_indexes)
        )
        for topic in asked.topics or ()
    )


def _commit_refused(event: Event, error: ErrorCode) -> GroupResponse:
    """Repeat the error for every partition (COMMIT-12)."""
    return _commit_answer(event.commit, lambda _: error)


_PLAIN: Final[Mapping[EventKind, Callable[[Event, ErrorCode], GroupResponse]]] = {
    ClassicEvent.SYNC_GROUP: lambda event, error: sync_error(error),
    ClassicEvent.LEAVE_GROUP: lambda event, error: LeaveGroupResponse(error_code=error),
    ClassicEvent.OFFSET_COMMIT: _commit_refused,
    ClassicEvent.TXN_OFFSET_COMMIT: _commit_refused,
    ClassicEvent.OFFSET_DELETE: lambda event, error: OffsetDeleteResponse(error_code=error),
    ClassicEvent.DELETE_GROUPS: lambda event, error: DeleteGroupsResponse(results=(DeletedGroup(group_id=event.group_id, error_code=error),)),
    ClassicEvent.LIST_GROUPS: lambda event, error: ListGroupsResponse(error_code=error),
}

FORMS: Final[Mapping[AnswerName, Callable[[Event], GroupResponse]]] = {
    Form.CURRENT_GENERATION: _current_generation,
    Form.OLD_LEADER: _old_leader,
    Form.SKIP_ASSIGNMENT: _skip_assignment,
    Form.OWN_ASSIGNMENT: _own_assignment,
    Form.COMMITTED: _committed,
    Form.STORED_OFFSETS: _stored_offsets,
    Form.COMMITTED_OFFSETS: _committed_offsets,
    Form.NO_OFFSETS: _no_offsets,
    Form.NOT_APPENDED: _not_appended,
    Form.OLD_LEADER_NOT_APPENDED: _old_leader_not_appended,
    Form.EACH_ENTRY: _each_entry,
    Form.UNVERIFIED: _unverified,
    Form.OFFSETS_DELETED: _offsets_deleted,
    Form.STORED_OFFSETS_DELETED: _stored_offsets_deleted,
    **DESCRIPTIONS,
}
