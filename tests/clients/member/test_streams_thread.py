from __future__ import annotations

import pytest

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.group_leader import Leading
from groupproof.clients.member.member_core import Core
from groupproof.clients.member.partition_handover import HandOver
from groupproof.clients.member.policy import REFERENCE, Policy
from groupproof.clients.member.streams_settings import ThreadSettings
from groupproof.clients.member.streams_thread import StreamsThread
from groupproof.protocol.wire.embedded.streams_protocol import (
    ASSIGNMENT_ERROR,
    INCOMPLETE_SOURCE_TOPICS,
    LATEST_OFFSET,
    SHUTDOWN_REQUESTED,
    VERSION_PROBING,
    AssignmentInfo,
    SubscriptionInfo,
    Task,
    decode_assignment_info,
    decode_subscription_info,
    encode_assignment_info,
)
from groupproof.protocol.wire.messages import JoinGroupResponse, JoinMember
from groupproof.protocol.wire.subscription import Assignment, decode_assignment, decode_subscription, encode_assignment

OWN = "1" * 32


def made(*, fails_at: int | None = None, policy: Policy = REFERENCE) -> tuple[Core, StreamsThread]:
    settings = ThreadSettings(process=OWN, is_stateful=True, fails_at=fails_at)
    core = Core(MemberSettings(group="g", topics=("t",), assignors=("stream",), thread=settings), policy, lambda: 0.5)
    core.member_id, core.protocol, core.cluster = "m", "stream", Cluster(partitions={"t": 2})
    return core, StreamsThread(core, settings, HandOver(core), Leading(core))


def subscription_info(thread: StreamsThread) -> SubscriptionInfo:
    (protocol,) = thread.protocols()
    assert protocol.name == "stream"
    return decode_subscription_info(decode_subscription(protocol.metadata).user_data or b"")


def give(thread: StreamsThread, *partitions: int, now_ms: int = 0, **fields: object) -> str | None:
    owned = tuple(("t", number) for number in partitions)
    tasks = tuple(Task(0, number) for number in partitions)
    info = AssignmentInfo(active=tasks, **{"version": 11, "commonly": 11, **fields})  # type: ignore[arg-type]  # fields by name
    return thread.accept(encode_assignment(Assignment(partitions=owned, user_data=encode_assignment_info(info))), now_ms)


@pytest.mark.requirement("STREAMS-01", "STREAMS-02", "STREAMS-03")
def test_a_thread_begins_with_its_newest_version_and_says_so_otherwise_each_time() -> None:
    _, thread = made()
    first, second = subscription_info(thread), subscription_info(thread)

    assert (first.version, first.latest, first.process) == (11, 11, OWN)
    assert second.process == first.process
    assert second.unique != first.unique


@pytest.mark.requirement("STREAMS-04")
def test_a_thread_names_what_it_runs_and_what_it_keeps() -> None:
    core, thread = made()
    give(thread, 0, standby=((Task(0, 1), (("t", 1),)),))
    core.owned = frozenset({("t", 0)})

    assert thread.assigned == core.owned
    assert subscription_info(thread).offset_sums == ((Task(0, 0), LATEST_OFFSET), (Task(0, 1), 0))


@pytest.mark.requirement("STREAMS-06", "STREAMS-07")
def test_a_thread_takes_up_the_version_that_all_know() -> None:
    _, thread = made()

    assert give(thread, version=8, commonly=8) == "the group agreed on another version"
    assert (subscription_info(thread).version, subscription_info(thread).latest) == (8, 11)
    assert give(thread, version=8, commonly=9) == "the group agreed on another version"
    assert subscription_info(thread).version == 9
    assert give(thread, version=9, commonly=9) is None


@pytest.mark.requirement("STREAMS-10", "STREAMS-20")
def test_a_thread_comes_back_when_the_time_has_come_and_a_join_ends_that() -> None:
    _, thread = made()
    give(thread, next_rebalance_ms=500)

    assert (thread.next_ms(), thread.due(499), thread.due(500)) == (500, False, True)
    thread.protocols()
    assert not thread.due(500)


@pytest.mark.requirement("STREAMS-13", "STREAMS-15")
@pytest.mark.parametrize(
    ("error", "name"),
    [
        (INCOMPLETE_SOURCE_TOPICS, "INCOMPLETE_SOURCE_TOPIC_METADATA"),
        (ASSIGNMENT_ERROR, "ASSIGNMENT_ERROR"),
        (SHUTDOWN_REQUESTED, "SHUTDOWN_REQUESTED"),
        (99, "ASSIGNOR_ERROR_99"),
    ],
)
def test_a_thread_ends_by_an_error(error: int, name: str) -> None:
    core, thread = made()
    give(thread, error=error)

    assert core.failure is not None
    assert (core.failure.error, core.failure.fatal) == (name, True)


@pytest.mark.requirement("STREAMS-16")
def test_the_code_of_version_probing_is_no_error() -> None:
    core, thread = made()

    assert give(thread, error=VERSION_PROBING) is None
    assert core.failure is None


def test_a_leader_deals_what_the_cluster_has_and_a_follower_nothing() -> None:
    core, thread = made()
    assert thread.assignments(0) == []
    (protocol,) = thread.protocols()
    thread.joined(
        JoinGroupResponse(
            generation_id=1,
            protocol_type="consumer",
            protocol_name="stream",
            leader="m",
            member_id="m",
            members=(JoinMember(member_id="m", metadata=protocol.metadata),),
        )
    )
    ((name, blob),) = thread.assignments(0)

    read = decode_assignment(blob)
    assert (name, read.partitions) == (core.member_id, (("t", 0), ("t", 1)))
    assert decode_assignment_info(read.user_data or b"").active == (Task(0, 0), Task(0, 1))


@pytest.mark.requirement("STREAMS-21")
def test_an_application_that_fails_at_a_record_asks_once_that_all_of_it_end() -> None:
    core, thread = made(fails_at=20)
    core.positions = {("t", 0): 20}
    assert not thread.due(0)
    assert subscription_info(thread).error == 0

    core.positions = {("t", 0): 21}
    assert [thread.due(0), thread.due(0)] == [True, False]
    assert subscription_info(thread).error == SHUTDOWN_REQUESTED
    assert core.failure is None


def test_one_that_ends_alone_says_nothing_to_its_group() -> None:
    core, thread = made(fails_at=20, policy=Policy(streams="ends-alone"))
    core.positions = {("t", 0): 21}

    assert not thread.due(0)
    assert core.failure is not None
