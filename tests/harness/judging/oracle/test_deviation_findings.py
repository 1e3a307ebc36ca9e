from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.harness.judging.oracle.recording import Recording

from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.coordinator.planted.variants import variant_named
from groupproof.harness.judging.oracle.answer_diff import Difference
from groupproof.harness.judging.oracle.deviation_findings import comes_further, deviation_findings, has_consumers, may_choose, with_broken_target
from groupproof.harness.judging.oracle.exchanges import histories
from groupproof.harness.judging.oracle.replay_result import Deviation, Divergence, ReplayResult
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.vocabulary import Level

STEP: Any = None
OTHER = Deviation(requirement="CGA-12", expected="e", observed="assigns otherwise", seq=3, level=Level.INFO)
ADVISED = Deviation(requirement="CGA-11", expected="e", observed="moves more", seq=4, level=Level.SHOULD)
BROKEN = Deviation(requirement="CGA-04", expected="e", observed="gives a partition to nobody", seq=5, level=Level.MUST)


def _result(matched: int | None, *deviations: Deviation, path: str = "assignment.topic_partitions[t]") -> ReplayResult:
    found = (Difference(path=path, field=path, expected=1, observed=2),)
    divergence = None if matched is None else Divergence(kind="other", step=STEP, matched=matched, differences=found)
    return ReplayResult(steps=(), forks=(), transitions=(), names={}, divergence=divergence, deviations=deviations)


def test_each_legal_deviation_is_reported_once_and_advice_is_not_strict() -> None:
    findings = list(deviation_findings(_result(None, OTHER, OTHER, ADVISED, BROKEN)))

    assert [(finding.requirement, finding.verdict) for finding in findings] == [
        ("CGA-12", Verdict.INFORMATIONAL),
        ("CGA-11", Verdict.NON_STRICT),
    ]


@pytest.mark.requirement("CGX-16")
def test_a_topic_that_is_known_late_is_not_strict() -> None:
    recording = Recording()
    recording.stable("a")
    exchange = histories(recording.end())[0].exchanges[-1]

    (finding,) = deviation_findings(replace(_result(None), late_topics=exchange))

    assert (finding.requirement, finding.verdict, finding.proof, finding.seq) == ("CGX-16", Verdict.NON_STRICT, Proof.TIMING, exchange.seq)


def test_the_brokers_own_branch_is_used_where_it_explains_more_or_says_why_not() -> None:
    assert comes_further(_result(None), _result(3))
    assert comes_further(_result(4), _result(3))
    assert comes_further(_result(3, BROKEN), _result(3))
    assert not comes_further(_result(3, OTHER), _result(3))
    assert not comes_further(_result(2, BROKEN), _result(3))
    assert not comes_further(_result(3), _result(None))


def test_a_broken_target_is_named_where_an_assignment_differs() -> None:
    finding = Finding(verdict=Verdict.NON_STRICT, requirement="CGM-08", expected="x", observed="y", detail="d")

    named = with_broken_target(finding, _result(3, BROKEN))

    assert (named.requirement, named.verdict, named.detail) == ("CGA-04", Verdict.FAILED, "d")
    assert with_broken_target(finding, _result(3, BROKEN, path="error_code")) == finding
    assert with_broken_target(finding, _result(3, OTHER)) == finding


def test_only_consumers_have_the_coordinator_assign() -> None:
    recording = Recording()
    recording.stable("a")

    assert not has_consumers(histories(recording.end())[0])


@pytest.mark.parametrize(
    ("variant", "may"), [("reference", False), ("generations-by-two", True), ("generations-from-0", True), ("id-never-required", True)]
)
def test_answers_of_a_classic_group_show_that_its_broker_chooses(variant: str, may: bool) -> None:
    recording = Recording(variant=REFERENCE if variant == "reference" else variant_named(variant))
    recording.stable("a")
    (history,) = histories(recording.end())

    assert may_choose(history, lambda: _result(3)) is may
    assert may_choose(history, lambda: _result(3, OTHER)), "a replay may show it as well"
