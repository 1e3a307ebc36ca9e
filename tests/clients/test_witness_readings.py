"""Where the sources contradict each other or Kafka (docs/discrepancies.md), the member keeps the reading that holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.outputs import CommitResult
from groupproof.clients.planted.member_variants import variant_named
from groupproof.protocol.vocabulary import Api, ErrorCode, MemberState
from groupproof.protocol.wire.subscription import decode_subscription

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

JOIN, HEARTBEAT, FIND, LEAVE, COMMIT = Api.JOIN_GROUP, Api.HEARTBEAT, Api.FIND_COORDINATOR, Api.LEAVE_GROUP, Api.OFFSET_COMMIT


@pytest.mark.reading("DISC-03")
def test_the_poll_deadline_leaves_and_the_end_of_the_session_only_forgets_the_coordinator(bench: type[Bench]) -> None:
    b = bench(max_poll_interval_ms=30_000, session_timeout_ms=6_000)
    b.stable(0)
    b.advance(6_000)  # no heartbeat is answered
    assert (b.count(FIND), b.count(LEAVE), b.member.member_id) == (2, 0, "m-1")

    b = bench(max_poll_interval_ms=4_000, session_timeout_ms=6_000)
    b.stable(0)
    b.advance(4_000)
    assert (b.count(FIND), b.count(LEAVE), b.member.member_id) == (1, 1, "")


@pytest.mark.reading("DISC-05")
def test_a_join_carries_all_that_the_coordinator_decides_by(bench: type[Bench]) -> None:
    b = bench(assignors=("roundrobin", "range"), max_poll_interval_ms=40_000)
    b.joining()
    sent = b.message(JOIN)

    assert (sent.session_timeout_ms, sent.rebalance_timeout_ms, sent.member_id, sent.protocol_type) == (6_000, 40_000, "m-1", "consumer")
    assert [(protocol.name, decode_subscription(protocol.metadata).topics) for protocol in sent.protocols] == [
        ("roundrobin", ("t",)),
        ("range", ("t",)),
    ]


@pytest.mark.reading("DISC-07")
@pytest.mark.parametrize(("error", "who"), [(22, ("", -1)), (25, ("", -1)), (27, ("m-1", 1))])
def test_22_and_25_reset_who_it_is_and_27_only_that_it_must_rejoin(bench: type[Bench], error: int, who: tuple[str, int]) -> None:
    b = bench(variant_named("drops-id-on-22").policy)
    b.stable(0)
    b.answer_heartbeat(error)

    assert (b.member.member_id, b.member.generation) == who


@pytest.mark.reading("DISC-09")
def test_a_commit_that_meets_a_rebalance_leaves_the_generation_alone(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.commit("token", {("t", 0): 5}, b.now, is_sync=True))
    b.answer(COMMIT, 27)

    assert (b.member.member_id, b.member.generation) == ("m-1", 1)
    assert [item.error for item in b.of(CommitResult)] == ["REBALANCE_IN_PROGRESS"]
    joins = b.count(JOIN)
    b.poll()
    b.called()
    b.poll()
    assert b.count(JOIN) == joins + 1


@pytest.mark.reading("DISC-11")
def test_a_settled_member_sends_its_coordinator_heartbeats_and_commits_and_nothing_else(bench: type[Bench]) -> None:
    b = bench(auto_commit=True, auto_commit_interval_ms=3_000)
    b.stable(0)
    b.positions = {("t", 0): 7}
    before = len(b.sent)
    for _ in range(20):
        b.advance(1_000, polling=True)
        for api in (HEARTBEAT, COMMIT):
            while b.waits(api):
                b.answer(api)

    assert {message.api for _, message in b.sent[before:]} == {HEARTBEAT, COMMIT}


@pytest.mark.reading("DISC-20")
def test_14_is_waited_out_and_15_and_16_are_looked_up_again(bench: type[Bench]) -> None:
    assert (ErrorCode(14).name, ErrorCode(15).name, ErrorCode(16).name) == (
        "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR",
    )  # fmt: skip
    for error, lookups in ((14, 1), (15, 2), (16, 2)):
        b = bench()
        b.joining()
        joins = b.count(JOIN)
        b.answer(JOIN, error)
        b.advance(99, polling=True)
        assert b.count(JOIN) == joins
        if b.waits(FIND):
            b.answer(FIND)
        b.advance(1, polling=True)
        assert (b.count(FIND), b.count(JOIN)) == (lookups, joins + 1)


@pytest.mark.reading("DISC-34")
def test_slow_processing_meets_the_poll_interval_and_not_the_session(bench: type[Bench]) -> None:
    b = bench(max_poll_interval_ms=30_000, session_timeout_ms=6_000)
    b.stable(0)
    for _ in range(29):
        b.answer_heartbeat()
    assert (b.member.state, b.count(LEAVE)) == (MemberState.STABLE, 0)

    b.advance(1_000)
    assert b.times(LEAVE) == [30_000]


@pytest.mark.reading("DISC-35")
def test_the_default_assignor_is_range_alone() -> None:
    assert MemberSettings(group="g", topics=("t",)).assignors == ("range",)
