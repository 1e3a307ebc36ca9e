"""Answers: one function for each form, and every error in the shape of its API."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupproof.coordinator.machine.answers import FORMS, error_answer, is_too_long, join_error
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.event import Event
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.coordinator.machine.members import Member
from groupproof.protocol.rules import ClassicEvent, Form
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.admin_messages import DescribedGroup, DescribedMember, DescribeGroupsResponse
from groupproof.protocol.wire.messages import (
    CommitPartition,
    CommitTopic,
    FetchGroup,
    FetchTopic,
    HeartbeatResponse,
    JoinGroupResponse,
    JoinMember,
    JoinProtocol,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchResponse,
    SyncGroupResponse,
)

FIELDS = {"join_error_generation": -1}
ERROR = ErrorCode.NOT_COORDINATOR


def _input(kind: ClassicEvent, version: int = 5) -> Event:
    arrival = Arrival(token=1, api_version=version, client_id="c", client_host="h")
    return Event(kind=kind, now_ms=0, settings=Settings(), group_id="g", arrival=arrival)


def _group() -> Group:
    """A group led by the static member `a-2`, that was `a-1`, with a dynamic member `m`."""
    group = Group(group_id="g", state=GroupState.STABLE, generation=3, protocol_type="consumer", protocol_name="range")
    for member_id, instance in (("a-2", "a"), ("m", None)):
        protocols = tuple(JoinProtocol(name=name, metadata=f"{member_id}/{name}".encode()) for name in ("sticky", "range"))
        group.members.add(
            Member(
                member_id=member_id, group_instance_id=instance, client_id=f"c-{member_id}", client_host=f"h-{member_id}", session_timeout_ms=1,
                rebalance_timeout_ms=2, protocol_type="consumer", protocols=protocols, assignment=f"mine/{member_id}".encode(),
            )
        )  # fmt: skip
    return group


def _of(form: Form, member_id: str, answered_id: str | None = None) -> object:
    """Return the form's answer to this member of the group."""
    event = _input(ClassicEvent.JOIN_GROUP, 9)
    event.group, event.member_id, event.answered_id, event.old_leader, event.refusal, event.operations = (
        _group(),
        member_id,
        answered_id,
        "a-1",
        ERROR,
        7,
    )
    return FORMS[form](event)


JOINED = JoinGroupResponse(generation_id=3, protocol_type="consumer", protocol_name="range", leader="a-2")
LISTED = (JoinMember(member_id="a-2", group_instance_id="a", metadata=b"a-2/range"), JoinMember(member_id="m", metadata=b"m/range"))
DESCRIBED = tuple(
    DescribedMember(member_id=name, group_instance_id=instance, client_id=f"c-{name}", client_host=f"h-{name}")
    for name, instance in (("a-2", "a"), ("m", None))
)
TOLD = DescribedGroup(group_id="g", group_state="Stable", protocol_type="consumer", authorized_operations=7)


def _described(protocol: str, *members: tuple[bytes, bytes]) -> DescribeGroupsResponse:
    """Return the description with these subscriptions and assignments."""
    entries = tuple(
        replace(described_member, member_metadata=data, member_assignment=assignment)
        for described_member, (data, assignment) in zip(DESCRIBED, members, strict=True)
    )
    return DescribeGroupsResponse(groups=(replace(TOLD, protocol_data=protocol, members=entries),))


@pytest.mark.parametrize(("form", "member_id", "answered_id", "expected"), [
    (Form.CURRENT_GENERATION, "a-2", None, replace(JOINED, member_id="a-2", members=LISTED)),
    (Form.CURRENT_GENERATION, "m", None, replace(JOINED, member_id="m")),
    (Form.OLD_LEADER, "", "a-2", replace(JOINED, leader="a-1", member_id="a-2")),
    (Form.SKIP_ASSIGNMENT, "", "a-2", replace(JOINED, member_id="a-2", members=LISTED, skip_assignment=True)),
    (Form.SKIP_ASSIGNMENT, "", "m", replace(JOINED, member_id="m")),
    (Form.NOT_APPENDED, "m", "m", JoinGroupResponse(error_code=16, generation_id=-1)),
    (Form.OLD_LEADER_NOT_APPENDED, "m", "m", replace(JOINED, error_code=16)),
    (Form.OWN_ASSIGNMENT, "m", None, SyncGroupResponse(protocol_type="consumer", protocol_name="range", assignment=b"mine/m")),
    (Form.DESCRIBED_STABLE, "", None, _described("range", (b"a-2/range", b"mine/a-2"), (b"m/range", b"mine/m"))),
    (Form.DESCRIBED_BY_ASSIGNMENT, "", None, _described("range", (b"mine/a-2", b"mine/a-2"), (b"mine/m", b"mine/m"))),
    (Form.DESCRIBED, "", None, _described("", (b"", b"mine/a-2"), (b"", b"mine/m"))),
    (Form.DESCRIBED_BARE, "", None, _described("", (b"", b""), (b"", b""))),
    (Form.DESCRIBED_DEAD, "", None, DescribeGroupsResponse(groups=(DescribedGroup(group_id="g", group_state="Dead", authorized_operations=7),))),
])  # fmt: skip
def test_a_form_that_carries_more_than_a_code_carries_it_in_full(form: Form, member_id: str, answered_id: str | None, expected: object) -> None:
    assert _of(form, member_id, answered_id) == expected


def test_names_and_functions_match_one_to_one() -> None:
    assert FORMS.keys() == set(Form)
    assert len(set(FORMS.values())) == len(FORMS)


def test_each_api_has_its_error_answer() -> None:
    assert error_answer(_input(ClassicEvent.HEARTBEAT), ERROR, FIELDS) == HeartbeatResponse(error_code=16)
    assert error_answer(_input(ClassicEvent.SYNC_GROUP), ERROR, FIELDS) == SyncGroupResponse(error_code=16)
    assert error_answer(_input(ClassicEvent.LEAVE_GROUP), ERROR, FIELDS) == LeaveGroupResponse(error_code=16)
    assert error_answer(_input(ClassicEvent.JOIN_GROUP), ERROR, FIELDS) == join_error(ERROR, "", 5, -1)


@pytest.mark.requirement("COMMIT-12")
def test_a_commit_repeats_its_error_for_every_partition() -> None:
    event = _input(ClassicEvent.OFFSET_COMMIT)
    partitions = tuple(CommitPartition(partition_index=index, committed_offset=1) for index in range(2))
    event.request = OffsetCommitRequest(group_id="g", topics=(CommitTopic(name="t", partitions=partitions),))
    answer = error_answer(event, ERROR, FIELDS)

    assert isinstance(answer, OffsetCommitResponse)
    assert [(partition.partition_index, partition.error_code) for partition in answer.topics[0].partitions] == [(0, 16), (1, 16)]


@pytest.mark.parametrize(("version", "topics"), [(1, 1), (2, 0)])
def test_a_fetch_has_a_code_of_its_own_from_version_2_on(version: int, topics: int) -> None:
    event = _input(ClassicEvent.OFFSET_FETCH, version)
    event.fetch = FetchGroup(group_id="g", topics=(FetchTopic(name="t", partition_indexes=(0,)),))
    answer = error_answer(event, ERROR, FIELDS)

    assert isinstance(answer, OffsetFetchResponse)
    assert (answer.groups[0].error_code, len(answer.groups[0].topics)) == (16, topics)


def test_a_timer_has_no_answer() -> None:
    with pytest.raises(AssertionError, match="SessionEnd has no answer"):
        error_answer(_input(ClassicEvent.SESSION_END), ERROR, FIELDS)


@pytest.mark.requirement("COMMIT-28")
@pytest.mark.parametrize(("metadata", "too_long"), [
    (None, False), ("", False), ("abcd", False), ("abcde", True), ("\N{GRINNING FACE}" * 2, False), ("\N{GRINNING FACE}" * 3, True),
])  # fmt: skip
def test_metadata_is_measured_in_java_s_chars(metadata: str | None, too_long: bool) -> None:
    assert is_too_long(metadata, 4) is too_long
