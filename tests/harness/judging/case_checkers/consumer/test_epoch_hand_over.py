from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.epoch_traces import BOTH, EpochStory
from tests.traces import verdict

from groupproof.harness.judging.case_checkers.consumer.epoch_hand_over import (
    assignment_is_reported,
    calls_back_before,
    commits_before,
    keeps_reading,
    names_only_what_goes,
    names_only_what_is_new,
    reads_no_more,
)
from groupproof.harness.model.case import Judge
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api

Does = Callable[[EpochStory], object]

KEPT, GONE = BOTH
CALLS = calls_back_before("m0", after="newcomer")
COMMITS = commits_before("m0", after="newcomer")
READS = reads_no_more("m0", after="newcomer")
GOES_ON = keeps_reading("m0", after="newcomer")
OK, FAILED = Verdict.OK, Verdict.FAILED


def revoke(story: EpochStory) -> object:
    story.partitions("revoked", GONE)
    return story.tell("callback_done")


def handed_over(before: Does = revoke, after: Does = lambda story: None) -> EpochStory:
    """Tell how a member was asked to give one of two partitions up, and did."""
    story = EpochStory().settled()
    story.consume(("t", 0, 0, 9), ("t", 1, 0, 9))
    story.mark("newcomer").at(500).hb(1, gives=[KEPT])
    before(story.at(600))
    story.at(700).hb(1, owns=[KEPT], gets=2)
    after(story.at(800))
    story.end(9_000)
    return story


@pytest.mark.parametrize(("line_ms", "expected"), [(0, FAILED), (600, OK), (2_000, OK)])
def test_the_lines_of_a_shim_may_be_as_late_as_its_quickest_one(line_ms: float, expected: Verdict) -> None:
    story = EpochStory()
    story.hb(0, gets=1, gives=BOTH)
    story.at(line_ms).partitions("assigned", *BOTH)
    story.hb(1, owns=BOTH)
    story.mark("newcomer").at(3_000).hb(1, gives=[KEPT])
    story.hb(1, owns=[KEPT], gets=2)
    revoke(story.at(3_100 + max(line_ms, 600)))
    story.end(9_000)

    assert verdict(CALLS, story) is expected


def ended_late(ms: float) -> Does:
    def does(story: EpochStory) -> None:
        story.at(700 + ms).tell("callback_done")

    return does


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (revoke, lambda story: None, OK),
        (lambda story: story.partitions("revoked", GONE), ended_late(400), OK),  # a line may lag behind a frame
        (lambda story: story.partitions("revoked", GONE), ended_late(2_000), FAILED),
        (lambda story: None, lambda story: None, FAILED),
        (lambda story: story.partitions("revoked", KEPT), lambda story: None, FAILED),
    ],
)
def test_the_application_is_back_from_its_callback_before_the_client_says_so(before: Does, after: Does, expected: Verdict) -> None:
    assert verdict(CALLS, handed_over(before, after)) is expected


def unsubscribed(*steps: Does) -> EpochStory:
    """Tell how a member that has both partitions is to keep the first one alone, by what its application subscribes to."""
    story = EpochStory().settled()
    story.mark("newcomer").at(500)
    for step in steps:
        step(story)
    story.end(9_000)
    return story


def says_names(owns: tuple[tuple[str, int], ...] | None = None, gives: tuple[tuple[str, int], ...] | None = None) -> Does:
    return lambda story: story.hb(1, body={"subscribed_topic_names": ["t"]}, owns=owns, gives=gives)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((revoke, says_names(gives=(KEPT,)), lambda story: story.hb(1, owns=(KEPT,))), OK),  # told before the order
        ((revoke, says_names(owns=(KEPT,))), OK),  # no order is needed
        ((says_names(owns=(KEPT,)),), FAILED),
        ((says_names(gives=(KEPT,)), lambda story: story.hb(1, owns=(KEPT,))), FAILED),
        ((revoke, lambda story: story.partitions("assigned", GONE), says_names(owns=(KEPT,))), FAILED),  # that was another time
    ],
)
def test_what_nobody_wants_any_more_may_be_given_up_before_it_is_asked_for(steps: tuple[Does, ...], expected: Verdict) -> None:
    assert verdict(CALLS, unsubscribed(*steps)) is expected


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (lambda story: None, OK),
        (lambda story: story.partitions("assigned", KEPT), OK),
        (lambda story: story.at(3_000).request(Api.FETCH, offsets=(("t", 1, 10),)), FAILED),
        (lambda story: story.at(3_000).consume(("t", 1, 10, 14)), FAILED),
        (lambda story: story.at(3_000).consume(("t", 0, 10, 14)), OK),
    ],
)
def test_a_member_that_has_no_callback_is_judged_by_what_it_reads(after: Does, expected: Verdict) -> None:
    story = handed_over(lambda story: story.kit("hello", "m0", capabilities=["consumer"]), after)

    assert verdict(CALLS, story) is expected


def test_an_order_that_is_repeated_began_with_the_first() -> None:
    def repeated(story: EpochStory) -> None:
        revoke(story)
        story.hb(1, gives=[KEPT], owns=BOTH, full=True)

    assert verdict(CALLS, handed_over(repeated)) is OK


def committed(*offsets: tuple[str, int, int], error: int = 0) -> Does:
    return lambda story: (story.commit(*offsets, error=error), revoke(story))


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (committed(("t", 1, 10)), OK),
        (committed(("t", 0, 10), ("t", 1, 10)), OK),
        (committed(("t", 0, 10)), FAILED),
        (committed(("t", 1, 5)), FAILED),
        (committed(("t", 1, 10), error=113), FAILED),
        (revoke, FAILED),
    ],
)
def test_what_was_read_is_committed_before_it_is_given_up(before: Does, expected: Verdict) -> None:
    assert verdict(COMMITS, handed_over(before)) is expected


def test_what_is_read_after_the_order_is_to_be_committed_too() -> None:
    def does(story: EpochStory) -> None:
        story.commit(("t", 1, 10))
        story.consume(("t", 1, 10, 14))
        revoke(story)

    meanwhile = commits_before("m0", after="newcomer", requirement="CGT-04", meanwhile=True)

    assert (verdict(COMMITS, handed_over(does)), verdict(meanwhile, handed_over(does))) == (OK, FAILED)
    assert verdict(meanwhile, handed_over(committed(("t", 1, 10)))) is OK


@pytest.mark.parametrize(("named", "expected"), [((GONE,), OK), (BOTH, Verdict.NON_STRICT)])
def test_the_application_gives_up_what_goes_alone(named: tuple[tuple[str, int], ...], expected: Verdict) -> None:
    judge = names_only_what_goes("m0", after="newcomer")

    assert verdict(judge, handed_over(lambda story: story.partitions("revoked", *named))) is expected


@pytest.mark.parametrize(("reported", "expected"), [(BOTH, OK), ((), FAILED)])
def test_the_application_learns_of_what_it_owns(reported: tuple[tuple[str, int], ...], expected: Verdict) -> None:
    story = EpochStory()
    story.hb(0, gets=1, gives=BOTH)
    story.hb(1, owns=BOTH)
    story.partitions("assigned", *reported)
    story.end(9_000)

    assert verdict(assignment_is_reported("m0"), story) is expected


def fetching(at_ms: float, partition: int) -> Does:
    return lambda story: story.at(at_ms).request(Api.FETCH, offsets=(("t", partition, 10),))


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (fetching(2_500, 0), OK),
        (fetching(900, 1), OK),  # it was on its way
        (fetching(2_500, 1), FAILED),
        (lambda story: (story.hb(2, gives=BOTH), fetching(3_000, 1)(story)), OK),  # it came back
    ],
)
def test_what_was_given_up_is_fetched_no_more(after: Does, expected: Verdict) -> None:
    assert verdict(READS, handed_over(after=after)) is expected


@pytest.mark.parametrize(
    ("after", "expected"), [(lambda story: story.consume(("t", 0, 10, 14)), OK), (lambda story: story.consume(("t", 1, 10, 14)), FAILED)]
)
def test_what_stays_is_read_on(after: Does, expected: Verdict) -> None:
    assert verdict(GOES_ON, handed_over(after=after)) is expected


@pytest.mark.parametrize(("again", "expected"), [(GONE, OK), (KEPT, FAILED)])
def test_the_application_gets_only_the_new_partitions(again: tuple[str, int], expected: Verdict) -> None:
    assert verdict(names_only_what_is_new("m0"), handed_over(after=lambda story: story.partitions("assigned", again))) is expected


@pytest.mark.parametrize("judge", [CALLS, COMMITS, READS, GOES_ON])
def test_without_a_hand_over_there_is_nothing_to_judge(judge: Judge) -> None:
    story = EpochStory().settled()
    story.mark("newcomer").end(1_000)

    with pytest.raises(NotReached):
        verdict(judge, story)
    with pytest.raises(NotReached):
        verdict(names_only_what_is_new("m1"), story)
