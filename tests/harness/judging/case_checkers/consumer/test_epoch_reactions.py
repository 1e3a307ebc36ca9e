from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.epoch_traces import BOTH, EpochStory
from tests.traces import ID, findings, verdict

from groupproof.harness.judging.case_checkers.consumer.epoch_reactions import (
    STORM_MAX,
    gives_up_partitions,
    goes_on_in_full,
    joins_anew,
    keeps_epoch,
    keeps_partitions,
    shows_or_tries,
    spaces_its_tries,
    stays_a_member,
    stops_beating,
)
from groupproof.harness.model.case import Judge
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode

Does = Callable[[EpochStory], object]

JOINS = joins_anew("m0", after="error", requirement="CGT-18", at_once_ms=1_000)
KEEPS = keeps_epoch("m0", after="error", requirement="CGT-22")
LOSES = gives_up_partitions("m0", after="error", requirement="CGT-18")
SHOWS = shows_or_tries("m0", after="error", requirement="CGT-25")
STOPS = stops_beating("m0", after="error", requirement="CGT-26")
OK, NON_STRICT, FAILED = Verdict.OK, Verdict.NON_STRICT, Verdict.FAILED


def after_error(does: Does = lambda story: None, *, error: int = ErrorCode.FENCED_MEMBER_EPOCH) -> EpochStory:
    story = EpochStory().settled()
    story.at(500).struck("error", 1, error)
    does(story.at(700))
    story.end(9_000)
    return story


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: story.hb(0), OK),
        (lambda story: story.hb(0, member="another"), NON_STRICT),
        (lambda story: (story.hb(1, error=110), story.hb(0)), NON_STRICT),
        (lambda story: story.at(3_000).hb(0), NON_STRICT),
        (lambda story: story.hb(1), FAILED),
        (lambda story: None, FAILED),
    ],
)
def test_a_member_that_is_fenced_joins_at_epoch_0_as_the_member_it_is(does: Does, expected: Verdict) -> None:
    assert verdict(JOINS, after_error(does)) is expected


def test_another_id_costs_nobody_where_the_coordinator_does_not_know_the_old_one() -> None:
    judge = joins_anew("m0", after="error", requirement="CGT-19", renamed=Verdict.INFORMATIONAL)

    assert verdict(judge, after_error(lambda story: story.hb(0, member="another"))) is Verdict.INFORMATIONAL


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: story.hb(1), OK),
        (lambda story: story.hb(0), NON_STRICT),
        (lambda story: story.hb(0, member="another"), NON_STRICT),
        (lambda story: story.hb(-1), NON_STRICT),
        (lambda story: story.hb(1, member="another"), FAILED),
        (lambda story: None, FAILED),
    ],
)
def test_a_membership_that_stands_is_kept(does: Does, expected: Verdict) -> None:
    assert verdict(KEEPS, after_error(does, error=ErrorCode.NOT_COORDINATOR)) is expected


THROWN_OUT = [(NON_STRICT, "It was thrown out, and joined again.", Proof.TIMING)]
"""A process that gets no time to run sends no heartbeat either: three of three runs have to show it, without lag."""


def test_a_membership_that_ended_meanwhile_stood_no_more() -> None:
    found = findings(KEEPS, after_error(lambda story: (story.hb(1, error=25), story.hb(0)), error=ErrorCode.NOT_COORDINATOR))

    assert [(finding.verdict, finding.observed, finding.proof) for finding in found] == THROWN_OUT


def marked(does: Does, name: str = "error") -> EpochStory:
    story = EpochStory().settled()
    story.at(500).mark(name)
    does(story.at(700))
    story.end(9_000)
    return story


def test_a_session_that_ended_after_a_mark_is_a_matter_of_time() -> None:
    found = findings(KEEPS, marked(lambda story: (story.hb(1), story.at(4_000).hb(1, error=25), story.hb(0))))

    assert [(finding.verdict, finding.observed, finding.proof) for finding in found] == THROWN_OUT


def test_a_session_whose_end_the_member_finds_by_itself_ended_all_the_same() -> None:
    def does(story: EpochStory) -> None:
        story.hb(1)
        story.at(7_000).see("timer", member=ID, rule="SessionEnd/consumer.Stable/session-ends")
        story.hb(0)

    found = findings(KEEPS, marked(does))

    assert [(finding.verdict, finding.observed, finding.proof) for finding in found] == THROWN_OUT


def test_a_join_though_the_membership_stood_is_proven_by_one_run() -> None:
    found = findings(KEEPS, marked(lambda story: (story.hb(1), story.hb(0))))

    assert [(finding.verdict, finding.proof) for finding in found] == [(NON_STRICT, Proof.SAFETY)]


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: (story.hb(1), story.at(8_900).exchange(Api.FETCH, error=6)), OK),  # a refused Fetch is no answer to a heartbeat
        (lambda story: (story.hb(1), story.at(8_900).hb(1, error=16)), OK),
        (lambda story: (story.hb(1, error=16), story.hb(1)), OK),
        (lambda story: story.hb(1, error=16), FAILED),
        (lambda story: story.exchange(Api.FETCH, error=6), FAILED),
    ],
)
def test_after_a_mark_each_heartbeat_counts_that_was_not_refused(does: Does, expected: Verdict) -> None:
    assert verdict(KEEPS, marked(does)) is expected


def test_the_answer_of_a_fault_is_the_one_to_the_request_that_it_acted_on() -> None:
    """A Fetch that is refused after a commit was leaves the heartbeats in between as they are."""
    story = EpochStory().settled()
    commit = story.at(500).request(Api.OFFSET_COMMIT, member="m0-1", generation=1)
    same = {"connection": commit.connection, "correlation": commit.correlation, "api": commit.api}
    story.see("fault", fault="error", detail="triggered", body={"stage": "triggered"}, **same)
    story.answer(commit, error=16)
    story.see("fault", fault="error", detail="delivered", body={"stage": "delivered"}, **same)
    story.at(900).hb(1)
    story.at(8_900).exchange(Api.FETCH, error=6)
    story.end(9_000)

    assert verdict(KEEPS, story) is OK


@pytest.mark.parametrize(("does", "expected"), [(lambda story: story.hb(1), OK), (lambda story: story.tell("error", error="X"), NON_STRICT)])
def test_an_error_that_may_pass_ends_no_membership(does: Does, expected: Verdict) -> None:
    judge = stays_a_member("m0", after="error", requirement="CGT-28")

    assert verdict(judge, after_error(does, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)) is expected


def test_telling_the_application_may_be_as_good() -> None:
    judge = keeps_epoch("m0", after="error", requirement="CGT-22", or_reports=True)

    assert verdict(judge, after_error(lambda story: story.tell("error", error="X"))) is OK


@pytest.mark.parametrize(("full", "expected"), [(True, OK), (False, NON_STRICT)])
def test_a_client_that_cannot_know_what_arrived_says_everything(full: bool, expected: Verdict) -> None:
    judge = goes_on_in_full("m0", after="error")

    assert verdict(judge, after_error(lambda story: story.hb(1, full=full, owns=BOTH if full else None))) is expected
    with pytest.raises(NotReached):
        verdict(judge, after_error())


@pytest.mark.parametrize(("name", "expected"), [("revoked", NON_STRICT), ("assigned", OK)])
def test_partitions_are_not_revoked_where_the_membership_is_valid(name: str, expected: Verdict) -> None:
    judge = keeps_partitions("m0", after="error", requirement="CGT-22")

    assert verdict(judge, after_error(lambda story: story.partitions(name, *BOTH))) is expected


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: story.partitions("lost", *BOTH), OK),
        (lambda story: story.partitions("revoked", *BOTH), Verdict.INFORMATIONAL),
        (lambda story: (story.partitions("assigned", *BOTH), story.partitions("lost", *BOTH)), FAILED),
        (lambda story: story.partitions("lost"), FAILED),
        (lambda story: None, FAILED),
    ],
)
def test_lost_partitions_are_reported_before_any_are_assigned_again(does: Does, expected: Verdict) -> None:
    assert verdict(LOSES, after_error(does)) is expected


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: story.tell("error", error="GROUP_AUTHORIZATION_FAILED"), OK),
        (lambda story: story.hb(1), NON_STRICT),
        (lambda story: None, FAILED),
    ],
)
def test_what_may_be_for_good_reaches_the_application(does: Does, expected: Verdict) -> None:
    assert verdict(SHOWS, after_error(does, error=ErrorCode.GROUP_AUTHORIZATION_FAILED)) is expected


@pytest.mark.parametrize(("gap_ms", "expected"), [(100, OK), (20, NON_STRICT)])
def test_a_storm_of_tries_costs_the_coordinator(gap_ms: float, expected: Verdict) -> None:
    story = EpochStory().settled()
    story.at(500).struck("error", 1, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    for place in range(STORM_MAX + 2):
        story.at(600 + place * gap_ms).hb(1, error=30)
    story.end(9_000)

    assert verdict(spaces_its_tries("m0", after="error", requirement="CGT-25"), story) is expected


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: story.partitions("lost", *BOTH), OK),
        (lambda story: story.tell("error", error="FENCED_INSTANCE_ID", fatal=True), OK),
        (lambda story: story.tell("error", error="FENCED_INSTANCE_ID", fatal=False), FAILED),
        (lambda story: (story.partitions("lost", *BOTH), story.hb(0)), NON_STRICT),
        (lambda story: (story.partitions("lost", *BOTH), story.hb(1)), NON_STRICT),
        (lambda story: None, FAILED),
    ],
)
def test_a_member_whose_instance_another_has_gives_up_what_it_reads(does: Does, expected: Verdict) -> None:
    assert verdict(STOPS, after_error(does, error=ErrorCode.FENCED_INSTANCE_ID)) is expected


@pytest.mark.parametrize("judge", [JOINS, KEEPS, LOSES, STOPS, stays_a_member("m0", after="error", requirement="CGT-28")])
def test_a_run_that_ends_at_once_proves_no_absence(judge: Judge) -> None:
    story = EpochStory().settled().fenced()
    story.end(200)

    with pytest.raises(NotReached):
        verdict(judge, story)


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: (story.tell("error", error="X", fatal=True), story.hb(-1)), OK),
        (lambda story: (story.hb(-1), story.at(900).tell("error", error="X", fatal=True)), OK),  # a line may lag behind a frame
        (lambda story: (story.hb(-1), story.at(3_000).tell("error", error="X", fatal=True)), NON_STRICT),
        (lambda story: (story.tell("error", error="X"), story.hb(0)), NON_STRICT),
    ],
)
def test_a_member_that_reports_to_its_application_may_leave(does: Does, expected: Verdict) -> None:
    judge = keeps_epoch("m0", after="error", requirement="CGP-09", or_reports=True)

    assert verdict(judge, after_error(does, error=ErrorCode.STALE_MEMBER_EPOCH)) is expected


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: None, OK),
        (lambda story: story.partitions("assigned", *BOTH), FAILED),
        (lambda story: story.at(3_000).request(Api.FETCH, offsets=(("t", 0, 10),)), FAILED),
        (lambda story: story.at(3_000).consume(("t", 0, 10, 14)), FAILED),
        (lambda story: story.at(3_000).consume(("u", 0, 10, 14)), OK),
        (lambda story: (story.hb(0, gets=2, gives=BOTH), story.at(3_000).consume(("t", 0, 10, 14))), OK),  # a new join has been given it again
        (lambda story: (story.hb(0, gets=2, gives=BOTH[1:]), story.at(3_000).consume(("t", 0, 10, 14))), FAILED),
        (lambda story: (story.hb(1, gives=BOTH), story.at(3_000).consume(("t", 0, 10, 14))), FAILED),  # that is no new join
    ],
)
def test_a_member_that_has_no_callback_loses_what_it_reads_no_more(does: Does, expected: Verdict) -> None:
    story = after_error(lambda story: (story.kit("hello", "m0", capabilities=["consumer"]), does(story)))

    assert verdict(LOSES, story) is expected


@pytest.mark.parametrize(("epoch", "rejoin_requirement", "expected"), [(0, "CGT-29", OK), (1, "CGT-29", NON_STRICT), (0, None, NON_STRICT)])
def test_a_new_join_may_be_as_good_as_a_word(epoch: int, rejoin_requirement: str | None, expected: Verdict) -> None:
    judge = shows_or_tries("m0", after="error", requirement="CGT-30", rejoin_requirement=rejoin_requirement)

    assert verdict(judge, after_error(lambda story: story.hb(epoch), error=ErrorCode.GROUP_ID_NOT_FOUND)) is expected
