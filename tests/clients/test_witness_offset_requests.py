"""Witnesses of commits and of asking for offsets: what is tried again, and what a refusal costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.clients.outputs import CommitResult, OffsetFetchResult
from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

JOIN, FIND, HEARTBEAT, COMMIT, FETCH = Api.JOIN_GROUP, Api.FIND_COORDINATOR, Api.HEARTBEAT, Api.OFFSET_COMMIT, Api.OFFSET_FETCH


def stable(bench: type[Bench]) -> Bench:
    b = bench(session_timeout_ms=200_000, heartbeat_interval_ms=150_000, max_poll_interval_ms=300_000)
    b.stable(0)
    return b


def ask(b: Bench, api: Api) -> None:
    if api is COMMIT:
        b.do(b.member.commit("token", {("t", 0): 5}, b.now, is_sync=True))
    else:
        b.do(b.member.fetch_offsets("token", frozenset({("t", 0)}), b.now))


def fail(b: Bench, api: Api, how: int | str) -> None:
    """Answer with an error, lose the connection, or let the request time out."""
    if isinstance(how, int):
        b.answer(api, how)
    elif how == "lost":
        b.lose(api)
    else:
        b.advance(b.member.settings.request_timeout_ms)


@pytest.mark.requirement("CLIENT-69", "CLIENT-79", "CLIENT-05")
@pytest.mark.parametrize("api", [COMMIT, FETCH])
@pytest.mark.parametrize(("how", "is_elsewhere"), [(14, False), (7, True), (15, True), (16, True), ("lost", True), ("silence", True)])
def test_what_may_pass_is_tried_again_at_the_coordinator_that_there_is_then(
    bench: type[Bench], api: Api, how: int | str, *, is_elsewhere: bool
) -> None:
    b = stable(bench)
    ask(b, api)
    fail(b, api, how)
    assert b.waits(FIND) is is_elsewhere
    if is_elsewhere:
        b.answer(FIND, coordinators=(b.other_node,))
    b.advance(1_000, polling=True)
    assert (b.count(api), b.of(CommitResult), b.of(OffsetFetchResult)) == (2, [], [])

    b.answer(api)
    (entry,) = b.of(CommitResult if api is COMMIT else OffsetFetchResult)
    assert entry.error is None
    assert b.count(JOIN) == 2  # of the start, with the round for the id


@pytest.mark.requirement("CLIENT-68", "CLIENT-78")
@pytest.mark.parametrize(
    ("error", "name", "generation"), [(22, "ILLEGAL_GENERATION", -1), (25, "UNKNOWN_MEMBER_ID", -1), (27, "REBALANCE_IN_PROGRESS", 1)]
)
def test_a_refused_commit_fails_by_name_and_drops_the_generation_that_is_over(bench: type[Bench], error: int, name: str, generation: int) -> None:
    b = stable(bench)
    ask(b, COMMIT)
    b.answer(COMMIT, error)
    assert [item.error for item in b.of(CommitResult)] == [name]
    assert b.member.generation == generation

    b.poll()
    while b.callbacks:
        b.called()
    b.poll()
    assert b.waits(JOIN)
    assert b.count(COMMIT) == 1


@pytest.mark.requirement("CLIENT-69", "CLIENT-79")
@pytest.mark.parametrize(("api", "error"), [(COMMIT, 12), (COMMIT, 28), (COMMIT, 29), (COMMIT, 30), (FETCH, 30)])
def test_what_cannot_pass_is_reported_once_and_costs_no_membership(bench: type[Bench], api: Api, error: int) -> None:
    b = stable(bench)
    ask(b, api)
    b.answer(api, error)
    b.advance(5_000, polling=True)

    (entry,) = b.of(CommitResult if api is COMMIT else OffsetFetchResult)
    assert entry.error is not None
    assert (b.count(api), b.member.member_id, b.member.is_settled) == (1, "m-1", True)
