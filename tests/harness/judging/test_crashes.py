from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.harness.judging.judged import FAILED, OK, judged, says
from tests.traces import Story

from groupproof.harness.judging.crashes import gave_up_in, has_crashed_closing
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.harness.subjects.shims.conversation import Ending
from groupproof.protocol.vocabulary import Api


def ended(status: int | None, *, commanded: bool = False, shared: bool = False, stderr: tuple[str, ...] = (), spoke: bool = True) -> Story:
    story = Story()
    if spoke:
        story.find()
    else:
        story.exchange(Api.METADATA)
    how: dict[str, Any] = {"status": status, "how": str(Ending(status=status)), "gave_up": False}
    story.kit("exit", "m0", commanded=commanded, shared=shared, stderr=list(stderr), **how)
    return story


def judgement_of(story: Story) -> Judgement:
    return judged(story, says(OK))


@pytest.mark.parametrize(
    ("status", "observed"),
    [
        (1, "It crashed: its process exited with status 1."),
        (-11, "It crashed: its process was ended by signal 11 (SIGSEGV)."),
        (-6, "It crashed: its process was ended by signal 6 (SIGABRT)."),
        (-7, "It crashed: its process was ended by signal 7 (SIGBUS)."),
        (2, "It crashed: its process exited with status 2."),  # a panic's in Go
        (134, "It crashed: its process exited with status 134."),
        (0, "It crashed: its process exited with status 0."),
        (-64, "It crashed: its process was ended by signal 64 (SIGRTMAX)."),
        (-99, "It crashed: its process was ended by signal 99 (of no name)."),
    ],
)
def test_an_uncommanded_end_after_the_client_spoke_is_a_crash_and_failed(status: int, observed: str) -> None:
    crashed = judgement_of(ended(status, stderr=("goroutine 17", "panic: nil")))

    assert crashed.verdict is Verdict.FAILED
    assert [(finding.observed, finding.detail) for finding in crashed.findings] == [(observed, "goroutine 17 | panic: nil")]
    assert not crashed.wants_repetition


@pytest.mark.parametrize(("status", "number"), [(-9, 9), (-15, 15), (-2, 2), (-1, 1), (137, 9), (143, 15), (130, 2)])
@pytest.mark.parametrize("spoke", [True, False])
def test_a_member_that_is_killed_from_outside_has_done_nothing(status: int, number: int, *, spoke: bool) -> None:
    killed = judgement_of(ended(status, spoke=spoke))

    assert (killed.verdict, killed.findings, killed.is_blurred) == (Verdict.INCONCLUSIVE, (), True)
    assert killed.reason == f"the process of m0 was killed from outside (signal {number})"


def test_one_before_the_client_spoke_is_broken() -> None:
    early = judgement_of(ended(1, spoke=False))

    assert early.verdict is Verdict.BROKEN
    assert early.reason == "the shim exited with status 1 before its client spoke: nothing on stderr"


def test_the_end_of_a_process_that_others_shared_says_nothing_of_this_case() -> None:
    shared = judgement_of(ended(-11, shared=True, stderr=("panic", "at 7")))

    assert shared.is_blurred
    assert shared.verdict is Verdict.INCONCLUSIVE
    assert shared.shared_ends == ("killed by signal 11: panic | at 7",)
    assert judgement_of(ended(1, shared=True)).shared_ends == ("exited with status 1: nothing on stderr",)


def test_a_process_of_many_that_ends_while_one_of_them_closes_was_not_asked_to() -> None:
    shared = judgement_of(ended(1, commanded=True, shared=True, stderr=("NetworkError: Client is closed",)))

    assert (shared.is_blurred, shared.shared_ends) == (True, ("exited with status 1: NetworkError: Client is closed",))
    assert not judgement_of(ended(0, commanded=True, shared=True)).is_blurred
    assert not judgement_of(ended(1, commanded=True)).is_blurred


def test_a_shared_process_that_is_killed_from_outside_has_not_crashed() -> None:
    killed = judgement_of(ended(-9, shared=True))

    assert (killed.is_blurred, killed.shared_ends) == (True, ())


@pytest.mark.parametrize(
    ("status", "commanded", "shared", "crashed"),
    [
        (1, True, False, True),
        (-11, True, False, True),
        (0, True, False, False),
        (-15, True, False, False),
        (None, True, False, False),
        (1, False, False, False),
        (1, True, True, False),
    ],
)
def test_a_crash_at_close_is_an_end_by_its_own_doing_that_was_asked_for(status: int | None, *, commanded: bool, shared: bool, crashed: bool) -> None:
    assert has_crashed_closing(ended(status, commanded=commanded, shared=shared).trace[-1]) is crashed


@pytest.mark.parametrize("commanded", [True, False])
def test_a_program_that_ended_itself_before_the_case_was_over_shows_no_more(*, commanded: bool) -> None:
    def unreached(evidence: Evidence) -> Iterator[Finding]:
        yield OK
        raise NotReached("the run ended before its time was over")

    story = Story()
    story.find()
    story.kit("exit", "m0", status=0, how="exited with status 0", gave_up=True, commanded=commanded, shared=False, stderr=[])
    ended = judged(story, unreached)

    assert ended.verdict is (Verdict.INCONCLUSIVE if commanded else Verdict.UNIMPLEMENTED)
    assert ("the program of m0 ended itself" in ended.reason) != commanded
    assert gave_up_in(story.trace) == (None if commanded else "m0")


def test_what_a_program_has_proven_before_it_ended_itself_stays_proven() -> None:
    def unreached(evidence: Evidence) -> Iterator[Finding]:
        yield FAILED
        raise NotReached("the run ended before its time was over")

    story = Story()
    story.find()
    story.kit("exit", "m0", status=0, how="exited with status 0", gave_up=True, commanded=False, shared=False, stderr=[])

    assert judged(story, unreached).verdict is Verdict.FAILED
