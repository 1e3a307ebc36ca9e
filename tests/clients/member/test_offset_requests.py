"""Commits and offset fetches: sent, tried again, refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.clients.member.offset_requests import OFFSET_REQUESTS_MAX
from groupproof.clients.member.policy import Override, Policy
from groupproof.clients.outputs import CallbackKind, CommitResult, OffsetFetchResult
from groupproof.protocol.rules.classic.member_reactions import Effect
from groupproof.protocol.vocabulary import Api, MemberState
from groupproof.protocol.wire.messages import FetchedPartition, FetchedTopic

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

JOIN, SYNC, COMMIT, FETCH, FIND = Api.JOIN_GROUP, Api.SYNC_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.FIND_COORDINATOR
AT = {("t", 0): 5}


def commit(b: Bench, token: int = 1, *, is_sync: bool = True) -> None:
    b.do(b.member.commit(token, AT, b.now, is_sync=is_sync))


def ends(b: Bench) -> list[tuple[object, str | None]]:
    return [(item.token, item.error) for item in b.of(CommitResult)]


@pytest.mark.requirement("CLIENT-66")
def test_a_commit_carries_generation_member_and_instance(bench: type[Bench]) -> None:
    b = bench(instance_id="i0")
    b.stable(0)
    commit(b)
    b.answer(COMMIT)

    sent = b.message(COMMIT)
    assert (sent.generation_id, sent.member_id, sent.group_instance_id) == (1, "m-1", "i0")
    assert [(topic.name, partition.partition_index, partition.committed_offset) for topic in sent.topics for partition in topic.partitions] == [
        ("t", 0, 5)
    ]
    assert ends(b) == [(1, None)]


@pytest.mark.requirement("CLIENT-69")
@pytest.mark.parametrize("error", [3, 14])
def test_a_sync_commit_is_tried_again_after_the_backoff(bench: type[Bench], error: int) -> None:
    b = bench()
    b.stable(0)
    commit(b)
    b.answer(COMMIT, error)
    b.advance(100)
    b.answer(COMMIT)

    assert b.times(COMMIT) == [0, 100]
    assert ends(b) == [(1, None)]
    assert b.count(FIND) == 1


@pytest.mark.requirement("CLIENT-69", "CLIENT-04")
@pytest.mark.parametrize("error", [7, 15, 16, None])
def test_a_sync_commit_follows_the_coordinator(bench: type[Bench], error: int | None) -> None:
    b = bench()
    b.stable(0)
    commit(b)
    b.lose(COMMIT) if error is None else b.answer(COMMIT, error)
    assert b.sent[-1][1].api is FIND
    b.answer(FIND)
    b.answer(COMMIT)

    assert ends(b) == [(1, None)]
    assert b.member.generation == 1


@pytest.mark.requirement("CLIENT-69")
@pytest.mark.parametrize(("error", "named"), [(14, "COORDINATOR_LOAD_IN_PROGRESS"), (16, "NOT_COORDINATOR"), (None, "DISCONNECTED")])
def test_an_async_commit_is_sent_once(bench: type[Bench], error: int | None, named: str) -> None:
    b = bench()
    b.stable(0)
    commit(b, is_sync=False)
    b.lose(COMMIT) if error is None else b.answer(COMMIT, error)
    b.advance(500)

    assert ends(b) == [(1, named)]
    assert b.count(COMMIT) == 1


@pytest.mark.requirement("CLIENT-69")
@pytest.mark.parametrize(
    ("error", "named"),
    [(12, "OFFSET_METADATA_TOO_LARGE"), (28, "INVALID_COMMIT_OFFSET_SIZE"), (29, "TOPIC_AUTHORIZATION_FAILED"), (9999, "UNKNOWN(9999)")],
)
def test_what_trying_again_cannot_mend_is_raised(bench: type[Bench], error: int, named: str) -> None:
    b = bench()
    b.stable(0)
    commit(b)
    b.answer(COMMIT, error)
    b.advance(500)

    assert ends(b) == [(1, named)]
    assert b.count(COMMIT) == 1
    assert b.member.is_settled


@pytest.mark.requirement("CLIENT-68", "CLIENT-78")
def test_a_commit_that_meets_a_rebalance_fails_and_keeps_the_membership(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    commit(b)
    b.answer(COMMIT, 27)
    assert ends(b) == [(1, "REBALANCE_IN_PROGRESS")]
    b.poll()
    b.called()
    b.poll()

    assert b.message(JOIN).member_id == "m-1"


@pytest.mark.requirement("CLIENT-68", "CLIENT-78")
@pytest.mark.parametrize(("error", "named", "member_id"), [(22, "ILLEGAL_GENERATION", "m-1"), (25, "UNKNOWN_MEMBER_ID", "")])
def test_a_commit_of_a_member_that_is_out_fails_and_joins_again(bench: type[Bench], error: int, named: str, member_id: str) -> None:
    b = bench()
    b.stable(0)
    commit(b)
    b.answer(COMMIT, error)
    assert ends(b) == [(1, named)]
    b.poll()
    assert b.called().kind is CallbackKind.LOST
    b.poll()

    assert b.message(JOIN).member_id == member_id


@pytest.mark.requirement("CLIENT-64")
@pytest.mark.parametrize("error", [22, 25])
def test_a_commit_refused_during_the_join_does_not_touch_the_generation_it_brings(bench: type[Bench], error: int) -> None:
    b = bench()
    b.stable(0)
    commit(b, is_sync=False)
    b.answer_heartbeat(27)
    b.poll()
    b.called()
    b.poll()
    b.answer(COMMIT, error)
    b.answer(JOIN, member_id="m-1", generation_id=2, leader="m-0", protocol_name="range")

    assert (b.message(SYNC).generation_id, b.message(SYNC).member_id) == (2, "m-1")
    assert len(ends(b)) == 1


@pytest.mark.requirement("CLIENT-70")
def test_a_member_that_is_not_stable_fails_its_commit_without_sending_it(bench: type[Bench]) -> None:
    b = bench()
    commit(b, 1)
    b.joining()
    commit(b, 2)
    b.answer(JOIN, member_id="m-1", generation_id=1, leader="m-0", protocol_name="range")
    commit(b, 3)
    b.answer(SYNC, 27)
    commit(b, 4)

    assert ends(b) == [(1, "UNKNOWN_MEMBER_ID"), (2, "REBALANCE_IN_PROGRESS"), (3, "REBALANCE_IN_PROGRESS"), (4, "ILLEGAL_GENERATION")]
    assert b.count(COMMIT) == 0


def test_a_commit_after_unsubscribe_is_nobodys(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.unsubscribe(b.now))
    b.called()
    b.answer(Api.LEAVE_GROUP)
    commit(b)

    assert (b.message(COMMIT).generation_id, b.message(COMMIT).member_id) == (-1, "")


def test_a_sync_commit_ends_with_its_time(bench: type[Bench]) -> None:
    b = bench(default_api_timeout_ms=1000)
    b.stable(0)
    commit(b)
    for _ in range(20):
        if b.waits(COMMIT):
            b.answer(COMMIT, 14)
        b.advance(100)

    assert ends(b) == [(1, "REQUEST_TIMED_OUT")]


def test_a_sync_commit_waits_for_no_answer_beyond_its_time(bench: type[Bench]) -> None:
    b = bench(default_api_timeout_ms=1000)
    b.stable(0)
    b.advance(500)
    commit(b)
    b.advance(999)
    assert ends(b) == []
    b.advance(1)

    assert ends(b) == [(1, "REQUEST_TIMED_OUT")]


@pytest.mark.requirement("CLIENT-57")
def test_a_fenced_commit_fails_and_ends_the_member(bench: type[Bench]) -> None:
    b = bench(instance_id="i0")
    b.stable(0)
    commit(b)
    b.answer(COMMIT, 82)
    commit(b, 2)

    assert ends(b) == [(1, "FENCED_INSTANCE_ID"), (2, "FENCED_INSTANCE_ID")]
    assert b.count(COMMIT) == 1


def test_too_many_commits_are_refused(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    for token in range(OFFSET_REQUESTS_MAX + 1):
        commit(b, token, is_sync=False)

    assert len(ends(b)) == 1
    assert ends(b)[0][0] == OFFSET_REQUESTS_MAX


@pytest.mark.parametrize("is_sync", [True, False])
def test_a_commit_of_no_offsets_is_done_without_a_request(bench: type[Bench], is_sync: bool) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.commit(1, {}, b.now, is_sync=is_sync))

    assert ends(b) == [(1, None)]
    assert b.count(COMMIT) == 0


def test_a_member_that_closes_without_a_position_commits_nothing(bench: type[Bench]) -> None:
    b = bench(auto_commit=True)
    b.stable(0)
    b.do(b.member.close(b.now))
    b.called()

    assert b.count(COMMIT) == 0
    assert b.count(Api.LEAVE_GROUP) == 1


# Auto-commit


def test_positions_are_committed_every_interval_from_polls(bench: type[Bench]) -> None:
    b = bench(auto_commit=True, auto_commit_interval_ms=500)
    b.stable(0)
    b.positions = {("t", 0): 5, ("t", 9): 1}
    b.advance(499, polling=True)
    assert b.count(COMMIT) == 0
    b.advance(1, polling=True)
    assert b.times(COMMIT) == [500]
    assert [partition.partition_index for topic in b.message(COMMIT).topics for partition in topic.partitions] == [0]
    b.advance(2000, polling=True)
    assert b.count(COMMIT) == 1, "one at a time"
    b.answer(COMMIT)
    b.advance(500, polling=True)
    assert b.count(COMMIT) == 2


def test_only_a_member_with_auto_commit_commits_by_itself_and_only_while_it_is_stable(bench: type[Bench]) -> None:
    unstable, unmanaged = bench(auto_commit=True, auto_commit_interval_ms=500), bench(auto_commit_interval_ms=500)
    unstable.syncing()
    unmanaged.stable(0)
    for b in (unstable, unmanaged):
        b.positions = {("t", 0): 5}
        b.advance(2000, polling=True)

    assert (unstable.count(COMMIT), ends(unstable)) == (unmanaged.count(COMMIT), ends(unmanaged)) == (0, [])


def test_a_failed_auto_commit_is_tried_again_after_the_backoff(bench: type[Bench]) -> None:
    b = bench(auto_commit=True, auto_commit_interval_ms=5000, session_timeout_ms=60_000)
    b.stable(0)
    b.positions = {("t", 0): 5}
    b.advance(5000, polling=True)
    b.answer(COMMIT, 14)
    b.advance(100, polling=True)

    assert b.times(COMMIT) == [5000, 5100]


def test_a_failed_auto_commit_is_tried_again_by_a_poll_alone(bench: type[Bench]) -> None:
    b = bench(auto_commit=True, auto_commit_interval_ms=5000, session_timeout_ms=60_000)
    b.stable(0)
    b.positions = {("t", 0): 5}
    b.advance(5000, polling=True)
    b.answer(COMMIT, 14)
    b.advance(1000)

    assert b.times(COMMIT) == [5000]


# Fetches


@pytest.mark.requirement("CLIENT-79")
@pytest.mark.parametrize("error", [14, 88])
def test_a_fetch_is_tried_again_after_the_backoff(bench: type[Bench], error: int) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.fetch_offsets("f", frozenset({("t", 0)}), b.now))
    b.answer(FETCH, error)
    b.advance(100)
    offsets = FetchedPartition(partition_index=0, committed_offset=7)
    b.answer(FETCH, topics=(FetchedTopic(name="t", partitions=(offsets,)),))

    assert b.times(FETCH) == [0, 100]
    assert b.of(OffsetFetchResult) == [OffsetFetchResult(token="f", offsets={("t", 0): 7})]


@pytest.mark.requirement("CLIENT-79")
def test_a_fetch_follows_the_coordinator(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.fetch_offsets("f", frozenset({("t", 0)}), b.now))
    b.answer(FETCH, 16)
    b.answer(FIND)

    assert b.sent[-1][1].api is FETCH
    assert b.member.state is MemberState.STABLE


@pytest.mark.requirement("CLIENT-79")
def test_a_fetch_that_is_not_authorised_is_raised(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.fetch_offsets("f", frozenset({("t", 0)}), b.now))
    b.answer(FETCH, 30)

    assert b.of(OffsetFetchResult) == [OffsetFetchResult(token="f", error="GROUP_AUTHORIZATION_FAILED")]


def test_a_client_that_counts_wrongly_commits_so_by_itself_too(bench: type[Bench]) -> None:
    b = bench(Policy(commit_shift=1), auto_commit=True, auto_commit_interval_ms=100)
    b.stable(0)
    b.positions = dict(AT)
    b.advance(5000, polling=True)

    assert b.message(COMMIT).topics[0].partitions[0].committed_offset == 6


def test_what_waits_to_be_tried_again_ends_in_the_instant_in_which_the_member_fails(bench: type[Bench]) -> None:
    b = bench(Policy(overrides=(Override(api=Api.HEARTBEAT, effects=(Effect.RAISE,)),)))
    b.stable(0)
    b.advance(1000)
    commit(b)
    b.answer(COMMIT, 14)
    coordinator = b.member.coordinator
    assert coordinator is not None
    b.do(b.member.disconnected(coordinator, b.now))

    assert ends(b) == [(1, "DISCONNECTED")]


def test_a_fetch_is_no_commit_whatever_it_is_called(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.fetch_offsets("close", frozenset(AT), b.now))

    assert not b.member._offset_requests.is_committing("close")
