from __future__ import annotations

import pytest
from tests.traces import Story, findings, verdict

from groupproof.harness.judging.case_checkers.convergence import settles
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Proof, Verdict

SETTLES = settles(("m0",), {"t": 1}, after="healed", within_ms=5_000, requirement="ASSIGN-09")


def healed(*, at: float | None, until: float = 8_000) -> Story:
    """Tell of a member that comes in at a time after the healing, or never."""
    story = Story().mark("healed")
    if at is not None:
        story.at(at).member(gets=[("t", 0)])
        story.partitions("assigned", ("t", 0))
        story.beat()
    return story.at(until).end()


@pytest.mark.parametrize(("at", "expected"), [(4_000, Verdict.OK), (5_400, Verdict.OK), (5_600, Verdict.FAILED), (None, Verdict.FAILED)])
def test_a_group_settles_within_its_time(at: float | None, expected: Verdict) -> None:
    assert verdict(SETTLES, healed(at=at)) is expected


def test_coming_late_and_not_coming_are_matters_of_time_for_which_the_kit_must_be_in_time_itself() -> None:
    (late,), (absent,) = findings(SETTLES, healed(at=7_000)), findings(SETTLES, healed(at=None))

    assert (late.proof, late.observed) == (Proof.TIMING, "The group settled late.")
    assert (absent.proof, absent.observed) == (Proof.TIMING, "The group did not settle.")
    assert "m0 has no assignment" in absent.detail
    assert absent.seq == len(healed(at=None).trace) - 1


def test_what_settles_and_falls_apart_again_has_not_settled() -> None:
    story = Story().mark("healed").member(gets=[("t", 0)])
    story.partitions("assigned", ("t", 0))
    story.beat()
    story.at(7_000).beat(error=25)

    assert verdict(SETTLES, story.at(8_000).end()) is Verdict.FAILED


def test_a_run_that_ends_before_the_time_is_over_proves_nothing() -> None:
    with pytest.raises(NotReached):
        verdict(SETTLES, healed(at=None, until=3_000))
