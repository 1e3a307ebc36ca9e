from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.traces import Story

from groupproof.harness.judging.case_checkers.findings import TimedJudge, end, overdue, timed_checker
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict

CLAIM = Claim(requirement="CLIENT-46", expected="The client joins again.")


def judged(story: Story, *, comes: bool, severity: Verdict = Verdict.FAILED) -> Finding | None:
    obs = story.trace[1] if comes else None
    return overdue(
        Evidence(story.trace), CLAIM, obs, since=story.trace[0], within_ms=2_000, never="It never came.", late="It came late.", severity=severity
    )


def story(*, comes_at: float, ends_at: float) -> Story:
    entry = Story().mark("due")
    entry.at(comes_at).beat()
    return entry.end(ends_at)


def test_a_finding_carries_the_requirement_the_sentence_and_where_it_was_seen() -> None:
    obs = story(comes_at=5, ends_at=9).trace[1]

    assert CLAIM.failed("It did not.", obs, detail="twice") == Finding(
        verdict=Verdict.FAILED,
        requirement="CLIENT-46",
        expected="The client joins again.",
        observed="It did not.",
        seq=1,
        detail="twice",
    )
    assert CLAIM.ok("It did.").seq is None
    assert CLAIM.tolerated("Almost.").verdict is Verdict.NON_STRICT


@pytest.mark.parametrize(("deadline", "tolerated"), [(100, 600), (5_000, 5_500), (30_000, 33_000)])
def test_late_begins_half_a_second_or_a_tenth_after_the_deadline(deadline: float, tolerated: float) -> None:
    assert tolerated_ms(deadline) == tolerated


def test_what_comes_within_the_tolerance_is_in_time() -> None:
    assert judged(story(comes_at=2_500, ends_at=3_000), comes=True) is None


def test_what_comes_after_the_tolerance_is_late() -> None:
    late = judged(story(comes_at=2_501, ends_at=3_000), comes=True)

    assert late is not None
    assert (late.verdict, late.proof, late.observed) == (Verdict.NON_STRICT, Proof.TIMING, "It came late.")


def test_what_never_comes_is_an_absence_and_as_severe_as_the_judge_says() -> None:
    never = judged(story(comes_at=1, ends_at=3_000), comes=False, severity=Verdict.NON_STRICT)

    assert never is not None
    assert (never.verdict, never.proof, never.observed) == (Verdict.NON_STRICT, Proof.LIVENESS, "It never came.")


def test_nothing_is_said_of_what_had_no_time_to_come() -> None:
    with pytest.raises(NotReached, match="It never came"):
        judged(story(comes_at=1, ends_at=1_999), comes=False)


def test_the_judged_part_ends_where_the_driver_began_to_close_and_the_clean_close_follows() -> None:
    entry = story(comes_at=1, ends_at=10)
    entry.at(20).leave()

    assert end(Evidence(entry.trace)).body["name"] == "end"
    assert elapsed_ms(end(Evidence(entry.trace)), end(Evidence(entry.trace), whole=True)) == 10


def test_an_empty_trace_proves_nothing() -> None:
    with pytest.raises(NotReached):
        end(Evidence([]))


def subscribing(story: Story, client: str = "m1") -> Story:
    story.see("event", who="kit", client=client, body={"name": "command", "command": "subscribe", "fields": {}})
    return story


def answering(story: Story, client: str = "m1") -> Story:
    story.see("event", who="shim", client=client, body={"name": "answer", "id": 1, "ok": True})
    return story


def test_a_wait_runs_from_when_the_last_member_had_its_settings() -> None:
    slow = subscribing(Story().mark("due")).at(5_000)
    answering(slow).at(7_400).beat()

    assert overdue(Evidence(slow.end(8_000).trace), CLAIM, slow.trace[3], since=slow.trace[0], within_ms=2_000, never="", late="") is None
    mute = answering(subscribing(Story().mark("due")).at(5_000)).end(7_000)
    with pytest.raises(NotReached):
        overdue(Evidence(mute.trace), CLAIM, None, since=mute.trace[0], within_ms=2_000, never="", late="")


def test_a_client_with_a_slow_rhythm_has_as_many_times_as_long() -> None:
    story = Story().mark("due")
    story.see("event", who="kit", body={"name": "rhythm", "react_ms": 12_000})
    story.at(4_300).beat()

    assert judged_at(story.end(9_000), 2) is None
    assert judged_at(story_of_a_beat_at(4_300), 1) is not None


def story_of_a_beat_at(ms: float) -> Story:
    entry = Story().mark("due").at(ms)
    entry.beat()
    return entry.end(9_000)


def judged_at(story: Story, seq: int) -> Finding | None:
    return overdue(Evidence(story.trace), CLAIM, story.trace[seq], since=story.trace[0], within_ms=2_000, never="", late="It came late.")


@timed_checker
def comes(ev: Evidence, client: str, *, after: str, within_ms: float = 6_000) -> Iterator[Finding]:
    yield CLAIM.ok(f"{client} after {after}", ev.trace[0])


def test_a_checker_that_waits_says_since_when_and_for_how_long_by_its_argument_or_by_default() -> None:
    plain, patient = comes("m0", after="due"), comes("m0", after="due", within_ms=9_000)

    assert isinstance(plain, TimedJudge)
    assert [(judge.after, judge.within_ms, judge.from_arming) for judge in (plain, patient)] == [("due", 6_000, False), ("due", 9_000, False)]
    assert [finding.observed for finding in plain(Evidence(story(comes_at=5, ends_at=9).trace))] == ["m0 after due"]
    make: Any = comes
    with pytest.raises(TypeError, match="after"):
        make("m0")
