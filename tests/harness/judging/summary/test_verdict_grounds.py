from __future__ import annotations

from typing import Any

import pytest
from tests.harness.reports.making import ruling

from groupproof.harness.judging.summary.verdict_grounds import deciding, grounds_of, proof_of
from groupproof.harness.model.verdicts import Finding, Grounds, Proof, Verdict, Wait

WAIT = Wait(since=0, ms=9_000, due_ms=6_000)


def finding(proof: Proof = Proof.SAFETY, **columns: Any) -> Finding:
    return Finding(verdict=Verdict.FAILED, requirement="HB-03", expected="", observed="It left.", proof=proof, **columns)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (finding(), "proven on the wire"),
        (finding(Proof.TIMING), "came late"),
        (finding(Proof.LIVENESS, wait=WAIT), "never came"),
        (finding(Proof.LIVENESS, wait=WAIT, grounds=Grounds(is_reported=True)), "reported by the application's events"),
        (finding(Proof.LIVENESS), "it was so at the end"),
    ],
)
def test_each_proof_has_its_words(found: Finding, words: str) -> None:
    assert proof_of(found) == words


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"findings": [finding()]}, "proven on the wire in 1 of 1 run · 0 receipts · the kit did not lag"),
        (
            {"findings": [finding(grounds=Grounds(run=2))], "stability": "1/3", "run": 2, "receipts": 1, "lag_ms": 12.4},
            "proven on the wire in 1 of 3 runs, run 2 · 1 receipt · the kit lagged 12 ms at most",
        ),
        ({"findings": [finding()], "measures_lag": False}, "proven on the wire in 1 of 1 run · 0 receipts · the kit's lag was not measured"),
        ({"findings": [finding(Proof.LIVENESS, wait=WAIT)], "stability": "3/3"}, "never came in 3 of 3 runs · 0 receipts · the kit did not lag"),
        (
            {"findings": [finding(grounds=Grounds(word="resume"))]},
            "proven by frames and a line of the shim's in 1 of 1 run · 0 receipts · the kit did not lag · it rests on the shim's word for resume: where that is wrong the shim is "
            "to blame, see groupproof shim check",
        ),
        (
            {"findings": [finding(grounds=Grounds(word="resume", is_tried=True))]},
            "proven by frames and a line of the shim's in 1 of 1 run · 0 receipts · the kit did not lag · it rests on the shim's word for resume: that held when it was tried, "
            "see groupproof shim check",
        ),
        ({"verdict": Verdict.INCONCLUSIVE, "stability": "unstable 2/3"}, "seen in 2 of 3 runs · 0 receipts · the kit did not lag"),
        (
            {"verdict": Verdict.INCONCLUSIVE, "blurs": ("it crashed", "it crashed")},
            "seen in 1 of 1 run · 0 receipts · the kit did not lag · repeated alone, because at first it crashed",
        ),
        ({"verdict": Verdict.INCONCLUSIVE, "stability": "0/1"}, ""),
        ({"verdict": Verdict.UNIMPLEMENTED, "stability": "0/0"}, ""),
        ({"verdict": Verdict.OK}, ""),
    ],
)
def test_a_verdict_tells_on_what_it_rests(columns: dict[str, Any], text: str) -> None:
    assert grounds_of(ruling(columns.pop("verdict", Verdict.FAILED), **columns)) == text


def test_of_several_findings_one_decides_that_the_shown_run_proves() -> None:
    absent, late = finding(Proof.LIVENESS, grounds=Grounds(run=1)), finding(Proof.TIMING, grounds=Grounds(run=2))
    proven = finding(grounds=Grounds(run=2))

    assert deciding(ruling(Verdict.FAILED, [absent, late, proven], run=2)) is proven
    assert deciding(ruling(Verdict.FAILED, [absent, late], run=2)) is late
    assert deciding(ruling(Verdict.FAILED, [absent], run=2)) is absent
    assert deciding(ruling(Verdict.OK, [absent])) is None
