"""Join, sync and what a member does with their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import CallbackKind, NeedMetadata
from groupproof.protocol.vocabulary import Api, MemberState
from groupproof.protocol.wire.messages import JoinMember
from groupproof.protocol.wire.subscription import Assignment, Subscription, decode_subscription, encode_assignment, encode_subscription

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

JOIN, SYNC, HEARTBEAT, FIND = Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.FIND_COORDINATOR
UNJOINED, PREPARING, COMPLETING, STABLE = MemberState
SUBSCRIBED = encode_subscription(Subscription(topics=("t",)))


@pytest.mark.requirement("CLIENT-10", "CLIENT-23")
def test_the_first_join_has_the_empty_id_and_the_applications_timeouts(bench: type[Bench]) -> None:
    b = bench(instance_id="i0")
    b.poll()
    b.answer(FIND)
    b.poll()

    join = b.message(JOIN)
    assert (join.member_id, join.group_instance_id, join.reason) == ("", "i0", "")
    assert (join.session_timeout_ms, join.rebalance_timeout_ms) == (6000, 30_000)
    assert [protocol.name for protocol in join.protocols] == ["range"]
    assert decode_subscription(join.protocols[0].metadata) == Subscription(topics=("t",), generation=-1, version=3)


@pytest.mark.requirement("CLIENT-18")
def test_the_id_of_a_79_is_kept_and_joined_with_at_once(bench: type[Bench]) -> None:
    b = bench()
    b.poll()
    b.answer(FIND)
    b.poll()
    b.answer(JOIN, 79, member_id="m-1")
    b.poll()

    assert b.message(JOIN).member_id == "m-1"
    assert b.times(JOIN) == [0, 0]


@pytest.mark.requirement("CLIENT-11", "CLIENT-13")
def test_the_sync_follows_the_join_answer_without_a_poll(bench: type[Bench]) -> None:
    b = bench()
    b.joining()
    b.answer(JOIN, member_id="m-1", generation_id=7, leader="m-0", protocol_name="range")

    sync = b.message(SYNC)
    assert (sync.generation_id, sync.member_id, sync.protocol_type, sync.protocol_name) == (7, "m-1", "consumer", "range")
    assert b.member.state is COMPLETING


@pytest.mark.requirement("CLIENT-12")
def test_a_follower_sends_no_assignment_and_a_leader_one_for_each_member(bench: type[Bench]) -> None:
    follower, leader = bench(), bench()
    follower.syncing()
    leader.syncing(leader="m-1", members=tuple(JoinMember(member_id=name, metadata=SUBSCRIBED) for name in ("m-1", "m-2", "m-3")))

    assert follower.message(SYNC).assignments == ()
    assert [assignment.member_id for assignment in leader.message(SYNC).assignments] == ["m-1", "m-2", "m-3"]


def test_a_leader_learns_topics_it_does_not_know_before_it_assigns(bench: type[Bench]) -> None:
    b = bench()
    other = encode_subscription(Subscription(topics=("u",)))
    b.syncing(leader="m-1", members=(JoinMember(member_id="m-1", metadata=SUBSCRIBED), JoinMember(member_id="m-2", metadata=other)))

    assert b.of(NeedMetadata) == [NeedMetadata(topics=frozenset({"u"}))]
    assert b.count(SYNC) == 0
    assert b.member.metadata_topics == {"t", "u"}
    b.do(b.member.metadata(Cluster(partitions={"t": 2, "u": 1}), b.now))
    assert [assignment.member_id for assignment in b.message(SYNC).assignments] == ["m-1", "m-2"]


def test_a_leader_that_loses_its_coordinator_while_it_learns_joins_again(bench: type[Bench]) -> None:
    b = bench()
    other = encode_subscription(Subscription(topics=("u",)))
    b.syncing(leader="m-1", members=(JoinMember(member_id="m-1", metadata=SUBSCRIBED), JoinMember(member_id="m-2", metadata=other)))
    assert b.member.coordinator is not None
    b.do(b.member.disconnected(b.member.coordinator, b.now))
    b.do(b.member.metadata(Cluster(partitions={"t": 2, "u": 1}), b.now))
    assert b.count(SYNC) == 0
    b.answer(FIND)
    b.poll()

    assert b.sent[-1][1].api is JOIN


def test_a_subscription_that_cannot_be_read_ends_the_leader(bench: type[Bench]) -> None:
    b = bench()
    b.syncing(leader="m-1", members=(JoinMember(member_id="m-1", metadata=SUBSCRIBED), JoinMember(member_id="m-2", metadata=b"\x00")))

    assert b.member.failure is not None
    assert b.member.failure.error == "INCONSISTENT_GROUP_PROTOCOL"
    assert b.count(SYNC) == 0


@pytest.mark.requirement("CLIENT-30")
def test_the_assignment_is_in_force_with_the_next_poll(bench: type[Bench]) -> None:
    b = bench()
    b.syncing()
    b.answer(SYNC, assignment=encode_assignment(Assignment(partitions=(("t", 1),))))
    assert b.member.state is STABLE
    assert b.callbacks == []

    b.poll()
    callback = b.called()
    assert (callback.kind, callback.partitions, callback.generation) == (CallbackKind.ASSIGNED, frozenset({("t", 1)}), 1)
    assert b.member.owned == {("t", 1)}
    assert b.member.is_settled


@pytest.mark.requirement("CLIENT-81")
@pytest.mark.parametrize("blob", [b"", encode_assignment(Assignment())])
def test_an_empty_assignment_is_an_assignment(bench: type[Bench], blob: bytes) -> None:
    b = bench()
    b.syncing()
    b.answer(SYNC, assignment=blob)
    b.poll()

    assert b.called().partitions == frozenset()
    b.advance(5000)
    assert b.member.state is STABLE
    assert b.count(HEARTBEAT) >= 1


def test_an_assignment_that_cannot_be_read_is_an_error(bench: type[Bench]) -> None:
    b = bench()
    b.syncing()
    b.answer(SYNC, assignment=b"\x00\x01\x00")
    b.poll()

    assert b.member.failure is not None
    assert b.member.failure.fatal


@pytest.mark.parametrize(("api", "protocol"), [(JOIN, "roundrobin"), (SYNC, "roundrobin")])
def test_another_protocol_than_was_offered_is_an_error(bench: type[Bench], api: Api, protocol: str) -> None:
    b = bench()
    b.joining()
    b.answer(JOIN, member_id="m-1", generation_id=1, leader="m-0", protocol_name=protocol if api is JOIN else "range")
    if api is SYNC:
        b.answer(SYNC, protocol_name=protocol)

    assert b.member.failure is not None
    assert b.member.failure.error == "INCONSISTENT_GROUP_PROTOCOL"


# Answers that send it back to JoinGroup


@pytest.mark.requirement("CLIENT-14")
def test_an_unknown_id_is_dropped_and_the_next_join_comes_at_once(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.answer_heartbeat(27)
    b.poll()
    b.called()
    b.poll()
    b.answer(JOIN, 25)
    b.poll()

    assert b.message(JOIN).member_id == ""
    assert b.times(JOIN)[-1] == b.times(JOIN)[-2]


@pytest.mark.requirement("CLIENT-15")
def test_a_loading_coordinator_is_asked_again_after_the_backoff(bench: type[Bench]) -> None:
    b = bench()
    b.joining()
    b.answer(JOIN, 14)
    b.advance(1000, polling=True)

    assert b.times(JOIN)[-1] == 100
    assert b.message(JOIN).member_id == "m-1"
    assert b.count(FIND) == 1


@pytest.mark.requirement("CLIENT-16", "CLIENT-04")
@pytest.mark.parametrize("error", [15, 16])
def test_another_coordinator_is_looked_up_before_the_next_join(bench: type[Bench], error: int) -> None:
    b = bench()
    b.joining()
    b.answer(JOIN, error)
    b.advance(50, polling=True)
    assert b.sent[-1][1].api is FIND
    b.advance(100, polling=True)
    b.answer(FIND)
    b.advance(200, polling=True)

    assert b.message(JOIN).member_id == "m-1"
    assert b.sent[-1][1].api is JOIN


@pytest.mark.requirement("CLIENT-17", "CLIENT-19", "CLIENT-21")
@pytest.mark.parametrize("error", [7, 12, 22, 23, 24, 26, 30, 35, 81, 82, -1, 9999])
def test_an_error_for_the_application_is_raised_once_and_ends_the_member(bench: type[Bench], error: int) -> None:
    b = bench()
    b.joining()
    b.answer(JOIN, error)
    joins = b.count(JOIN)
    b.advance(20_000, polling=True)

    assert b.count(JOIN) == joins
    assert [failure.fatal for failure in b.failures] == [True]


@pytest.mark.requirement("CLIENT-32", "CLIENT-31", "CLIENT-75")
def test_a_rebalance_during_sync_is_joined_at_once_with_the_same_id(bench: type[Bench]) -> None:
    b = bench()
    b.syncing()
    b.answer(SYNC, 27)
    b.poll()

    assert b.message(JOIN).member_id == "m-1"
    assert b.times(JOIN)[-1] == 0


@pytest.mark.requirement("CLIENT-33")
@pytest.mark.parametrize(("error", "member_id"), [(22, "m-1"), (25, "")])
def test_a_generation_that_is_over_or_a_member_that_is_gone_joins_again(bench: type[Bench], error: int, member_id: str) -> None:
    b = bench()
    b.syncing()
    b.answer(SYNC, error)

    assert b.member.generation == -1
    b.poll()
    assert b.message(JOIN).member_id == member_id


@pytest.mark.requirement("CLIENT-34")
@pytest.mark.parametrize("error", [15, 16])
def test_a_coordinator_that_moved_during_sync_is_looked_up(bench: type[Bench], error: int) -> None:
    b = bench()
    b.syncing()
    b.answer(SYNC, error)
    b.advance(50, polling=True)

    assert b.sent[-1][1].api is FIND
    b.answer(FIND)
    b.advance(200, polling=True)
    assert b.message(JOIN).member_id == "m-1"


@pytest.mark.requirement("CLIENT-35")
@pytest.mark.parametrize("error", [3, 14, 23, 30, 82, -1, 9999])
def test_any_other_sync_error_is_raised(bench: type[Bench], error: int) -> None:
    b = bench()
    b.syncing()
    b.answer(SYNC, error)
    b.advance(5000, polling=True)

    assert len(b.failures) == 1
    assert b.sent[-1][1].api is SYNC


@pytest.mark.requirement("CLIENT-05", "CLIENT-10")
@pytest.mark.parametrize("api", [JOIN, SYNC])
def test_a_lost_connection_keeps_the_id(bench: type[Bench], api: Api) -> None:
    b = bench()
    b.joining() if api is JOIN else b.syncing()
    b.lose(api)
    b.advance(50, polling=True)
    b.answer(FIND)
    b.advance(200, polling=True)

    assert b.sent[-1][1].api is JOIN
    assert b.message(JOIN).member_id == "m-1"


@pytest.mark.requirement("CLIENT-22")
def test_a_parked_join_is_waited_for_longer_than_the_rebalance_timeout(bench: type[Bench]) -> None:
    b = bench()
    b.joining()
    b.advance(34_999, polling=True)
    assert b.count(JOIN) == 2
    assert b.member.state is PREPARING

    b.advance(1, polling=True)
    assert b.sent[-1][1].api is FIND


@pytest.mark.requirement("CLIENT-75")
def test_refusals_in_a_row_are_not_answered_in_a_storm(bench: type[Bench]) -> None:
    b = bench()
    b.joining()
    for _ in range(200):
        if b.waits(JOIN):
            b.answer(JOIN, 25)
        b.advance(10, polling=True)

    assert b.count(JOIN) < 40


@pytest.mark.requirement("CLIENT-75")
@pytest.mark.parametrize(("pause_ms", "at_once"), [(0, [0] * 4), (100, [100] * 6)])
def test_five_refusals_are_answered_at_once_counted_from_the_first_join_or_the_last_pause(
    bench: type[Bench], pause_ms: int, at_once: list[int]
) -> None:
    b = bench()
    b.joining()  # after a 79, which counts
    if pause_ms:
        b.answer(JOIN, 14)
        b.advance(pause_ms, polling=True)
    while b.waits(JOIN) and b.count(JOIN) < 20:
        b.answer(JOIN, 25)
        b.poll()

    assert b.times(JOIN) == [0, 0, *at_once]


@pytest.mark.requirement("CLIENT-75")
def test_five_refusals_are_answered_at_once_counted_from_the_last_assignment(bench: type[Bench]) -> None:
    b = bench()
    b.stable()
    b.answer_heartbeat(27)
    b.poll()
    b.called()
    b.poll()
    for _ in range(6):
        b.answer(JOIN, 25)
        b.poll()
        while b.callbacks:
            b.called()
            b.poll()

    assert b.times(JOIN) == [0, 0] + [1000] * 6


def test_a_client_that_waits_a_tenth_of_the_time_for_its_sync_gives_it_up(bench: type[Bench]) -> None:
    b = bench(Policy(sync_timeout_factor=0.1))
    b.syncing()
    b.advance(3000)

    assert b.member.state is MemberState.UNJOINED


def _gives_back_and_joins(b: Bench) -> None:
    """Poll until what the member owns is revoked and it has joined."""
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()


ASKS = Policy(failed_rejoin="heartbeats")


def test_a_member_that_asks_by_heartbeat_resumes_what_it_gave_back_for_a_rebalance_that_is_over(bench: type[Bench]) -> None:
    b = bench(ASKS)
    b.stable(0)
    b.answer_heartbeat(27)
    _gives_back_and_joins(b)
    b.answer(JOIN, 14)
    joins = b.count(JOIN)
    assert b.member.owned == frozenset()
    b.advance(150)
    b.answer_heartbeat(0)
    b.poll()

    callback = b.called()
    assert (callback.kind, callback.partitions) == (CallbackKind.ASSIGNED, frozenset({("t", 0)}))
    assert b.count(JOIN) == joins


def test_a_member_that_asks_by_heartbeat_joins_all_the_same_for_a_reason_of_its_own(bench: type[Bench]) -> None:
    b = bench(ASKS)
    b.stable(0)
    b.do(b.member.resubscribe(("t", "u"), b.now))
    _gives_back_and_joins(b)
    joins = b.count(JOIN)
    b.answer(JOIN, 14)
    b.advance(150, polling=True)

    assert b.count(JOIN) == joins + 1


def test_a_member_that_asks_by_heartbeat_joins_all_the_same_before_it_has_an_assignment(bench: type[Bench]) -> None:
    b = bench(ASKS)
    b.stable(0)
    b.answer_heartbeat(27)
    _gives_back_and_joins(b)
    b.answer(JOIN, member_id="m-1", generation_id=2, leader="m-0", protocol_name="range")
    b.answer(SYNC, 27)
    b.poll()
    joins = b.count(JOIN)
    b.answer(JOIN, 14)
    b.advance(150, polling=True)

    assert b.count(JOIN) == joins + 1
