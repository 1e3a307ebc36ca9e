"""Commits and fetches: which epoch they carry, and what each answer makes of them."""

from __future__ import annotations

import pytest
from tests.clients.member.consumer.epoch_bench import COMMIT, FETCH, FIND, EpochBench, parts

from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import CommitResult, OffsetFetchResult

AT = {("t", 0): 5}


def commit(b: EpochBench) -> None:
    b.do(b.member.commit(1, AT, b.now, is_sync=True))


@pytest.mark.requirement("CGP-01", "CGP-04", "CGI-16")
def test_a_commit_carries_the_newest_epoch_also_when_it_is_tried_again() -> None:
    b = EpochBench()
    b.joined(0)
    commit(b)
    b.answer(COMMIT, 14)
    b.next_beat()
    b.beaten(5)
    b.advance(1_000)
    assert [(asked.member_id, asked.generation_id) for asked in b.messages(COMMIT)] == [(b.member.member_id, 1)] * 2
    b.answer(COMMIT, 14)
    b.advance(200)
    assert b.message(COMMIT).generation_id == 5


@pytest.mark.requirement("CGP-02", "CGP-11")
def test_a_fetch_names_the_member_and_its_epoch() -> None:
    b = EpochBench()
    b.joined(0)
    b.do(b.member.fetch_offsets("f", frozenset(AT), b.now))
    (group,) = b.message(FETCH).groups
    assert (group.member_id, group.member_epoch) == (b.member.member_id, 1)
    b.answer(FETCH)
    assert [(found.offsets, found.error) for found in b.of(OffsetFetchResult)] == [({("t", 0): 7}, None)]


@pytest.mark.requirement("CGP-06", "CGP-07", "CGT-12")
@pytest.mark.parametrize("code", [113, 25, 22, 69, 30])
def test_a_refused_commit_of_the_application_fails_and_the_member_continues(code: int) -> None:
    b = EpochBench()
    b.joined(0)
    commit(b)
    b.answer(COMMIT, code)
    (ended,) = b.of(CommitResult)
    assert ended.error is not None
    assert (b.member.generation, b.member.owned, b.count(COMMIT)) == (1, parts(0), 1)
    assert b.failures == []


@pytest.mark.requirement("CGP-05", "CGT-05")
def test_a_stale_commit_before_a_revocation_is_tried_again_with_the_new_epoch() -> None:
    b = EpochBench(auto_commit=True)
    b.joined(0, 1)
    b.positions = {("t", 0): 5, ("t", 1): 6}
    b.next_beat()
    b.beaten(1, 0)
    b.poll_through()
    b.answer(COMMIT, 113)
    b.next_beat()
    b.beaten(3)
    b.advance(200)
    assert "revoked" not in b.course
    b.answer(COMMIT, 113)
    b.advance(200)
    assert b.message(COMMIT).generation_id == 3
    b.answer(COMMIT)
    b.poll_through()
    assert "revoked" in b.course


@pytest.mark.requirement("CGP-08")
@pytest.mark.parametrize("code", [14, 15, 16])
def test_a_coordinator_that_is_not_there_gets_the_commit_again(code: int) -> None:
    b = EpochBench()
    b.joined(0)
    commit(b)
    b.answer(COMMIT, code)
    if b.waits(FIND):
        b.answer(FIND)
    b.advance(300)
    b.answer(COMMIT)
    assert [ended.error for ended in b.of(CommitResult)] == [None]


@pytest.mark.requirement("CGP-09", "CGP-10")
@pytest.mark.parametrize("code", [113, 14, 15, 16])
def test_a_fetch_that_was_refused_is_tried_again(code: int) -> None:
    b = EpochBench()
    b.joined(0)
    b.do(b.member.fetch_offsets("f", frozenset(AT), b.now))
    b.answer(FETCH, code)
    assert b.of(OffsetFetchResult) == []
    if b.waits(FIND):
        b.answer(FIND)
    b.advance(300)
    b.answer(FETCH)
    assert [found.error for found in b.of(OffsetFetchResult)] == [None]


@pytest.mark.requirement("CGP-15", "CGP-16")
def test_a_member_that_was_fenced_commits_nothing_until_it_has_joined_again() -> None:
    b = EpochBench()
    b.joined(0)
    b.next_beat()
    b.beaten(error=110)
    commit(b)
    assert (b.count(COMMIT), [ended.error for ended in b.of(CommitResult)]) == (0, ["UNKNOWN_MEMBER_ID"])


@pytest.mark.requirement("CGP-19")
def test_auto_commits_continue_after_a_stale_epoch() -> None:
    b = EpochBench(auto_commit=True, auto_commit_interval_ms=500)
    b.joined(0)
    b.positions = AT
    b.advance(600, polling=True)
    b.answer(COMMIT, 113)
    b.advance(1_200, polling=True)
    assert b.count(COMMIT) >= 2


@pytest.mark.requirement("CGP-01")
def test_a_commit_of_who_is_no_member_yet_names_none() -> None:
    b = EpochBench(Policy(commits_when_unstable=True), instance_id="i0")
    b.joining()
    commit(b)

    asked = b.message(COMMIT)
    assert (asked.generation_id, asked.member_id, asked.group_instance_id) == (-1, "", None)


@pytest.mark.requirement("CGP-08")
@pytest.mark.parametrize("code", [14, 15, 16])
def test_the_pause_of_a_commit_doubles_with_each_refusal(code: int) -> None:
    b = EpochBench()
    b.joined(0)
    commit(b)
    for _ in range(3):
        b.answer(COMMIT, code)
        if not b.waits(FIND):
            b.advance(1)
        b.answer(FIND) if b.waits(FIND) else None
        while not b.waits(COMMIT):
            b.advance(1)
            b.answer(FIND) if b.waits(FIND) else None
    first, *later = b.times(COMMIT)
    assert [at - before for before, at in zip([first, *later], later, strict=False)] == [100, 200, 400]


@pytest.mark.requirement("CGP-08", "CGP-19")
def test_an_auto_commit_that_was_refused_is_made_again_at_its_interval() -> None:
    b = EpochBench(auto_commit=True, auto_commit_interval_ms=500)
    b.joined(0)
    b.positions = AT
    b.advance(600, polling=True)
    (first,) = b.times(COMMIT)
    b.answer(COMMIT, 14)
    b.advance(1_000, polling=True)
    assert b.times(COMMIT) == [first, first + 500]
