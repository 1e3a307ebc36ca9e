"""Requests about several groups. Each group is decided separately, and one answer combines the results. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.wire.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)

if TYPE_CHECKING:
    from groupproof.protocol.rules.cells import EventKind
    from groupproof.protocol.wire.messages import FetchGroup, GroupResponse

__all__ = ["BATCHES", "Batch"]


@dataclass(frozen=True, slots=True)
class Batch:
    """How a request splits. `groups` yields the requested groups with the part for each; `join` combines the groups' answers into one."""

    kind: EventKind
    groups: Callable[[Any], Iterable[tuple[str, FetchGroup | None]]]
    join: Callable[[list[Any]], GroupResponse]


def _fetched(asked: OffsetFetchRequest) -> Iterable[tuple[str, FetchGroup | None]]:
    return ((group.group_id, group) for group in asked.groups)


def _described(asked: DescribeGroupsRequest) -> Iterable[tuple[str, FetchGroup | None]]:
    return ((group_id, None) for group_id in asked.groups)


def _deleted(asked: DeleteGroupsRequest) -> Iterable[tuple[str, FetchGroup | None]]:
    """Yield each group once, even if the request names it several times (`KafkaApis.handleDeleteGroupsRequest`)."""
    return ((group_id, None) for group_id in dict.fromkeys(asked.groups_names))


def _join_fetched(answers: list[OffsetFetchResponse]) -> OffsetFetchResponse:
    return OffsetFetchResponse(groups=tuple(group for answer in answers for group in answer.groups))


def _join_described(answers: list[DescribeGroupsResponse]) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=tuple(group for answer in answers for group in answer.groups))


def _join_deleted(answers: list[DeleteGroupsResponse]) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=tuple(result for answer in answers for result in answer.results))


BATCHES: Final[Mapping[type[Any], Batch]] = {
    OffsetFetchRequest: Batch(ClassicEvent.OFFSET_FETCH, _fetched, _join_fetched),
    DescribeGroupsRequest: Batch(ClassicEvent.DESCRIBE_GROUPS, _described, _join_described),
    DeleteGroupsRequest: Batch(ClassicEvent.DELETE_GROUPS, _deleted, _join_deleted),
}
"""By the type of the request."""
