"""The error code that decides the meaning of an answer, wherever its API puts it."""

from __future__ import annotations

from typing import Any, Final

from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatResponse
from groupproof.protocol.wire.messages import (
    FindCoordinatorResponse,
    GroupResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    SyncGroupResponse,
)

__all__ = ["error_of"]

_ONE_CODE: Final = frozenset({HeartbeatResponse, JoinGroupResponse, SyncGroupResponse, ConsumerGroupHeartbeatResponse})


def error_of(message: GroupResponse | ConsumerGroupHeartbeatResponse) -> int:
    """Return the deciding error code: the first that is not 0, or 0."""
    answer: Any = message
    if type(answer) in _ONE_CODE:
        code: int = answer.error_code
        return code
    if type(answer) is OffsetCommitResponse:
        for topic in answer.topics:
            for partition in topic.partitions:
                if partition.error_code:
                    return int(partition.error_code)
        return 0
    return next(filter(None, _codes(answer)), 0)


def _codes(message: GroupResponse) -> list[int]:
    if isinstance(message, FindCoordinatorResponse):
        return [coordinator.error_code for coordinator in message.coordinators]
    if isinstance(message, LeaveGroupResponse):
        return [message.error_code, *(member.error_code for member in message.members)]
    if isinstance(message, OffsetFetchResponse):
        groups = message.groups
        return [
            *(group.error_code for group in groups),
            *(partition.error_code for group in groups for topic in group.topics for partition in topic.partitions),
        ]
    return []
