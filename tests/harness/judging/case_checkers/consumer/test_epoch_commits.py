from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.epoch_traces import EpochStory
from tests.traces import findings, verdict

from groupproof.harness.judging.case_checkers.consumer.epoch_commits import (
    asks_again_or_reports,
    commit_is_answered,
    commits_on,
    commits_with_epoch,
    if_asked_as_member,
    reads_on_from,
    refused_commit_is_reported,
    retries_commit,
)
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api

Does = Callable[[EpochStory], object]

OK, NON_STRICT, FAILED = Verdict.OK, Verdict.NON_STRICT, Verdict.FAILED
TEN = ("t", 0, 10)


def member(does: Does, *, until: float = 9_000) -> EpochStory:
    story = EpochStory().settled()
    does(story.at(2_000))
    story.end(until)
    return story


def committing(version: int = 9, *, epoch: int = 1, name: str = "m0-1") -> Does:
    return lambda story: story.exchange(Api.OFFSET_COMMIT, member=name, generation=epoch, version=version, offsets=(TEN,))


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (committing(), OK),
        (committing(8), FAILED),
        (committing(name=""), FAILED),
        (committing(name="another"), FAILED),
        (committing(epoch=0), FAILED),
        (lambda story: (story.hb(1, gets=2), committing(epoch=1)(story)), OK),  # the answer may not have arrived
        (lambda story: (story.hb(1, gets=2), committing(epoch=1)(story.at(4_000))), FAILED),
    ],
)
def test_a_commit_carries_the_member_and_its_newest_epoch(does: Does, expected: Verdict) -> None:
    assert verdict(commits_with_epoch("m0"), member(does)) is expected


def test_no_commit_is_no_proof() -> None:
    with pytest.raises(NotReached):
        verdict(commits_with_epoch("m0"), member(lambda story: None))


def refused(does: Does, error: int = 113) -> EpochStory:
    def and_then(story: EpochStory) -> None:
        story.commit(TEN, error=error)
        story.fault("error")
        does(story.at(2_200))

    return member(and_then, until=12_000)


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: story.committed(TEN, success=False), OK),
        (lambda story: (story.commit(TEN), story.committed(TEN)), OK),
        (lambda story: story.committed(TEN), FAILED),
        (lambda story: None, FAILED),
    ],
)
def test_a_refused_commit_is_reported(does: Does, expected: Verdict) -> None:
    assert verdict(refused_commit_is_reported("m0", after="error", requirement="CGP-06"), refused(does)) is expected


@pytest.mark.parametrize(
    ("does", "expected"),
    [(lambda story: story.commit(TEN), OK), (lambda story: story.committed(TEN, success=False), NON_STRICT), (lambda story: None, FAILED)],
)
def test_a_commit_that_got_a_retriable_error_is_sent_again(does: Does, expected: Verdict) -> None:
    assert verdict(retries_commit("m0", after="error", requirement="CGP-08"), refused(does, 14)) is expected


@pytest.mark.parametrize(
    ("does", "expected"), [(lambda story: story.hb(1), OK), (lambda story: story.hb(0), NON_STRICT), (lambda story: None, FAILED)]
)
def test_a_refused_commit_costs_no_membership(does: Does, expected: Verdict) -> None:
    assert verdict(commit_is_answered("m0", after="error", requirement="CGP-07"), refused(does)) is expected


@pytest.mark.parametrize(
    ("does", "expected"),
    [(lambda story: story.commit(TEN), OK), (lambda story: story.commit(TEN, error=113), FAILED), (lambda story: None, FAILED)],
)
def test_a_client_with_auto_commit_still_commits(does: Does, expected: Verdict) -> None:
    assert verdict(commits_on("m0", after="error"), refused(does)) is expected


def ends(story: EpochStory) -> object:
    return story.tell("error", error="GROUP_AUTHORIZATION_FAILED", fatal=True)


@pytest.mark.parametrize(
    ("does", "or_ends", "expected"),
    [
        (lambda story: story.hb(-1), False, FAILED),
        (lambda story: (story.hb(1), story.hb(-1)), True, FAILED),
        (lambda story: (story.hb(-1), story.hb(0)), False, NON_STRICT),
        (ends, True, OK),
        (lambda story: (ends(story), story.hb(-1)), True, OK),
        (ends, False, FAILED),
        (lambda story: story.tell("error", error="X", fatal=False), True, FAILED),
    ],
)
def test_a_member_that_leaves_on_a_refused_commit_has_ended_its_membership(does: Does, or_ends: bool, expected: Verdict) -> None:
    judge = commit_is_answered("m0", after="error", requirement="CGP-07", or_ends=or_ends)

    assert verdict(judge, refused(does, 30)) is expected


def test_a_new_join_is_open_where_the_coordinator_says_that_it_knows_nobody() -> None:
    judge = commit_is_answered("m0", after="error", requirement="CGP-07", joined_anew=Verdict.INFORMATIONAL)

    assert verdict(judge, refused(lambda story: story.hb(0), 25)) is Verdict.INFORMATIONAL


def fetch(offset: int) -> Does:
    return lambda story: story.request(Api.FETCH, offsets=(("t", 0, offset),))


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: (fetch(10)(story), story.consume(("t", 0, 10, 19))), OK),
        (fetch(0), FAILED),
        (lambda story: story.consume(("t", 0, 0, 19)), FAILED),
        (fetch(10), FAILED),  # nothing reached the application
    ],
)
def test_reading_continues_from_the_commit(does: Does, expected: Verdict) -> None:
    story = member(lambda story: does(story.mark("back")), until=12_000)

    assert verdict(reads_on_from("m0", after="back", positions={("t", 0): 10}), story) is expected


def test_a_run_that_ends_early_does_not_prove_that_nothing_is_read() -> None:
    story = member(lambda story: story.mark("back"), until=6_000)

    with pytest.raises(NotReached, match="Nothing more of some partitions"):
        verdict(reads_on_from("m0", after="back", positions={("t", 0): 10}), story)


def test_a_member_that_may_pause_is_not_blamed_for_it() -> None:
    story = member(lambda story: story.mark("back"))

    assert verdict(reads_on_from("m0", after="back", positions={("t", 0): 10}, reads=None), story) is OK


@pytest.mark.parametrize(("asks_as", "expected"), [("m0-1", FAILED), ("", Verdict.INFORMATIONAL)])
def test_a_request_without_a_member_id_is_never_refused_as_a_members(asks_as: str, expected: Verdict) -> None:
    judge = asks_again_or_reports("m0", after="error", requirement="CGP-09")

    def silent(story: EpochStory) -> None:
        story.exchange(Api.OFFSET_FETCH, member=asks_as, error=113)
        story.fault("error")

    def again(story: EpochStory) -> None:
        silent(story)
        story.at(2_500).exchange(Api.OFFSET_FETCH, member=asks_as)

    assert verdict(judge, member(silent, until=12_000)) is expected
    assert verdict(judge, member(again, until=12_000)) is OK


@pytest.mark.parametrize(
    ("does", "ends_after", "expected"),
    [
        (ends, "back", OK),
        (ends, None, FAILED),
        (lambda story: story.hb(1), "back", FAILED),
        (lambda story: story.tell("error", error="X", fatal=False), "back", FAILED),
        (lambda story: (ends(story), fetch(0)(story)), "back", FAILED),
    ],
)
def test_a_member_that_reports_its_end_reads_no_more(does: Does, ends_after: str | None, expected: Verdict) -> None:
    story = member(lambda story: does(story.mark("back")), until=12_000)

    assert verdict(reads_on_from("m0", after="back", positions={("t", 0): 10}, ends_after=ends_after), story) is expected


def test_a_member_that_ends_at_a_transient_error_costs_its_application_a_new_one() -> None:
    story = member(lambda story: ends(story.mark("back")), until=12_000)
    judge = reads_on_from("m0", after="back", positions={("t", 0): 10}, ends_after="back", if_ended=Verdict.NON_STRICT)

    assert [finding.observed for finding in findings(judge, story)] == ["It did.", "It told the application that it ends."]
    assert verdict(judge, story) is Verdict.NON_STRICT


@pytest.mark.parametrize(("asks_as", "expected"), [("m0-1", FAILED), ("", Verdict.INFORMATIONAL)])
def test_an_error_that_no_coordinator_gives_a_request_without_a_member_id_blames_nobody(asks_as: str, expected: Verdict) -> None:
    def from_the_beginning(story: EpochStory) -> None:
        story.mark("back").exchange(Api.OFFSET_FETCH, member=asks_as, error=113)
        fetch(0)(story.fault("error"))

    judge = if_asked_as_member(reads_on_from("m0", after="back", positions={("t", 0): 10}, reads=None), "m0", error="error")

    assert verdict(judge, member(from_the_beginning, until=12_000)) is expected
