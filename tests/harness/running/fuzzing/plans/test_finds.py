from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet
from tests.harness.running.fuzzing.finding import busy_plan, finding, judgement

from groupproof.harness.cases.drawn_case import drawn_case, with_healing
from groupproof.harness.judging.summary.expectations import KnownFailure
from groupproof.harness.model.case import plan_of
from groupproof.harness.model.plan_builders import plan, start, subject
from groupproof.harness.model.verdicts import Proof, Verdict, fingerprint
from groupproof.harness.running.fuzzing.plans.finds import Finds, Steadiness, kind_of, kinds_in
from groupproof.protocol.trace import Observation

BUSY = drawn_case("1-1", busy_plan())
SMALL = drawn_case("1-2", with_healing(plan(subject(), start("m0"))))
ONE, OTHER, FINE = finding(), finding("It did that."), finding("It did not.", verdict=Verdict.OK)


def known_failure(kind: str) -> KnownFailure:
    return KnownFailure(case="x", verdict=Verdict.FAILED, reason="of old", source="docs/findings/x.md", subject=SpecifierSet(""), fingerprint=kind)


def test_a_kind_is_what_an_expectation_recognises_the_failure_by() -> None:
    failed = finding(verdict=Verdict.FAILED)

    assert kind_of(ONE) == kind_of(failed) == fingerprint([failed])
    assert kind_of(ONE) != kind_of(OTHER)
    assert kinds_in(judgement(ONE, FINE)) == {kind_of(ONE): ONE}


def test_what_is_found_or_known_needs_no_second_look() -> None:
    finds = Finds([known_failure(kind_of(OTHER))])
    finds.add(kind_of(ONE), ONE, BUSY, [], 1.0)

    assert finds.unmet(judgement(ONE, OTHER, FINE)).findings == (FINE,)
    assert finds.unmet(judgement(ONE, OTHER, FINE)).verdict is Verdict.OK
    fresh = judgement(finding("It did a third thing.", verdict=Verdict.FAILED))
    assert finds.unmet(fresh) is fresh


def test_every_meeting_counts_and_the_smallest_plan_is_kept() -> None:
    finds = Finds([known_failure(kind_of(OTHER))])
    find = finds.add(kind_of(ONE), ONE, BUSY, [], 1.0)
    finds.count({kind: (finding, []) for kind, finding in kinds_in(judgement(ONE, OTHER)).items()}, SMALL)
    finds.count({kind: (finding, []) for kind, finding in kinds_in(judgement(ONE)).items()}, BUSY)

    assert (find.plans, plan_of(find.case)) == (3, plan_of(SMALL))
    assert finds.excused == {kind_of(OTHER): 1}
    assert finds.reason(kind_of(OTHER)) == "of old (docs/findings/x.md)"
    assert finds.reason(kind_of(ONE)) is None


@pytest.mark.parametrize(
    ("steadiness", "proof", "counts"),
    [
        (Steadiness.STABLE, Proof.LIVENESS, True),
        (Steadiness.TIMING, Proof.LIVENESS, True),
        (Steadiness.FLEETING, Proof.LIVENESS, False),
        (Steadiness.FLEETING, Proof.SAFETY, True),
        (Steadiness.UNPROVEN, Proof.SAFETY, True),
        (Steadiness.OURS, Proof.SAFETY, False),
    ],
)
def test_the_subject_is_blamed_for_what_is_proven(steadiness: Steadiness, proof: Proof, counts: bool) -> None:
    find = Finds([]).add("k", finding(proof=proof), BUSY, [], 1.0)
    find.steadiness, find.repeats = steadiness, (2, 5)

    assert find.counts is counts
    assert find.label == ("not tried again" if steadiness is Steadiness.UNPROVEN else f"{steadiness.value} 2/5")


def test_what_was_seen_once_while_the_kit_was_late_blames_nobody() -> None:
    lag = Observation(seq=0, at_ns=0, kind="event", who="kit", body={"name": "lag", "lag_ms": 400.0})
    find = Finds([]).add("k", ONE, BUSY, [lag], 1.0)
    find.steadiness = Steadiness.FLEETING

    assert not find.counts
    find.steadiness = Steadiness.TIMING
    assert find.counts
