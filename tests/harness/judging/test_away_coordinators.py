"""One answer of a coordinator that is away proves nothing; the same in each run does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.harness.judging.test_script_judgement import forged
from tests.harness.running.scripts.test_coordinator_stage import case, played

from groupproof.harness.judging.away_coordinators import as_transient
from groupproof.harness.judging.ruling import rule_on
from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.model.script_builders import beat, describe, stable
from groupproof.harness.model.verdicts import Finding, Proof, Verdict

BEATS = case(*stable("a"), beat("a"), describe("z"))
TRACE = played(BEATS)[0].trace
BEAT = next(obs.seq for obs in TRACE if obs.kind == "response" and obs.api == "Heartbeat")


@pytest.mark.parametrize("code", [14, 15, 16])
def test_a_coordinator_that_is_away_once_is_no_failure_and_in_each_run_it_is(code: int) -> None:
    away, right = (judge_script_run(BEATS, trace) for trace in (forged(TRACE, code), TRACE))

    assert (away.wants_repetition, right.verdict) == (True, Verdict.OK)
    once, always = rule_on(BEATS, [away, right, right]), rule_on(BEATS, [away] * 3)
    assert (once.verdict, once.stability) == (Verdict.INCONCLUSIVE, "unstable 1/3")
    assert once.observed.startswith(f"in 1 of 3 runs: Heartbeat of a (generation 1, Stable): {code} ")
    assert (always.verdict, always.stability) == (Verdict.FAILED, "3/3")


def test_any_other_answer_counts_at_once() -> None:
    judgement = judge_script_run(BEATS, forged(TRACE, 22))

    assert rule_on(BEATS, [judgement]).verdict is Verdict.FAILED
    assert not judgement.wants_repetition


def test_what_rests_on_no_answer_or_blames_nobody_stays() -> None:
    finding = Finding(verdict=Verdict.FAILED, requirement="HB-03", expected="", observed="", seq=BEAT)
    away = forged(TRACE, 14)

    assert as_transient(finding, away).proof is Proof.LIVENESS
    kept = (
        replace(finding, verdict=Verdict.OK), replace(finding, proof=Proof.TIMING), replace(finding, seq=None), replace(finding, seq=0),
        replace(finding, seq=len(away)),
    )  # fmt: skip
    assert [as_transient(item, away) for item in kept] == list(kept)
