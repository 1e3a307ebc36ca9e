from __future__ import annotations

from dataclasses import replace

from tests.harness.judging.checkers.stories import PLANTED, keeping
from tests.harness.judging.checkers.test_live_group import told_of
from tests.traces import Story

from groupproof.harness.judging.checkers.live_group import FindingCount
from groupproof.harness.judging.observed.group_results import results_of
from groupproof.harness.model.verdicts import Verdict


def test_a_group_has_two_results_for_its_members_and_its_invariants() -> None:
    members, invariants = results_of(told_of(keeping().trace))

    assert [members.case.id, invariants.case.id] == ["observed/classic/g", "laws/classic/g"]
    assert [members.ruling.verdict, invariants.ruling.verdict] == [Verdict.OK, Verdict.OK]
    assert members.ruling.observed == "Nothing illegal in 15 requests of m0, m1."
    assert invariants.ruling.observed == "No law was broken in 23 observations."


def test_what_is_proven_at_once_fails_at_once() -> None:
    _, invariants = results_of(told_of(PLANTED["COMMIT-06"]().trace))

    assert invariants.ruling.verdict is Verdict.FAILED
    assert "COMMIT-06" in invariants.case.requirements


def test_lateness_in_real_time_fails_only_when_it_is_seen_as_often_as_a_case_is_repeated() -> None:
    group = told_of(PLANTED["INV-12"]().trace)
    (late,) = group.invariants

    _, once = results_of(group)
    _, thrice = results_of(replace(group, invariants=(FindingCount(late.examples, 3),)))
    _, virtual = results_of(replace(group, is_virtual=True))

    assert once.ruling.verdict is Verdict.INFORMATIONAL
    assert once.ruling.observed == "A join phase lasted longer than its deadline. Seen once."
    assert [thrice.ruling.verdict, virtual.ruling.verdict] == [Verdict.FAILED, Verdict.FAILED]


def test_a_group_that_nobody_joined_is_no_verdict() -> None:
    story = keeping()
    kept = [obs for obs in story.trace if obs.api == "OffsetCommit"]

    (members,) = results_of(told_of(kept))

    assert members.ruling.verdict is Verdict.INCONCLUSIVE


def test_a_group_in_which_nobody_asked_to_join_is_not_judged() -> None:
    story = Story()
    story.commit(("t", 0, 1), member="", generation=-1)

    (members,) = results_of(told_of(story.trace))

    assert members.ruling.verdict is Verdict.UNIMPLEMENTED
