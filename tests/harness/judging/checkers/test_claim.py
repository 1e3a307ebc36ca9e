"""A claim turns what a checker saw into a finding."""

from __future__ import annotations

import pytest
from tests.traces import Story

from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms, waited
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api

CLAIM = Claim(requirement="HB-03", expected="It joins again.")


@pytest.mark.parametrize(
    ("say", "verdict"),
    [(CLAIM.ok, Verdict.OK), (CLAIM.tolerated, Verdict.NON_STRICT), (CLAIM.failed, Verdict.FAILED)],
    ids=["ok", "tolerated", "failed"],
)  # fmt: skip
def test_a_finding_names_the_requirement_what_was_expected_and_the_frame(say: object, verdict: Verdict) -> None:
    story = Story()
    frame = story.request(Api.HEARTBEAT, "m0")
    found = say("It did not.", frame)  # type: ignore[operator]  # three methods of one signature

    assert (found.verdict, found.requirement, found.expected, found.observed, found.seq) == (
        verdict,
        "HB-03",
        "It joins again.",
        "It did not.",
        frame.seq,
    )
    assert found.proof is Proof.SAFETY


def test_a_finding_without_a_frame_names_none() -> None:
    assert CLAIM.failed("Nothing came.", proof=Proof.LIVENESS).seq is None


@pytest.mark.parametrize(("due_ms", "until_ms"), [(1_000, 1_500), (5_000, 5_500), (20_000, 22_000)])
def test_a_deadline_tolerates_half_a_second_or_a_tenth(due_ms: float, until_ms: float) -> None:
    assert tolerated_ms(due_ms) == until_ms


def test_a_wait_is_counted_between_two_frames() -> None:
    story = Story()
    first = story.request(Api.HEARTBEAT, "m0")
    story.at(1_250)
    second = story.request(Api.HEARTBEAT, "m0")

    assert elapsed_ms(first, second) == second.at_ms - first.at_ms
    wait = waited(first, second, 1_000)
    assert (wait.since, wait.ms, wait.due_ms) == (first.seq, second.at_ms - first.at_ms, 1_000)
