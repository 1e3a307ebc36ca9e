from __future__ import annotations

from dataclasses import replace

import pytest
from tests.harness.reports.making import REBALANCE, a_case, a_result, known_failure, played

from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_judgement import judge_run
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.ruling import rule_on
from groupproof.harness.judging.summary.run_summary import CaseReport
from groupproof.harness.model.verdicts import Finding, Goodbye, Proof, Verdict
from groupproof.harness.reports.pages.case_view import CaseView, case_view, picture_of
from groupproof.protocol.rules.requirements import Requirement
from groupproof.protocol.trace import Observation, Trace


def finding(verdict: Verdict, observed: str, seq: int | None = None, requirement: str = "HB-03") -> Finding:
    return Finding(verdict=verdict, requirement=requirement, expected=f"not {observed}", observed=observed, seq=seq, proof=Proof.SAFETY)


def trace_of(length: int) -> Trace:
    return [Observation(seq=seq, at_ns=seq * 1_000_000, kind="request", api="JoinGroup", client="m0", member="") for seq in range(length)]


def view(result: CaseResult, excused: bool = False) -> CaseView:
    report = CaseReport(result=result, excuse=known_failure(result.case.id) if excused else None)
    return case_view(report, picture_of(result))


def test_a_case_without_a_run_shows_nothing() -> None:
    assert picture_of(a_result()) is None
    assert view(a_result()).files == (("schedule", "cases/join/classic/example/plan.json"),)


def test_the_most_severe_finding_comes_first_and_is_flagged() -> None:
    findings = [finding(Verdict.OK, "fine"), finding(Verdict.NON_STRICT, "lax", 1), finding(Verdict.FAILED, "wrong", 2)]

    picture = picture_of(a_result(Verdict.FAILED, findings=findings, traces=[trace_of(4)]))

    assert picture is not None
    assert [item.observed for item, _ in picture.findings] == ["wrong", "lax"]
    assert [(flag.at.seq, flag.words, flag.client) for flag in picture.flags] == [(2, "HB-03: wrong", "m0"), (1, "HB-03: lax", "m0")]


def test_a_finding_without_a_place_flags_nothing() -> None:
    picture = picture_of(
        a_result(Verdict.FAILED, findings=[finding(Verdict.FAILED, "silent"), finding(Verdict.FAILED, "far", 99)], traces=[trace_of(4)])
    )

    assert picture is not None
    assert picture.flags == ()


def test_of_repeated_runs_that_is_shown_which_shows_the_failure() -> None:
    """The reference member passes, its misbehaving twin fails: of the two runs the second bears the finding."""
    sound, sick = played(REBALANCE)[0], played(REBALANCE, variant="ignores-heartbeat-27")[0]
    ruling = rule_on(sick.case, [judge_run(sick.case, result.plays[0].trace, UNIVERSAL) for result in (sick, sick, sick)])
    second = [item if item.grounds is None else replace(item, grounds=replace(item.grounds, run=2)) for item in ruling.findings]
    mixed = CaseResult(case=sick.case, ruling=replace(ruling, findings=tuple(second), run=2), plays=[sound.plays[0], sick.plays[0]], duration_s=1.0)

    picture = picture_of(mixed)

    assert picture is not None
    assert picture.run == 1
    assert picture.trace is sick.plays[0].trace
    assert "trace of run 2" in dict(view(mixed).files)


def test_the_run_in_which_the_shim_broke_is_shown() -> None:
    broken = [*trace_of(2), Observation(seq=2, at_ns=5, kind="event", who="kit", client="m0", body={"name": "broken", "reason": "a bad line"})]

    picture = picture_of(a_result(Verdict.BROKEN, run=2, traces=[trace_of(3), broken]))

    assert picture is not None
    assert picture.run == 1


def test_requirements_are_reported_in_full_with_those_of_universal_judges() -> None:
    result = a_result(
        Verdict.FAILED, findings=[finding(Verdict.FAILED, "wrong", 1, "INV-02"), finding(Verdict.FAILED, "odd", 1, "XX-99")], traces=[trace_of(3)]
    )

    entries = view(result).requirements

    assert [item if isinstance(item, str) else item.id for item in entries] == ["HB-03", "INV-02", "XX-99"]
    assert isinstance(entries[0], Requirement)
    assert entries[0].text


def test_what_decided_the_verdict_stands_in_pairs() -> None:
    findings = [
        finding(Verdict.FAILED, "wrong", 1),
        finding(Verdict.FAILED, "wrong", 2),
        finding(Verdict.FAILED, "worse", 2),
        finding(Verdict.OK, "fine"),
    ]

    assert view(a_result(Verdict.FAILED, findings=findings, traces=[trace_of(3)])).pairs == (("not wrong", "wrong"), ("not worse", "worse"))
    assert view(a_result(Verdict.INCONCLUSIVE, findings=findings[3:], observed="no mark")).pairs == (("It joins.", "no mark"),)


def test_each_instant_is_excerpted_once_and_only_a_few_are() -> None:
    findings = [finding(Verdict.FAILED, f"wrong {number}", number // 2) for number in range(12)]

    adverse = view(a_result(Verdict.FAILED, findings=findings, traces=[trace_of(20)])).adverse

    assert [finding_view.excerpt is not None for finding_view in adverse] == [True, False, True, False, True] + [False] * 7


def test_a_case_without_a_verdict_shows_what_led_to_it() -> None:
    timeout = Observation(seq=3, at_ns=5, kind="event", who="kit", body={"name": "timeout", "waiting": "JoinGroup"})

    doubt = view(a_result(Verdict.INCONCLUSIVE, traces=[[*trace_of(3), timeout]])).doubt

    assert doubt is not None
    assert doubt.seq == 3


def test_the_shims_words_are_shown_where_they_may_explain_something() -> None:
    stderr = {"m0": [f"line {number}" for number in range(40)]}

    assert view(a_result(Verdict.OK, traces=[trace_of(1)], stderr=stderr)).stderr == ()
    assert view(a_result(Verdict.FAILED, traces=[trace_of(1)], stderr=stderr)).stderr[-1] == "m0: line 39"


@pytest.mark.parametrize(
    ("result", "excused", "notable"),
    [
        (a_result(Verdict.OK), False, False),
        (a_result(Verdict.UNIMPLEMENTED), False, False),
        (a_result(Verdict.OK, goodbye=Goodbye.UNCLEAN), False, True),
        (a_result(Verdict.NON_STRICT), False, True),
        (a_result(Verdict.FAILED), True, True),
    ],
)
def test_what_a_reader_should_look_at_is_notable(result: CaseResult, excused: bool, notable: bool) -> None:
    assert view(result, excused).is_notable is notable


def test_a_search_finds_a_case_by_name_requirement_and_what_was_seen() -> None:
    words = view(a_result(case=a_case(title="A Member Joins."), observed="It LEFT.")).search

    assert all(word in words for word in ("join/classic/example", "a member joins.", "hb-03", "it left."))
