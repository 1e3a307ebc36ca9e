"""Every answer of the table: plain error codes in the shape of each API, and the forms that carry more than a code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.group_descriptions import DESCRIPTIONS
from groupproof.coordinator.machine.offsets import Offsets
from groupproof.protocol.rules.classic.classic_terms import Form, On
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
    from groupproof.coordinator.machine.event import Input
    from groupproof.coordinator.machine.members import Member
    from groupproof.protocol.rules.cells import AnswerName, EventKind
    from groupproof.protocol.vocabulary import TopicPartition
    from groupproof.protocol.wire.messages import (
        FetchGroup,
        GroupResponse,
        JoinMember,
        TxnOffsetCommitRequest,
    )

__all__ = ["FORMS", "error_answer", "fetch_answer", "is_too_long", "join_answer", "join_error", "own_assignment", "sync_error"]

PROTOCOL_NULL_SINCE: Final = 7  # JoinGroup; before, a missing protocol name is empty (KIP-559)


def join_error(error: ErrorCode, member_id: str, version: int, generation: int) -> JoinGroupResponse:
    """Return a refusal: no protocol, leader or members (JOIN-30); `generation` is -1, or 0 before 2.2."""
    name = None if version >= PROTOCOL_NULL_SINCE else ""
    return JoinGroupResponse(error_code=error, generation_id=generation, protocol_name=name, member_id=member_id)


def join_answer(on: Input, member: Member, members: tuple[JoinMember, ...]) -> JoinGroupResponse:
    """Return the group's current generation for `member`, with the list given."""
    group = on.here
    return JoinGroupResponse(
        generation_id=group.generation, protocol_type=group.protocol_type, protocol_name=group.protocol_name,
        leader=group.members.leader or "", member_id=member.member_id, members=members,
    )  # fmt: skip


def sync_error(error: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error)


def own_assignment(on: Input, member: Member) -> SyncGroupResponse:
    """Return the member's recorded assignment, and no other's (SYNC-13)."""
    return SyncGroupResponse(protocol_type=on.here.protocol_type, protocol_name=on.here.protocol_name, assignment=member.assignment)


def _leaders_list(on: Input, member_id: str) -> tuple[JoinMember, ...]:
    members = on.here.members
    return members.listed(on.here.protocol_name) if member_id == members.leader else ()


# Forms ---------------------------------------------------------------------------------------------------------------------------


def _current_generation(on: Input) -> JoinGroupResponse:
    return join_answer(on, on.member, _leaders_list(on, on.member_id))


def _returned(on: Input) -> Member:
    """Return the static member under its new id."""
    member = on.here.members.get(on.answered_id or "")
    assert member is not None, "a replaced instance is a member"
    return member


def _old_leader(on: Input) -> JoinGroupResponse:
    group = on.here
    return JoinGroupResponse(
        generation_id=group.generation, protocol_type=group.protocol_type, protocol_name=group.protocol_name,
        leader=on.old_leader or "", member_id=_returned(on).member_id,
    )  # fmt: skip


def _skip_assignment(on: Input) -> JoinGroupResponse:
    group, member = on.here, _returned(on)
    return JoinGroupResponse(
        generation_id=group.generation, protocol_type=group.protocol_type, protocol_name=group.protocol_name,
        leader=group.members.leader or "", skip_assignment=member.member_id == group.members.leader,
        member_id=member.member_id, members=_leaders_list(on, member.member_id),
    )  # fmt: skip


def _not_appended(on: Input) -> JoinGroupResponse:
    return join_error(on.refusal, "", on.version, -1)


def _old_leader_not_appended(on: Input) -> JoinGroupResponse:
    group = on.here
    return JoinGroupResponse(
        error_code=on.refusal, generation_id=group.generation, protocol_type=group.protocol_type, protocol_name=group.protocol_name,
        leader=group.members.leader or "",
    )  # fmt: skip


def _own_assignment(on: Input) -> SyncGroupResponse:
    return own_assignment(on, on.member)


def _committed(on: Input) -> GroupResponse:
    longest = on.settings.offset_metadata_max_bytes

    def code(metadata: str | None) -> ErrorCode:
        return on.refusal or (ErrorCode.OFFSET_METADATA_TOO_LARGE if is_too_long(metadata, longest) else ErrorCode.NONE)

    return _commit_answer(on.commit, code)


def _unverified(on: Input) -> GroupResponse:
    return _commit_answer(on.commit, lambda _: on.verdict)


def is_too_long(metadata: str | None, longest: int) -> bool:
    """Tell whether commit metadata exceeds the bound, counted as Java counts a string's length (COMMIT-28)."""
    return metadata is not None and len(metadata.encode("utf-16-le", "surrogatepass")) // 2 > longest


def _commit_answer(request: OffsetCommitRequest | TxnOffsetCommitRequest, code: Callable[[str | None], ErrorCode]) -> GroupResponse:
    topics = tuple(
        CommittedTopic(
            name=topic.name,
            partitions=tuple(
                CommittedPartition(partition_index=each.partition_index, error_code=code(each.committed_metadata)) for each in topic.partitions
            ),
        )
        for topic in request.topics
    )
    return OffsetCommitResponse(topics=topics) if isinstance(request, OffsetCommitRequest) else TxnOffsetCommitResponse(topics=topics)


def _offsets_deleted(on: Input) -> OffsetDeleteResponse:
    return _deletion_answer(on, lambda _: True)


def _stored_offsets_deleted(on: Input) -> OffsetDeleteResponse:
    stored = () if on.offsets is None else on.offsets.by_partition.keys()
    return _deletion_answer(on, lambda key: key in stored)


def _deletion_answer(on: Input, is_told: Callable[[TopicPartition], bool]) -> OffsetDeleteResponse:
    assert isinstance(on.request, OffsetDeleteRequest)
    topics = []
    for topic in on.request.topics:
        is_subscribed = on.here.is_subscribed_to(topic.name)
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_subscribed else ErrorCode.NONE
        told = [each.partition_index for each in topic.partitions if is_subscribed or is_told((topic.name, each.partition_index))]
        topics.append(DeletedOffsetTopic(name=topic.name, partitions=tuple(DeletedOffset(partition_index=each, error_code=code) for each in told)))
    return OffsetDeleteResponse(topics=tuple(topics))


def _stored_offsets(on: Input) -> OffsetFetchResponse:
    assert isinstance(on.request, OffsetFetchRequest)
    return _fetched(on, require_stable=on.request.require_stable)


def _committed_offsets(on: Input) -> OffsetFetchResponse:
    return _fetched(on, require_stable=False)


def _fetched(on: Input, *, require_stable: bool) -> OffsetFetchResponse:
    assert on.fetch is not None
    topics = (on.offsets or Offsets()).fetch(on.fetch.topics, require_stable=require_stable)
    return fetch_answer(FetchedGroup(group_id=on.group_id, topics=topics))


def _no_offsets(on: Input) -> OffsetFetchResponse:
    assert on.fetch is not None
    return fetch_answer(FetchedGroup(group_id=on.group_id, topics=_every_partition(on.fetch, ErrorCode.NONE)))


def _each_entry(on: Input) -> LeaveGroupResponse:
    if any(each.error_code is ErrorCode.UNKNOWN_SERVER_ERROR for each in on.left):
        return LeaveGroupResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    return LeaveGroupResponse(members=on.left)


def fetch_answer(group: FetchedGroup) -> OffsetFetchResponse:
    """Return the answer for one group; the coordinator joins those of a request's groups."""
    return OffsetFetchResponse(groups=(group,))


# Errors --------------------------------------------------------------------------------------------------------------------------


def error_answer(on: Input, error: ErrorCode, fields: Mapping[str, int]) -> GroupResponse:
    """Return the plain answer `error` to the input's request, in its API's shape."""
    if on.on is On.HEARTBEAT:
        return _beaten(error)
    if on.on is On.JOIN_GROUP:
        member_id = on.member_id if on.answered_id is None else on.answered_id
        return join_error(error, member_id, on.version, fields["join_error_generation"])
    if on.on is On.OFFSET_FETCH:
        assert on.fetch is not None
        topics = _every_partition(on.fetch, error) if on.version < 2 else ()
        return fetch_answer(FetchedGroup(group_id=on.group_id, topics=topics, error_code=error))
    if on.on is On.DESCRIBE_GROUPS:
        operations = fields["group_operations_unasked"]
        return DescribeGroupsResponse(groups=(DescribedGroup(group_id=on.group_id, error_code=error, authorized_operations=operations),))
    assert on.on in _PLAIN, f"{on.on.value} has no answer"
    return _PLAIN[on.on](on, error)


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


_PLAIN: Final[Mapping[EventKind, Callable[[Input, ErrorCode], GroupResponse]]] = {
    On.SYNC_GROUP: lambda on, error: sync_error(error),
    On.LEAVE_GROUP: lambda on, error: LeaveGroupResponse(error_code=error),
    On.OFFSET_COMMIT: lambda on, error: _commit_answer(on.commit, lambda _: error),  # repeated for every partition (COMMIT-12)
    On.TXN_OFFSET_COMMIT: lambda on, error: _commit_answer(on.commit, lambda _: error),
    On.OFFSET_DELETE: lambda on, error: OffsetDeleteResponse(error_code=error),
    On.DELETE_GROUPS: lambda on, error: DeleteGroupsResponse(results=(DeletedGroup(group_id=on.group_id, error_code=error),)),
    On.LIST_GROUPS: lambda on, error: ListGroupsResponse(error_code=error),
}

FORMS: Final[Mapping[AnswerName, Callable[[Input], GroupResponse]]] = {
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
