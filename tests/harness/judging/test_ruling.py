from __future__ import annotations

from dataclasses import replace

import pytest
from tests.harness.judging.judged import FAILED, OK, case, finding, says

from groupproof.harness.judging.case_judgement import judge_run
from groupproof.harness.judging.ruling import RUNS, Judgement, rule_on
from groupproof.harness.model.verdicts import Finding, Goodbye, Proof, Verdict, fingerprint


def judgement(*findings: Finding, reason: str = "", verdict: Verdict | None = None) -> Judgement:
    most_severe = verdict or judge_run(case(says(*findings)), [], ()).verdict
    return Judgement(verdict=most_severe, findings=findings, reason=reason, goodbye=Goodbye.CLEAN)


SILENT = finding(Verdict.FAILED, "nothing came", proof=Proof.LIVENESS)


def test_what_is_proven_on_the_wire_counts_when_seen_once() -> None:
    assert not judgement(FAILED).wants_repetition
    ruling = rule_on(case(), [judgement(FAILED)])

    assert (ruling.verdict, ruling.stability) == (Verdict.FAILED, "1/1")


def test_absence_and_lateness_want_repetition_also_where_they_are_tolerated() -> None:
    assert judgement(SILENT).wants_repetition
    assert judgement(finding(Verdict.NON_STRICT, proof=Proof.TIMING)).wants_repetition
    assert not judgement(finding(Verdict.OK, proof=Proof.LIVENESS)).wants_repetition


def test_absence_counts_when_every_run_shows_it() -> None:
    ruling = rule_on(case(), [judgement(SILENT)] * RUNS)

    assert (ruling.verdict, ruling.stability, ruling.observed) == (Verdict.FAILED, "3/3", "nothing came")


def test_absence_in_some_runs_is_unstable_and_no_verdict() -> None:
    ruling = rule_on(case(), [judgement(SILENT), judgement(OK), judgement(SILENT)])

    assert (ruling.verdict, ruling.stability) == (Verdict.INCONCLUSIVE, "unstable 2/3")
    assert ruling.observed == f"in 2 of 3 runs: nothing came (FAILED, fingerprint {fingerprint([SILENT])})"
    assert ruling.is_unstable
    assert not rule_on(case(), [judgement(reason="the kit lagged", verdict=Verdict.INCONCLUSIVE)]).is_unstable


def test_the_findings_of_an_unstable_ruling_are_all_that_some_run_shows() -> None:
    late = finding(Verdict.NON_STRICT, "it came late", proof=Proof.TIMING)
    ruling = rule_on(case(), [judgement(OK, late), judgement(late, SILENT), judgement(late)])

    assert [(item.observed, item.grounds and item.grounds.run) for item in ruling.findings] == [
        (OK.observed, None),
        ("it came late", 1),
        ("nothing came", 2),
    ]
    assert ruling.verdict is Verdict.INCONCLUSIVE


def test_runs_that_fail_each_in_another_way_are_unstable() -> None:
    others = [finding(Verdict.FAILED, f"silence of kind {number}", proof=Proof.LIVENESS) for number in range(RUNS)]

    assert rule_on(case(), [judgement(item) for item in others]).stability == "unstable 1/3"


def test_a_violation_on_the_wire_in_any_repetition_is_failed() -> None:
    ruling = rule_on(case(), [judgement(SILENT), judgement(OK), judgement(FAILED)])

    assert (ruling.verdict, ruling.observed) == (Verdict.FAILED, "it did not")


def test_what_one_run_proves_is_said_to_be_of_that_run() -> None:
    proof = finding(Verdict.FAILED, "it did not", seq=777)
    ruling = rule_on(case(), [judgement(SILENT), judgement(SILENT, proof), judgement(OK)])

    assert (ruling.stability, ruling.run) == ("1/3", 2)
    (failed,) = [item for item in ruling.findings if item.verdict is Verdict.FAILED]
    assert failed.grounds is not None
    assert (failed.seq, failed.grounds.run) == (777, 2)


def test_of_what_several_runs_show_the_first_is_shown() -> None:
    ruling = rule_on(case(), [judgement(SILENT), judgement(SILENT, FAILED), judgement(SILENT, FAILED)])

    assert (ruling.stability, ruling.run) == ("3/3", 1)
    runs = {item.observed: item.grounds.run for item in ruling.findings if item.grounds is not None}
    assert runs == {"nothing came": 1, "it did not": 2}


def test_sentences_stand_in_the_order_in_which_judges_say_them() -> None:
    late = finding(Verdict.FAILED, "it came late", proof=Proof.TIMING)

    assert rule_on(case(), [judgement(SILENT, late, FAILED)] * RUNS).observed == "nothing came it came late it did not"


def test_the_receipts_and_the_lag_of_a_ruling_are_those_of_its_runs() -> None:
    first = Judgement(verdict=Verdict.FAILED, findings=(SILENT,), receipts=1, lag_ms=5.0)
    second = Judgement(verdict=Verdict.FAILED, findings=(FAILED,), receipts=2, lag_ms=7.0)

    ruling = rule_on(case(), [first, second, first])
    assert (ruling.receipts, ruling.run) == (2, 2)


def test_why_runs_before_said_nothing_is_kept() -> None:
    ruling = rule_on(
        case(), [Judgement(verdict=Verdict.OK, findings=(OK,), blurs=("a shim process shared with other cases was killed by signal 11",))]
    )

    assert ruling.blurs == ("a shim process shared with other cases was killed by signal 11",)


def test_how_shared_processes_ended_is_kept_of_every_run_and_decides_nothing() -> None:
    runs = [replace(judgement(SILENT), shared_ends=(f"exited with status 1: run {number}",)) for number in range(RUNS)]

    ruling = rule_on(case(), runs)
    assert (ruling.verdict, ruling.stability) == (Verdict.FAILED, "3/3")
    assert ruling.shared_ends == tuple(f"exited with status 1: run {number}" for number in range(RUNS))


def test_a_shim_that_breaks_in_a_repetition_makes_the_case_broken() -> None:
    broken = judgement(verdict=Verdict.BROKEN, reason="bad line")

    ruling = rule_on(case(), [judgement(SILENT), judgement(SILENT), broken])
    assert (ruling.verdict, ruling.stability, ruling.run) == (Verdict.BROKEN, "1/3", 3)


def test_the_fingerprint_is_of_what_was_wrong_alone() -> None:
    other = finding(Verdict.FAILED, "something else")
    prints = {rule_on(case(), [judgement(*item)]).fingerprint for item in [(FAILED,), (OK, FAILED), (FAILED, finding(Verdict.NON_STRICT, "meh"))]}

    assert len(prints) == 1
    assert rule_on(case(), [judgement(other)]).fingerprint not in prints
    assert rule_on(case(), [judgement(OK)]).fingerprint == ""


def test_the_fingerprint_of_an_unstable_case_does_not_change_with_the_count() -> None:
    once = rule_on(case(), [judgement(SILENT), judgement(OK), judgement(OK)])
    twice = rule_on(case(), [judgement(SILENT), judgement(SILENT), judgement(OK)])

    assert once.fingerprint == twice.fingerprint != ""


def test_a_ruling_tells_what_decides_it_once() -> None:
    ruling = rule_on(case(), [judgement(OK, FAILED, FAILED, finding(Verdict.NON_STRICT, "meh"))])

    assert (ruling.expected, ruling.observed) == ("It does.", "it did not")


def test_a_case_that_was_never_run_has_no_ruling() -> None:
    with pytest.raises(ValueError, match="was never run"):
        rule_on(case(), [])
