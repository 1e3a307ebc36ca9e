"""Answers: one function for each form, and every error in the shape of its API."""

from __future__ import annotations

import pytest

from groupproof.coordinator.answers import FORMS, error_answer, is_too_long, join_error
from groupproof.coordinator.inputs import Input
from groupproof.coordinator.outputs import Arrival
from groupproof.coordinator.settings import Settings
from groupproof.protocol.messages import (
    CommitPartition,
    CommitTopic,
    FetchGroup,
    FetchTopic,
    HeartbeatResponse,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchResponse,
    SyncGroupResponse,
)
from groupproof.protocol.spec import Form, On
from groupproof.protocol.vocabulary import ErrorCode

FIELDS = {"join_error_generation": -1}
ERROR = ErrorCode.NOT_COORDINATOR


def _input(on: On, version: int = 5) -> Input:
    arrival = Arrival(token=1, api_version=version, client_id="c", client_host="h")
    return Input(on=on, now_ms=0, settings=Settings(), group_id="g", arrival=arrival)


def test_names_and_functions_match_one_to_one() -> None:
    assert FORMS.keys() == set(Form)
    assert len(set(FORMS.values())) == len(FORMS)


def test_each_api_has_its_error_answer() -> None:
    assert error_answer(_input(On.HEARTBEAT), ERROR, FIELDS) == HeartbeatResponse(error_code=16)
    assert error_answer(_input(On.SYNC_GROUP), ERROR, FIELDS) == SyncGroupResponse(error_code=16)
    assert error_answer(_input(On.LEAVE_GROUP), ERROR, FIELDS) == LeaveGroupResponse(error_code=16)
    assert error_answer(_input(On.JOIN_GROUP), ERROR, FIELDS) == join_error(ERROR, "", 5, -1)


@pytest.mark.requirement("COMMIT-12")
def test_a_commit_repeats_its_error_for_every_partition() -> None:
    on = _input(On.OFFSET_COMMIT)
    partitions = tuple(CommitPartition(partition_index=index, committed_offset=1) for index in range(2))
    on.request = OffsetCommitRequest(group_id="g", topics=(CommitTopic(name="t", partitions=partitions),))
    answer = error_answer(on, ERROR, FIELDS)

    assert isinstance(answer, OffsetCommitResponse)
    assert [(each.partition_index, each.error_code) for each in answer.topics[0].partitions] == [(0, 16), (1, 16)]


@pytest.mark.parametrize(("version", "topics"), [(1, 1), (2, 0)])
def test_a_fetch_has_a_code_of_its_own_from_version_2_on(version: int, topics: int) -> None:
    on = _input(On.OFFSET_FETCH, version)
    on.fetch = FetchGroup(group_id="g", topics=(FetchTopic(name="t", partition_indexes=(0,)),))
    answer = error_answer(on, ERROR, FIELDS)

    assert isinstance(answer, OffsetFetchResponse)
    assert (answer.groups[0].error_code, len(answer.groups[0].topics)) == (16, topics)


def test_a_timer_has_no_answer() -> None:
    with pytest.raises(AssertionError, match="SessionEnd has no answer"):
        error_answer(_input(On.SESSION_END), ERROR, FIELDS)


@pytest.mark.requirement("COMMIT-28")
@pytest.mark.parametrize(("metadata", "too_long"), [
    (None, False), ("", False), ("abcd", False), ("abcde", True), ("\N{GRINNING FACE}" * 2, False), ("\N{GRINNING FACE}" * 3, True),
])  # fmt: skip
def test_metadata_is_measured_in_java_s_chars(metadata: str | None, too_long: bool) -> None:
    assert is_too_long(metadata, 4) is too_long
