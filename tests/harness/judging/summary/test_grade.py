from __future__ import annotations

from dataclasses import replace

import pytest

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.summary.grade import CaseCount, dialects_of, exit_code, grade_of, required_of, totals_of, unjudged_of
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import BrokenEnvironment, KitFailure, RunError
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.verdicts import Goodbye, Level, Verdict


def case(id: str, *, needs: tuple[str, ...] = (), level: Level = Level.MUST, preview: bool = False, required: bool = True) -> Case:
    plan = Plan(members=(), steps=())
    return Case(
        id=id, title=id, requirements=("HB-01",), level=level, plan=plan, judges=(), needs=frozenset(needs), preview=preview, required=required
    )  # fmt: skip


def counted(of: Case, verdict: Verdict, *, goodbye: Goodbye = Goodbye.CLEAN, error: RunError | None = None) -> CaseCount:
    return CaseCount(case=of, verdict=verdict, goodbye=goodbye, trouble=error)


A, B, STATIC = case("a/classic/a"), case("b/classic/b"), case("s/classic/s", needs=("static",))
CATALOGUE = [A, B, STATIC]


def test_totals_name_every_verdict_and_leave_previews_out() -> None:
    totals = totals_of([counted(A, Verdict.OK), counted(case("p/classic/p", preview=True), Verdict.FAILED)])

    assert totals["OK"] == 1
    assert totals["FAILED"] == 0
    assert set(totals) == {verdict.value for verdict in Verdict}


def test_features_that_a_client_may_lack_are_not_on_the_required_list() -> None:
    assert required_of(CATALOGUE, "info") == [A, B]
    assert required_of([*CATALOGUE, case("i/classic/i", level=Level.INFO)], "must") == [A, B]


def test_a_grade_lacks_the_required_cases_that_came_to_no_verdict() -> None:
    verdicts = {A.id: Verdict.EXCUSED, B.id: Verdict.UNIMPLEMENTED, STATIC.id: Verdict.UNIMPLEMENTED}

    assert unjudged_of(verdicts, CATALOGUE, "info") == [B]
    assert unjudged_of({A.id: Verdict.OK, B.id: Verdict.FAILED}, CATALOGUE, "info") == []
    assert unjudged_of({}, CATALOGUE, "info") == [A, B]


def test_a_dialect_that_a_client_declares_is_required_of_it() -> None:
    plain, regex = case("c/consumer/c", needs=("consumer", "commit")), case("r/consumer/r", needs=("consumer", "regex"))

    assert required_of([*CATALOGUE, plain, regex], "info") == [A, B, plain]


def test_a_run_of_two_dialects_has_a_grade_for_each() -> None:
    plain = case("c/consumer/c", needs=("consumer",))
    run = [counted(A, Verdict.OK), counted(B, Verdict.OK), counted(plain, Verdict.FAILED)]

    found = dialects_of(run, [*CATALOGUE, plain], "info")

    assert {name: grade for name, (grade, _) in found.items()} == {"classic": "PASSED", "consumer": "FAILED"}
    assert [totals["FAILED"] for _, totals in found.values()] == [0, 1]
    assert dialects_of(run[:2], CATALOGUE, "info") == {}


def test_a_client_without_callbacks_and_without_a_second_subscription_can_be_complete() -> None:
    needed = {capability for item in required_of(CASES, "info") for capability in item.needs}

    assert needed == {"classic", "commit", "pause"}


@pytest.mark.parametrize(
    ("verdicts", "grade"),
    [
        ((Verdict.OK, Verdict.NON_STRICT), "PASSED"),
        ((Verdict.OK, Verdict.EXCUSED), "PASSED"),
        ((Verdict.OK, Verdict.FAILED), "FAILED"),
        ((Verdict.OK, Verdict.INCONCLUSIVE), "PARTIAL 1/2"),
        ((Verdict.OK, Verdict.UNIMPLEMENTED), "PARTIAL 1/2"),
        ((Verdict.UNIMPLEMENTED, Verdict.UNIMPLEMENTED), "NO_VERDICT"),
        ((Verdict.BROKEN, Verdict.BROKEN), "NO_VERDICT"),
    ],
)
def test_the_grade_counts_what_was_judged_of_what_is_required(verdicts: tuple[Verdict, Verdict], grade: str) -> None:
    run = [counted(A, verdicts[0]), counted(B, verdicts[1])]

    assert grade_of(run, CATALOGUE, "info") == grade


def test_nothing_selected_is_never_a_pass() -> None:
    assert grade_of([], CATALOGUE, "info") == "NO_VERDICT"
    assert exit_code([], "NO_VERDICT") == 2


@pytest.mark.parametrize(
    ("run", "code"),
    [
        ([counted(A, Verdict.OK)], 0),
        ([counted(A, Verdict.NON_STRICT), counted(B, Verdict.OK, goodbye=Goodbye.UNCLEAN)], 0),
        ([counted(A, Verdict.EXCUSED)], 0),
        ([counted(A, Verdict.INCONCLUSIVE)], 2),
        ([counted(A, Verdict.INCONCLUSIVE), counted(B, Verdict.BROKEN)], 4),
        ([counted(A, Verdict.FAILED), counted(B, Verdict.BROKEN)], 1),
        ([counted(A, Verdict.INCONCLUSIVE, error=BrokenEnvironment("no port"))], 4),
        ([counted(A, Verdict.FAILED), counted(B, Verdict.INCONCLUSIVE, error=KitFailure("ours"))], 5),
        ([counted(case("p/classic/p", preview=True), Verdict.FAILED)], 0),
    ],
)
def test_of_several_codes_the_contracts_precedence_takes_one(run: list[CaseCount], code: int) -> None:
    assert exit_code(run, "PASSED") == code


def test_stale_expectations_and_partial_grades_fail_the_run() -> None:
    assert exit_code([counted(A, Verdict.OK)], "PASSED", stale=["x"]) == 1
    assert exit_code([counted(A, Verdict.OK)], "PARTIAL 1/2") == 2
    assert exit_code([counted(A, Verdict.OK)], "PARTIAL 1/2", stale=["x"]) == 1


def test_tolerated_alternatives_and_clean_closes_count_only_where_asked_for() -> None:
    run = [counted(A, Verdict.NON_STRICT), counted(B, Verdict.OK, goodbye=Goodbye.UNCLEAN)]

    assert exit_code(run, "PASSED", fail_on=["non-strict"]) == 1
    assert exit_code(run[1:], "PASSED", fail_on=["non-strict"]) == 0
    assert exit_code(run[1:], "PASSED", fail_on=["unclean"]) == 1


@pytest.mark.parametrize(("fail_on", "code"), [((), 0), (("non-strict",), 0), (("unclean",), 1)])
def test_a_crash_beside_other_cases_counts_as_an_unclean_end(fail_on: tuple[str, ...], code: int) -> None:
    crashed = replace(counted(A, Verdict.OK), ended_shared=True)

    assert exit_code([crashed], "PASSED", fail_on=fail_on) == code


def test_an_interruption_stands_above_all() -> None:
    assert exit_code([counted(A, Verdict.FAILED)], "FAILED", interrupted=True) == 130
