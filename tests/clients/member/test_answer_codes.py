"""The error code that decides, of every API."""

from __future__ import annotations

from typing import Any

import pytest

from groupproof.clients.member.answer_codes import error_of
from groupproof.protocol.wire.messages import (
    CommittedPartition,
    CommittedTopic,
    Coordinator,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    LeftMember,
    OffsetCommitResponse,
    OffsetFetchResponse,
)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (HeartbeatResponse(error_code=27), 27),
        (FindCoordinatorResponse(coordinators=(Coordinator(key="g", error_code=15),)), 15),
        (FindCoordinatorResponse(coordinators=()), 0),
        (LeaveGroupResponse(members=(LeftMember(member_id="m", error_code=25),)), 25),
        (LeaveGroupResponse(error_code=16), 16),
        (
            OffsetCommitResponse(
                topics=(
                    CommittedTopic(
                        name="t", partitions=(CommittedPartition(partition_index=0), CommittedPartition(partition_index=1, error_code=12))
                    ),
                )
            ),
            12,
        ),
        (OffsetFetchResponse(groups=(FetchedGroup(group_id="g", error_code=14),)), 14),
        (
            OffsetFetchResponse(
                groups=(
                    FetchedGroup(group_id="g", topics=(FetchedTopic(name="t", partitions=(FetchedPartition(partition_index=0, error_code=3),)),)),
                )
            ),
            3,
        ),
        (JoinGroupResponse(), 0),
    ],
)
def test_the_code_that_decides_is_the_first_that_is_not_zero(message: Any, code: int) -> None:
    assert error_of(message) == code
