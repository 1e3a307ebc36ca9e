from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.harness.judges.story import Story

from groupproof.harness.case import Case, Judge
from groupproof.harness.evidence import Evidence, NotOffered, NotReached
from groupproof.harness.judging import LAG_MS_MAX, RUNS, Judgement, judge_run, rule_on
from groupproof.harness.plan import Plan
from groupproof.harness.verdicts import Finding, Goodbye, Level, Proof, Verdict
from groupproof.protocol.vocabulary import Api


def finding(verdict: Verdict, observed: str = "it did", *, proof: Proof = Proof.SAFETY, seq: int | None = None) -> Finding:
    return Finding(verdict=verdict, requirement="HB-03", expected="It does.", observed=observed, proof=proof, seq=seq)


def says(*findings: Finding) -> Judge:
    return lambda evidence: iter(findings)


def never(evidence: Evidence) -> Iterator[Finding]:
    raise NotReached("the fault never came")


def lacks(evidence: Evidence) -> Iterator[Finding]:
    raise NotOffered("the shim of m0 does not set request_timeout_ms")


def case(*judges: Judge) -> Case:
    plan = Plan(members=(), steps=())
    return Case(id="a/classic/a", title="a", requirements=("HB-03",), level=Level.MUST, plan=plan, judges=judges or (says(finding(Verdict.OK)),))


def judged(story: Story, *judges: Judge, universal: tuple[Judge, ...] = ()) -> Judgement:
    return judge_run(case(*judges), story.trace, universal)


FAILED, OK = finding(Verdict.FAILED, "it did not"), finding(Verdict.OK)


def test_what_the_subject_does_not_let_be_set_is_unimplemented_unless_something_worse_is_proven() -> None:
    assert judged(Story(), lacks, says(OK)).verdict is Verdict.UNIMPLEMENTED
    assert "request_timeout_ms" in judged(Story(), lacks).reason
    assert judged(Story(), lacks, universal=(says(FAILED),)).verdict is Verdict.FAILED


def test_the_gravest_finding_of_the_case_and_of_the_universal_judges_decides() -> None:
    assert judged(Story(), says(OK)).verdict is Verdict.OK
    assert judged(Story(), says(OK, finding(Verdict.NON_STRICT))).verdict is Verdict.NON_STRICT
    assert judged(Story(), says(OK), universal=(says(FAILED),)).verdict is Verdict.FAILED


def test_where_the_cases_own_judges_say_nothing_there_is_no_verdict() -> None:
    empty = judged(Story(), says(), universal=(says(OK),))

    assert empty.verdict is Verdict.INCONCLUSIVE
    assert empty.reason == "no judge of the case found anything to judge"


def test_what_was_never_reached_is_inconclusive_unless_something_else_failed() -> None:
    assert judged(Story(), says(OK), never).verdict is Verdict.INCONCLUSIVE
    assert judged(Story(), never).reason == "the fault never came"
    assert judged(Story(), says(FAILED), never).verdict is Verdict.FAILED


def test_a_fault_that_struck_and_left_no_receipt_is_inconclusive() -> None:
    story = Story().fault("error", "armed", "triggered")
    absent = finding(Verdict.FAILED, "nothing came", proof=Proof.LIVENESS)

    assert judged(story, says(OK)).verdict is Verdict.INCONCLUSIVE
    assert "fault error was triggered and left no receipt" in judged(story, says(OK)).reason
    assert judged(story, says(absent)).verdict is Verdict.INCONCLUSIVE
    assert judged(story, says(FAILED)).verdict is Verdict.FAILED


@pytest.mark.parametrize(("by", "verdict"), [("client", Verdict.OK), ("broker", Verdict.INCONCLUSIVE)])
def test_a_client_that_hangs_up_before_its_answer_leaves_the_verdict_to_the_judges(by: str, verdict: Verdict) -> None:
    story = Story().fault("error", "armed", "triggered")
    story.see("fault", fault="error", detail="failed", connection=1, body={"stage": "failed"})
    story.see("event", who="link", connection=1, body={"name": "closed", "by": by})

    assert judged(story, says(OK)).verdict is verdict


def test_a_fault_that_was_never_met_asks_for_no_receipt() -> None:
    assert judged(Story().fault("error", "armed"), says(OK)).verdict is Verdict.OK


def test_receipts_are_counted() -> None:
    assert judged(Story().fault("a").fault("b").fault("c", "armed"), says(OK)).receipts == 2


@pytest.mark.parametrize(
    ("lag_ms", "source_at", "verdict"),
    [(LAG_MS_MAX, 600, Verdict.INCONCLUSIVE), (LAG_MS_MAX - 1, 600, Verdict.FAILED), (LAG_MS_MAX, 9_000, Verdict.FAILED)],
)
def test_lateness_while_the_kit_itself_was_late_is_inconclusive(lag_ms: float, source_at: int, verdict: Verdict) -> None:
    story = Story().at(500)
    beat = story.beat()
    story.at(source_at).kit("lag", lag_ms=lag_ms, source="loop")

    late = judged(story, says(finding(Verdict.FAILED, proof=Proof.TIMING, seq=beat.seq)))
    assert late.verdict is verdict
    assert late.is_blurred == (verdict is Verdict.INCONCLUSIVE)
    assert judged(story, says(finding(Verdict.FAILED, seq=beat.seq))).verdict is Verdict.FAILED


@pytest.mark.parametrize(("lag_ms", "is_blurred"), [(LAG_MS_MAX, True), (LAG_MS_MAX - 1, False)])
def test_what_was_never_reached_while_the_kit_itself_was_late_wants_to_be_had_again(lag_ms: float, is_blurred: bool) -> None:
    story = Story()
    story.kit("lag", lag_ms=lag_ms, source="child")

    unreached = judged(story, never)
    assert (unreached.verdict, unreached.is_blurred) == (Verdict.INCONCLUSIVE, is_blurred)
    assert not judged(story, says(OK)).is_blurred


def test_a_lag_long_before_a_late_observation_has_not_caused_it() -> None:
    story = Story()
    story.kit("lag", lag_ms=500.0, source="child")
    late = story.at(30_000).beat()

    assert judged(story, says(finding(Verdict.FAILED, proof=Proof.TIMING, seq=late.seq))).verdict is Verdict.FAILED
    assert judged(story, says(finding(Verdict.FAILED, proof=Proof.TIMING))).verdict is Verdict.INCONCLUSIVE


def test_a_broken_contract_is_never_the_clients_failure() -> None:
    story = Story()
    story.kit("broken", "m0", reason="a line that is no JSON", stderr=[])

    assert judged(story, says(FAILED)).verdict is Verdict.BROKEN
    assert judged(story, says(FAILED)).reason == "a line that is no JSON"


def test_a_claim_that_the_wire_refutes_is_broken() -> None:
    story = Story()
    story.kit("command", "m0", command="subscribe", fields={"group": "other"})
    story.beat()

    assert judged(story, says(OK)).verdict is Verdict.BROKEN


def test_a_program_that_gave_up_in_order_did_not_crash() -> None:
    story = Story()
    story.find()
    story.kit("exit", "m0", commanded=False, gave_up=True, shared=False, how="exited with status 0", stderr=[])

    assert judged(story, says(OK)).verdict is Verdict.OK


def test_an_uncommanded_end_after_the_client_spoke_is_a_crash_and_failed() -> None:
    story = Story()
    story.find()
    story.kit("exit", "m0", commanded=False, shared=False, how="exited with status 1", stderr=["panic: nil"])

    crashed = judged(story, says(OK))

    assert crashed.verdict is Verdict.FAILED
    assert crashed.findings[0].observed == "It crashed."
    assert "panic: nil" in crashed.findings[0].detail
    assert not crashed.wants_repetition


def test_one_before_the_client_spoke_is_broken() -> None:
    story = Story()
    story.said(Api.METADATA)
    story.kit("exit", "m0", commanded=False, shared=False, how="exited with status 1", stderr=[])

    assert judged(story, says(OK)).verdict is Verdict.BROKEN
    assert "before its client spoke" in judged(story, says(OK)).reason


def test_the_end_of_a_process_that_others_shared_says_nothing_of_this_case() -> None:
    story = Story()
    story.find()
    story.kit("exit", "m0", commanded=False, shared=True, how="killed by signal 11", stderr=[])

    assert judged(story, says(OK)).is_blurred
    assert judged(story, says(OK)).verdict is Verdict.INCONCLUSIVE


def test_an_end_that_was_asked_for_is_none_of_that() -> None:
    story = Story()
    story.kit("exit", "m0", commanded=True, shared=False, how="exited with status 0", stderr=[])

    assert judged(story, says(OK)).verdict is Verdict.OK


@pytest.mark.parametrize(
    ("capabilities", "unimplemented", "verdict"),
    [([], True, Verdict.UNIMPLEMENTED), (["pause"], True, Verdict.BROKEN), ([], False, Verdict.BROKEN)],
)
def test_a_refused_command_is_unimplemented_unless_the_shim_claimed_it(capabilities: list[str], *, unimplemented: bool, verdict: Verdict) -> None:
    story = Story()
    story.kit("hello", "m0", capabilities=capabilities)
    story.kit("refused", "m0", command="pause", unimplemented=unimplemented, reason="cannot")

    assert judged(story, says(OK)).verdict is verdict


def judgement(*findings: Finding, reason: str = "", verdict: Verdict | None = None) -> Judgement:
    gravest = verdict or judge_run(case(says(*findings)), [], ()).verdict
    return Judgement(verdict=gravest, findings=findings, reason=reason, goodbye=Goodbye.CLEAN)


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
    assert ruling.observed == "in 2 of 3 runs: nothing came"


def test_runs_that_fail_each_in_another_way_are_unstable() -> None:
    others = [finding(Verdict.FAILED, f"silence of kind {number}", proof=Proof.LIVENESS) for number in range(RUNS)]

    assert rule_on(case(), [judgement(each) for each in others]).stability == "unstable 1/3"


def test_a_violation_on_the_wire_in_any_repetition_is_failed() -> None:
    ruling = rule_on(case(), [judgement(SILENT), judgement(OK), judgement(FAILED)])

    assert (ruling.verdict, ruling.observed) == (Verdict.FAILED, "it did not")


def test_a_shim_that_breaks_in_a_repetition_makes_the_case_broken() -> None:
    broken = judgement(verdict=Verdict.BROKEN, reason="bad line")

    assert rule_on(case(), [judgement(SILENT), judgement(SILENT), broken]).verdict is Verdict.BROKEN


def test_the_fingerprint_is_of_what_was_wrong_alone() -> None:
    other = finding(Verdict.FAILED, "something else")
    prints = {rule_on(case(), [judgement(*each)]).fingerprint for each in [(FAILED,), (OK, FAILED), (FAILED, finding(Verdict.NON_STRICT, "meh"))]}

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
