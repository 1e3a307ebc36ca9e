"""What one live trace shows counts as a case's run does: frames at once, the rest as often as a case is repeated."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.harness.judging.checkers.test_live_group import told_of
from tests.traces import Story

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.observed.group_results import results_of
from groupproof.harness.judging.observed.observed_group import judge_live
from groupproof.harness.judging.observed.repetition import all_weighed, weighed
from groupproof.harness.judging.summary.verdict_grounds import grounds_of
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Trace


def finding(proof: Proof = Proof.LIVENESS, verdict: Verdict = Verdict.FAILED, observed: str = "It was late.") -> Finding:
    return Finding(verdict=verdict, requirement="ASSIGN-09", expected="", observed=observed, proof=proof)


@pytest.mark.parametrize(("count", "observed"), [(1, "It was late. Seen once."), (2, "It was late. Seen 2 times."), (3, "It was late.")])
@pytest.mark.parametrize("proof", [Proof.LIVENESS, Proof.TIMING])
def test_what_no_frame_proves_counts_when_it_occurs_three_times(count: int, observed: str, proof: Proof) -> None:
    item = weighed(finding(proof), count)

    assert (item.verdict, item.observed) == (Verdict.FAILED if count == 3 else Verdict.INFORMATIONAL, observed)


def test_what_frames_prove_and_what_blames_nobody_and_virtual_time_count_at_once() -> None:
    for item in (finding(Proof.SAFETY), finding(verdict=Verdict.INFORMATIONAL)):
        assert weighed(item, 1) is item
    assert weighed(finding(), 1, is_virtual=True).verdict is Verdict.FAILED


def test_findings_of_one_sentence_are_counted_together() -> None:
    items = [finding(), finding(observed="It was early."), finding(), finding()]

    assert [item.verdict is Verdict.FAILED for item in all_weighed(items, is_virtual=False)] == [True, False, True, True]


def overlaps(times: int) -> Trace:
    """Return a group in which a member reports its revocation long after another was given the partition, so many times."""
    story = Story()
    story.join("a", gets="A", leader="A", members={"A": ["t"]})
    story.sync("a", member="A", gets=[("t", 0)], assigns={"A": [("t", 0)]})
    story.partitions("assigned", ("t", 0), client="a")
    for number in range(times):
        generation, (old, new) = number + 2, ("ab", "ba")[number % 2]
        story.at(20_000 * number + 1_000)
        for client, member in (("a", "A"), ("b", "B")):
            story.join(
                client, member=member, gets=member, generation=generation, leader="A", members={"A": ["t"], "B": ["t"]} if client == "a" else None
            )
        owners = {old.upper(): [], new.upper(): [("t", 0)]}
        for client, member in (("a", "A"), ("b", "B")):
            story.sync(client, member=member, generation=generation, assigns=owners if client == "a" else None, gets=owners[member])
        story.partitions("assigned", ("t", 0), client=new)
        story.at(20_000 * number + 9_000).partitions("revoked", ("t", 0), client=old)
    trace = [replace(obs, who="member", group="g") if obs.who == "shim" else obs for obs in story.trace]
    return [replace(obs, connection=2) if obs.client == "b" and obs.connection else obs for obs in trace]


def both_ways(trace: Trace) -> list[CaseResult]:
    return [judge_live(trace)[0], results_of(told_of(trace))[0]]


@pytest.mark.parametrize(("times", "expected"), [(1, Verdict.INFORMATIONAL), (3, Verdict.FAILED)])
def test_members_are_judged_by_repetition_too(times: int, expected: Verdict) -> None:
    results = both_ways(overlaps(times))

    assert [result.ruling.verdict for result in results] == [expected, expected]
    assert all("ASSIGN-09" in result.case.requirements for result in results)


def test_in_virtual_time_once_is_enough() -> None:
    results = both_ways([replace(obs, clock="virtual") for obs in overlaps(1)])

    assert [result.ruling.verdict for result in results] == [Verdict.FAILED, Verdict.FAILED]


def test_the_grounds_say_that_nobody_measured_the_lag_beside_a_live_group() -> None:
    assert ["the kit's lag was not measured" in grounds_of(result.ruling) for result in both_ways(overlaps(1))] == [True, True]
    assert ["the kit did not lag" in grounds_of(result.ruling) for result in both_ways([replace(obs, clock="virtual") for obs in overlaps(1)])] == [
        True,
        True,
    ]
