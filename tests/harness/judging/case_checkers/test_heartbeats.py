from __future__ import annotations

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.heartbeats import heartbeats_go_on, heartbeats_stop, heartbeats_while_parked
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api

GOES_ON = heartbeats_go_on("m0", after="busy", requirement="CLIENT-40")


def beating(*at: float, until: float) -> Story:
    story = Story().member().mark("busy")
    for ms in at:
        story.at(ms).beat()
    return story.end(until)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ((1_000, 2_000, 3_000, 4_000, 5_000), Verdict.OK),
        # Gaps are judged against the session timeout, with its tolerance, and never against the interval.
        ((3_400,), Verdict.OK),
        ((3_600,), Verdict.FAILED),
        ((1_000,), Verdict.FAILED),
    ],
)
def test_a_silence_longer_than_the_session_fails(at: tuple[float, ...], expected: Verdict) -> None:
    assert verdict(GOES_ON, beating(*at, until=6_000)) is expected


def test_a_silence_is_an_absence_that_must_be_seen_again() -> None:
    assert [finding.proof for finding in findings(GOES_ON, beating(until=6_000))] == [Proof.LIVENESS]


@pytest.mark.parametrize("api", [Api.JOIN_GROUP, Api.SYNC_GROUP])
def test_a_parked_request_keeps_its_member_alive(api: Api) -> None:
    story = Story().member().mark("busy")
    parked = story.at(500).request(api, member=ID)
    story.at(8_000).answer(parked)

    assert verdict(GOES_ON, story.end(9_000)) is Verdict.OK


def test_a_short_window_proves_nothing() -> None:
    with pytest.raises(NotReached):
        verdict(GOES_ON, beating(until=1_000))


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_member_that_left_before_a_heartbeat_was_due_owes_none_once_it_is_back(*, comes_back: bool) -> None:
    story = Story().member().mark("busy")
    story.at(400).leave()
    if comes_back:
        story.at(1_500).member(member="m0-2", gets=[("t", 0)])
    story.end(6_000)

    if comes_back:
        assert [finding.observed for finding in findings(GOES_ON, story)] == ["It left the group before a heartbeat was due, and came back."]
    else:
        with pytest.raises(NotReached):
            findings(GOES_ON, story)


def parked(*, beats: bool, freed_at: float = 4_000) -> Story:
    story = Story().fault("slow")
    story.at(300).request(Api.SYNC_GROUP, member=ID, generation=1)
    if beats:
        story.at(600).beat()
    story.at(freed_at).fault("slow", "released")
    return story.end()


@pytest.mark.parametrize(("beats", "expected"), [(True, Verdict.OK), (False, Verdict.INFORMATIONAL)])
def test_no_heartbeat_while_the_sync_is_parked_is_reported(beats: bool, expected: Verdict) -> None:
    judge = heartbeats_while_parked("m0", hold="slow", requirement="CLIENT-40", at_least_ms=2_000)

    assert verdict(judge, parked(beats=beats)) is expected
    with pytest.raises(NotReached):
        verdict(judge, parked(beats=False, freed_at=1_500))


@pytest.mark.parametrize(("last", "expected"), [(4_000, Verdict.OK), (5_500, Verdict.FAILED)])
def test_a_member_whose_application_is_gone_falls_silent(last: float, expected: Verdict) -> None:
    story = Story().member().mark("stopped")
    story.at(last).beat()

    assert verdict(heartbeats_stop("m0", after="stopped", requirement="CLIENT-52", within_ms=4_500), story.end(6_000)) is expected


def test_a_member_may_come_back_after_the_instant_given() -> None:
    story = Story().member().mark("stopped")
    story.at(6_000).mark("again")
    story.at(6_100).beat()
    judge = heartbeats_stop("m0", after="stopped", until="again", requirement="CLIENT-52", within_ms=4_500)

    assert verdict(judge, story.end(9_000)) is Verdict.OK
    with pytest.raises(NotReached):
        verdict(heartbeats_stop("m0", after="stopped", until="again", requirement="CLIENT-52", within_ms=8_000), story)
