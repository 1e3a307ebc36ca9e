from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.epoch_traces import BOTH, EpochStory
from tests.traces import ID, verdict

from groupproof.harness.judging.case_checkers.consumer.epoch_leave import (
    BACK_SOON,
    closes_in_time,
    comes_back_as,
    commits_as_nobody,
    commits_before_leaving,
    falls_silent,
    has_partitions_again,
    is_quiet_after_leaving,
    leaves,
    leaves_nothing_behind,
    leaves_what_it_asked_for,
    returns_partitions_first,
    stays_out,
)
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Verdict

Does = Callable[[EpochStory], object]

OK, NON_STRICT, FAILED, OPEN = Verdict.OK, Verdict.NON_STRICT, Verdict.FAILED, Verdict.INFORMATIONAL


@pytest.mark.parametrize(("line_ms", "expected"), [(0, FAILED), (600, OK), (2_000, OK)])
def test_the_lines_of_a_shim_that_leaves_may_be_as_late_as_its_quickest_one(line_ms: float, expected: Verdict) -> None:
    story = EpochStory()
    story.hb(0, gets=1, gives=BOTH)
    story.at(line_ms).partitions("assigned", *BOTH)
    story.hb(1, owns=BOTH)
    story.mark("closing").at(3_000).hb(-1)
    story.at(3_100 + max(line_ms, 600)).partitions("revoked", *BOTH)
    story.tell("callback_done")
    story.end(9_000)

    assert verdict(returns_partitions_first("m0", after="closing"), story) is expected


def closing(does: Does, *, until: float = 9_000) -> EpochStory:
    story = EpochStory().settled()
    story.consume(("t", 0, 0, 9))
    story.mark("closing")
    does(story.at(600))
    story.end(until)
    return story


def orderly(story: EpochStory) -> object:
    story.partitions("revoked", *BOTH)
    return story.hb(-1)


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (orderly, OK),
        (lambda story: story.hb(-2), FAILED),
        (lambda story: story.hb(-1, member="another"), FAILED),
        (lambda story: story.hb(1), FAILED),
    ],
)
def test_a_member_leaves_by_epoch_minus_one_as_the_member_it_is(does: Does, expected: Verdict) -> None:
    assert verdict(leaves("m0", after="closing"), closing(does)) is expected


@pytest.mark.parametrize(("epoch", "expected"), [(-2, OK), (-1, NON_STRICT)])
def test_a_static_member_that_leaves_for_good_costs_a_rebalance(epoch: int, expected: Verdict) -> None:
    assert verdict(leaves("m0", after="closing", epoch=BACK_SOON), closing(lambda story: story.hb(epoch))) is expected


def test_a_client_that_is_no_member_owes_no_leave() -> None:
    with pytest.raises(NotReached):
        verdict(leaves("m0", after="closing"), EpochStory().mark("closing"))


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (orderly, OK),
        (lambda story: (story.hb(-1, error=14), story.hb(-1)), OK),
        (lambda story: (story.hb(-1), story.hb(-1)), NON_STRICT),
        (lambda story: (story.hb(-1), story.hb(1)), FAILED),
        (lambda story: (story.hb(-1), story.hb(0)), FAILED),
    ],
)
def test_nothing_follows_a_leave(does: Does, expected: Verdict) -> None:
    assert verdict(is_quiet_after_leaving("m0", after="closing"), closing(does)) is expected


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (orderly, OK),
        (lambda story: (story.hb(-1), story.at(2_000).partitions("revoked", *BOTH)), FAILED),
        (lambda story: story.hb(-1), FAILED),
    ],
)
def test_the_application_gives_up_first(does: Does, expected: Verdict) -> None:
    assert verdict(returns_partitions_first("m0", after="closing"), closing(does)) is expected


def leaves_in_its_callback(done_ms: float) -> Does:
    return lambda story: (story.partitions("revoked", *BOTH), story.hb(-1), story.at(600 + done_ms).tell("callback_done"))


@pytest.mark.parametrize(("done_ms", "expected"), [(400, OK), (2_000, FAILED)])
def test_the_application_is_back_from_its_callback_before_the_leave(done_ms: float, expected: Verdict) -> None:
    assert verdict(returns_partitions_first("m0", after="closing"), closing(leaves_in_its_callback(done_ms))) is expected


def test_what_is_given_up_by_another_membership_is_none_of_this_leaves() -> None:
    def comes_back(story: EpochStory) -> None:
        orderly(story)
        story.tell("callback_done")
        story.at(3_000).partitions("assigned", *BOTH)
        story.at(8_000).partitions("revoked", *BOTH)

    assert verdict(returns_partitions_first("m0", after="closing"), closing(comes_back)) is OK


@pytest.mark.parametrize(("revoked", "expected"), [(BOTH, OK), (BOTH[:1], FAILED)])
def test_what_is_given_up_already_may_be_lost_again_at_the_close(revoked: tuple[tuple[str, int], ...], expected: Verdict) -> None:
    def unsubscribes_and_closes(story: EpochStory) -> None:
        story.partitions("revoked", *revoked)
        story.hb(-1)
        story.tell("callback_done")
        story.at(5_000).partitions("lost", *BOTH)

    assert verdict(returns_partitions_first("m0", after="closing"), closing(unsubscribes_and_closes)) is expected


def test_a_member_without_a_callback_has_nothing_to_report_when_it_leaves() -> None:
    story = closing(lambda story: (story.kit("hello", "m0", capabilities=["consumer"]), story.hb(-1)))

    assert verdict(returns_partitions_first("m0", after="closing"), story) is OPEN


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: (story.commit(("t", 0, 10)), story.hb(-1)), OK),
        (lambda story: (story.commit(("t", 0, 4)), story.hb(-1)), FAILED),
        (lambda story: (story.hb(-1), story.commit(("t", 0, 10))), FAILED),
    ],
)
def test_what_was_read_is_committed_before_the_leave(does: Does, expected: Verdict) -> None:
    assert verdict(commits_before_leaving("m0", after="closing"), closing(does)) is expected


def test_judges_of_the_leave_need_one() -> None:
    for judge in (is_quiet_after_leaving, returns_partitions_first, commits_before_leaving):
        with pytest.raises(NotReached):
            verdict(judge("m0", after="closing"), closing(lambda story: story.hb(1)))


@pytest.mark.parametrize(
    ("member", "is_same", "expected"), [("m0-2", False, OK), ("m0-1", False, NON_STRICT), ("m0-1", True, OK), ("m0-2", True, NON_STRICT)]
)
def test_a_new_process_is_a_new_member_and_the_same_process_the_same(member: str, is_same: bool, expected: Verdict) -> None:
    story = closing(lambda story: (orderly(story), story.mark("back"), story.hb(0, member=member)))

    assert verdict(comes_back_as("m0", after="back", is_same_member=is_same), story) is expected


@pytest.mark.parametrize(("gives", "expected"), [(BOTH, OK), ((), FAILED)])
def test_a_static_member_has_its_partitions_again(gives: tuple[tuple[str, int], ...], expected: Verdict) -> None:
    story = closing(lambda story: (story.hb(-2), story.mark("back"), story.hb(0, gets=1, gives=gives, member="m0-2")), until=12_000)

    assert verdict(has_partitions_again("m0", after="back"), story) is expected


def stopped(*beats: tuple[float, int]) -> EpochStory:
    story = EpochStory().settled()
    story.mark("stopped")
    for at_ms, epoch in beats:
        story.at(at_ms).hb(epoch)
    story.at(8_000).mark("polls").end(9_000)
    return story


@pytest.mark.parametrize(("beats", "expected"), [(((1_000, 1), (3_000, 1)), OK), (((3_000, 1), (5_000, -1)), OK), (((3_000, 1), (5_000, 1)), FAILED)])
def test_a_member_whose_application_stands_still_stops(beats: tuple[tuple[float, int], ...], expected: Verdict) -> None:
    assert verdict(falls_silent("m0", after="stopped", until="polls", within_ms=3_000), stopped(*beats)) is expected


@pytest.mark.parametrize(("beats", "expected"), [(((3_000, -1),), OK), (((3_000, 1),), NON_STRICT)])
def test_a_member_that_leaves_then_frees_its_partitions(beats: tuple[tuple[float, int], ...], expected: Verdict) -> None:
    assert verdict(leaves_nothing_behind("m0", after="stopped", until="polls"), stopped(*beats)) is expected


@pytest.mark.parametrize(("at_ms", "expected"), [(1_000, OK), (5_000, NON_STRICT), (None, FAILED)])
def test_a_close_is_not_held_up(at_ms: float | None, expected: Verdict) -> None:
    story = closing(lambda story: None if at_ms is None else story.at(at_ms).tell("shutdown_complete"), until=12_000)

    assert verdict(closes_in_time("m0", after="closing", within_ms=3_000), story) is expected


def refused(does: Does, epoch: int = 1) -> EpochStory:
    """Tell how a member is fenced, and what it does a second later."""
    story = EpochStory().settled().fenced(epoch=epoch)
    does(story.at(2_000))
    story.end(4_000)
    return story


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: story.commit(("t", 0, 10)), FAILED),
        (lambda story: story.commit(("t", 0, 10), member="", generation=-1), OK),
        (lambda story: (story.hb(0, gets=1), story.commit(("t", 0, 10))), OK),
    ],
)
def test_a_member_that_is_fenced_commits_no_more_as_the_member_it_was(does: Does, expected: Verdict) -> None:
    assert verdict(commits_as_nobody("m0", after="error"), refused(does)) is expected


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: story.hb(0), FAILED),
        (lambda story: (story.hb(0), story.hb(-1)), NON_STRICT),
        (lambda story: story.hb(-1), OPEN),
        (lambda story: story.commit(("t", 0, 1)), OK),
    ],
)
def test_a_member_that_is_fenced_as_it_leaves_joins_no_more(does: Does, expected: Verdict) -> None:
    assert verdict(stays_out("m0", after="error"), refused(does)) is expected


@pytest.mark.parametrize("judge", [commits_as_nobody, stays_out])
def test_an_error_that_meets_the_leave_alone_shows_nothing(judge: Callable[..., object]) -> None:
    assert verdict(judge("m0", after="error"), refused(lambda story: story.commit(("t", 0, 10)), epoch=-1)) is OPEN  # type: ignore[arg-type]  # either judge


def test_a_member_that_was_no_member_can_be_fenced_as_none() -> None:
    with pytest.raises(NotReached):
        verdict(commits_as_nobody("m0", after="error"), EpochStory().fenced())


def joining(does: Does, member: str = ID) -> EpochStory:
    """Tell how a member is told to leave before its join is answered, and what it does then."""
    story = EpochStory()
    asked = story.ask(0, member=member, owns=())
    story.mark("leaving")
    story.at(500).reply(asked, 1, gives=BOTH)
    does(story.at(600))
    story.end(12_000)
    return story


@pytest.mark.parametrize(
    ("does", "member", "expected"),
    [
        (lambda story: story.hb(-1), ID, OK),
        (lambda story: story.commit(("t", 0, 1)), ID, FAILED),
        (lambda story: story.commit(("t", 0, 1)), "", OPEN),
    ],
)
def test_a_member_that_leaves_while_it_joins_leaves_its_assignment(does: Does, member: str, expected: Verdict) -> None:
    assert verdict(leaves_what_it_asked_for("m0", after="leaving"), joining(does, member)) is expected


def test_a_member_that_asked_for_nothing_has_nothing_to_leave() -> None:
    with pytest.raises(NotReached):
        verdict(leaves_what_it_asked_for("m0", after="leaving"), EpochStory().mark("leaving"))
