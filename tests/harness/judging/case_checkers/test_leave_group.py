from __future__ import annotations

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.leave_group import (
    closes,
    gives_its_place_up,
    leaves,
    leaves_once,
    leaves_others_alone,
    sends_none,
    stays_in_time,
    syncs_no_more,
)
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api


def closing(*, leaves_at: tuple[float, ...] = (), done_at: float | None = None) -> Story:
    story = Story().member().mark("close")
    for ms in leaves_at:
        story.at(ms).leave()
    if done_at is not None:
        story.at(done_at).tell("shutdown_complete")
    return story.end(9_000)


@pytest.mark.parametrize(("at", "expected"), [((100,), Verdict.OK), ((6_000,), Verdict.NON_STRICT), ((), Verdict.NON_STRICT)])
def test_a_clean_close_that_is_missing_or_late_is_not_strict(at: tuple[float, ...], expected: Verdict) -> None:
    assert verdict(leaves("m0", after="close", requirement="CLIENT-73"), closing(leaves_at=at)) is expected


def test_a_case_may_make_a_missing_clean_close_more_severe() -> None:
    assert verdict(leaves("m0", after="close", requirement="CLIENT-52", absent=Verdict.FAILED), closing()) is Verdict.FAILED


def test_a_clean_close_by_the_driver_counts_only_where_the_case_says_so() -> None:
    story = Story().member().mark("close").end(2_000)
    story.at(2_100).leave()

    assert verdict(leaves("m0", after="close", requirement="CLIENT-73", whole=True), story) is Verdict.OK
    with pytest.raises(NotReached):
        verdict(leaves("m0", after="close", requirement="CLIENT-73"), story)


def test_a_client_that_closed_without_a_leave_will_not_leave_later() -> None:
    story = Story().member().mark("close")
    story.at(300).tell("shutdown_complete")

    assert verdict(leaves("m0", after="close", requirement="CLIENT-73", whole=True), story.end(400)) is Verdict.NON_STRICT


@pytest.mark.parametrize(("fault", "expected"), [(None, Verdict.OK), ("error", Verdict.NON_STRICT)])
def test_a_client_that_the_coordinator_no_longer_knew_has_nothing_to_leave(fault: str | None, expected: Verdict) -> None:
    story = Story().member().mark("close")
    beat = story.at(200).request(Api.HEARTBEAT, member=ID, generation=1)
    story.answer(beat, error=25, fault=fault)
    story.at(300).tell("shutdown_complete")

    assert verdict(leaves("m0", after="close", requirement="CLIENT-73", whole=True), story.end(9_000)) is expected


def test_a_client_without_a_member_id_has_nothing_to_leave_with() -> None:
    assert verdict(leaves("m0", after="close", requirement="CLIENT-73"), Story().mark("close").end(9_000)) is Verdict.OK


@pytest.mark.parametrize(("at", "expected"), [((100,), Verdict.OK), ((100, 200), Verdict.INFORMATIONAL), ((), Verdict.NON_STRICT)])
def test_a_second_leave_is_reported_and_no_leave_is_not_strict(at: tuple[float, ...], expected: Verdict) -> None:
    assert verdict(leaves_once("m0", after="close"), closing(leaves_at=at)) is expected


@pytest.mark.parametrize(("at", "expected"), [(300, Verdict.OK), (7_000, Verdict.INFORMATIONAL), (None, Verdict.INFORMATIONAL)])
def test_a_close_that_hangs_is_reported(at: float | None, expected: Verdict) -> None:
    assert verdict(closes("m0", after="close"), closing(done_at=at)) is expected


def test_a_process_that_crashes_at_close_has_ended() -> None:
    story = Story().member().mark("close")
    story.at(200).kit("exit", "m0", commanded=True, shared=False, status=1, how="exited with status 1", stderr=[])

    (crashed,) = findings(closes("m0", after="close"), story.end(9_000))
    assert (crashed.verdict, crashed.observed) == (Verdict.INFORMATIONAL, "It crashed while closing.")


@pytest.mark.parametrize("severity", [Verdict.NON_STRICT, Verdict.FAILED])
def test_a_request_that_must_not_come_is_as_severe_as_the_case_says(severity: Verdict) -> None:
    story = Story().member().mark("close")
    judge = sends_none("m0", Api.HEARTBEAT, after="close", requirement="LEAVE-55", severity=severity, grace_ms=1_000)
    story.at(900).beat()
    assert verdict(judge, story) is Verdict.OK

    story.at(1_100).beat()
    assert verdict(judge, story) is severity


@pytest.mark.parametrize(("error", "fault", "proof"), [(25, None, Proof.TIMING), (25, "error", Proof.SAFETY), (0, None, Proof.SAFETY)])
def test_a_join_after_the_coordinator_removed_a_silent_member_proves_only_the_silence(error: int, fault: str | None, proof: Proof) -> None:
    judge = sends_none("m0", Api.JOIN_GROUP, after="late", requirement="CLIENT-40", severity=Verdict.NON_STRICT)
    story = Story().member().mark("late").at(4_000)
    story.answer(story.request(Api.HEARTBEAT, member=ID, generation=1), error=error, fault=fault)
    story.join(gets="m0-2", generation=2)

    (found,) = findings(judge, story)
    assert (found.verdict, found.proof) == (Verdict.NON_STRICT, proof)


def test_a_rebalance_that_a_member_caused_counts_for_the_others_and_not_for_itself() -> None:
    judge = leaves_others_alone("a0", after="restart", requirement="STATIC-16")
    story = Story().member("a0").member().mark("restart")
    story.join(member=ID)
    assert verdict(judge, story) is Verdict.OK

    story.join(client="a0", member="a0-2")
    (costs,) = findings(judge, story)
    assert (costs.verdict, costs.observed) == (Verdict.NON_STRICT, "Another member had to join again.")


@pytest.mark.parametrize(("moves", "expected"), [((), Verdict.OK), (("leave",), Verdict.FAILED), (("join",), Verdict.NON_STRICT)])
def test_a_client_that_is_busy_in_time_stays(moves: tuple[str, ...], expected: Verdict) -> None:
    story = Story().member().mark("busy").at(4_000)
    for move in moves:
        getattr(story, move)()

    assert verdict(stays_in_time("m0", after="busy", interval_ms=5_000, requirement="CLIENT-52"), story.end(6_000)) is expected


def test_a_client_kept_busy_for_too_long_may_leave() -> None:
    story = Story().member().mark("busy").at(5_200)
    story.leave()

    with pytest.raises(NotReached, match="longer than 5000 ms"):
        verdict(stays_in_time("m0", after="busy", interval_ms=5_000, requirement="CLIENT-52"), story.end(6_000))


@pytest.mark.requirement("CLIENT-56")
def test_one_tick_either_way_of_the_poll_deadline_is_no_fault() -> None:
    judge = stays_in_time("m0", after="busy", interval_ms=5_000, requirement="CLIENT-52")

    def left_at(ms: float) -> Verdict:
        story = Story().member().mark("busy").at(ms)
        story.leave()
        return verdict(judge, story.end(6_000))

    assert left_at(4_998) is Verdict.FAILED
    for ms in (4_999, 5_000, 5_001):
        with pytest.raises(NotReached):
            left_at(ms)


def stopped(*, leaves_at: float | None, beats_until: float) -> Story:
    story = Story().member().mark("stopped")
    for ms in range(500, 7_001, 500):
        if leaves_at == ms:
            story.at(ms).leave()
        elif ms <= beats_until and (leaves_at is None or ms < leaves_at):
            story.at(ms).beat()
    return story.end(7_000)


@pytest.mark.parametrize(
    ("leaves_at", "beats_until", "expected"),
    [
        (3_000, 3_000, Verdict.OK),
        (5_000, 7_000, Verdict.NON_STRICT),
        (None, 3_000, Verdict.NON_STRICT),
        (None, 7_000, Verdict.FAILED),
    ],
)
def test_a_member_whose_application_polls_no_more_gives_its_place_up(leaves_at: float | None, beats_until: float, expected: Verdict) -> None:
    judge = gives_its_place_up("m0", after="stopped", within_ms=4_000)

    assert verdict(judge, stopped(leaves_at=leaves_at, beats_until=beats_until)) is expected


def test_nothing_is_said_before_the_member_had_to_leave() -> None:
    with pytest.raises(NotReached):
        verdict(gives_its_place_up("m0", after="stopped", within_ms=9_000), stopped(leaves_at=None, beats_until=7_000))


@pytest.mark.parametrize(
    ("syncs_at", "leaves_at", "expected"),
    [(500, None, Verdict.FAILED), (500, 600, Verdict.OK), (None, None, Verdict.OK), (2_300, None, Verdict.OK)],
)
def test_a_member_that_reports_an_unsubscribe_and_keeps_partitions_has_not_left(
    syncs_at: float | None, leaves_at: float | None, expected: Verdict
) -> None:
    story = Story().member().mark("unsubscribe")
    story.tell("answer", id=2, ok=True)
    if syncs_at is not None and syncs_at < 2_000:
        story.at(syncs_at).sync(generation=2, gets=[("t", 0)])
    if leaves_at is not None:
        story.at(leaves_at).leave()
    story.end(2_000)
    if syncs_at is not None and syncs_at > 2_000:
        story.at(syncs_at).sync(generation=2, gets=[("t", 0)])
    story.at(2_500).tell("shutdown_complete")

    assert verdict(syncs_no_more("m0", after="unsubscribe", unsubscribes=True), story) is expected
