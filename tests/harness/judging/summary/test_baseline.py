from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.harness.reports.report_of import report

from groupproof.harness.judging.summary.baseline import Baseline, CaseOutcome, Delta, RunScope
from groupproof.harness.model.verdicts import Goodbye, Level, Verdict

A, B = "join/classic/a", "sync/classic/b"
ABOUT = {"subject": "odd", "profile": "kafka-4.1"}


def past(**verdicts: str) -> Baseline:
    cases = {"a": A, "b": B}
    return Baseline.of(report({cases[name]: (verdict, "f1") for name, verdict in verdicts.items()}), "old.json")


def present(id: str, verdict: str, **columns: Any) -> CaseOutcome:
    usual: dict[str, Any] = {
        "goodbye": Goodbye.CLEAN, "fingerprint": "f1", "observed": "It did.", "requirements": ("HB-03",), "level": Level.MUST, "preview": False,
    }  # fmt: skip
    return CaseOutcome(id=id, verdict=Verdict(verdict), **(usual | columns))


def delta(baseline: Baseline, *now: CaseOutcome, wanted: RunScope | None = None, **options: Any) -> Delta:
    everything = RunScope(existing=frozenset({A, B}), selected=frozenset({A, B}))
    return baseline.delta(now, wanted or everything, about=ABOUT, **options)


def words(found: Delta) -> dict[str, list[str]]:
    return {word: [f"{change.id} {change.before} → {change.now}" for change in changes] for word, changes in found.lists()}


@pytest.mark.parametrize("now", ["NON_STRICT", "INFORMATIONAL", "FAILED", "UNIMPLEMENTED", "INCONCLUSIVE", "BROKEN"])
def test_a_case_that_leaves_ok_has_moved_wherever_to(now: str) -> None:
    found = delta(past(a="OK"), present(A, now))

    assert words(found) == {"moved": [f"{A} OK → {now}"]}
    assert bool(found.breaches) == (now not in ("INCONCLUSIVE", "BROKEN"))  # those have exit codes of their own
    assert A not in found.known_cases


@pytest.mark.parametrize(
    ("before", "now", "word"),
    [
        ("NON_STRICT", "FAILED", "moved"),
        ("UNIMPLEMENTED", "FAILED", "moved"),
        ("INCONCLUSIVE", "FAILED", "moved"),
        ("FAILED", "BROKEN", "moved"),
        ("INFORMATIONAL", "NON_STRICT", None),
        ("FAILED", "INCONCLUSIVE", None),
        ("EXCUSED", "FAILED", None),
        ("OK", "EXCUSED", None),
        ("FAILED", "OK", "improved"),
        ("FAILED", "NON_STRICT", "improved"),
        ("UNIMPLEMENTED", "OK", "improved"),
        ("INCONCLUSIVE", "UNIMPLEMENTED", None),
    ],
)
def test_of_what_was_not_ok_only_new_failures_and_improvements_are_reported(before: str, now: str, word: str | None) -> None:
    found = delta(past(a=before), present(A, now))

    assert list(words(found)) == ([word] if word else [])


def test_what_was_no_better_is_known() -> None:
    found = delta(past(a="FAILED", b="INCONCLUSIVE"), present(A, "FAILED"), present(B, "INCONCLUSIVE"))

    assert found.known_cases == {A, B}
    assert (words(found), found.breaches) == ({}, ())


def test_a_failure_of_another_kind_in_an_old_case_is_new() -> None:
    found = delta(past(a="FAILED", b="FAILED"), present(A, "FAILED", fingerprint="f2", observed="It owned what another owned."), present(B, "FAILED"))

    assert words(found) == {"fails in another way": [f"{A} FAILED → FAILED"]}
    assert found.breaches == (f"{A}  FAILED → FAILED: It owned what another owned.",)
    assert found.known_cases == {B}


def test_one_that_an_expectation_excuses_now_is_reported_and_fails_nothing() -> None:
    found = delta(past(a="FAILED"), present(A, "EXCUSED", fingerprint="f2", observed="It did another thing."))

    assert list(words(found)) == ["fails in another way"]
    assert (found.breaches, set(found.known_cases)) == ((), {A})


@pytest.mark.parametrize(
    ("now", "is_known"),
    [
        ("It did something.", True),  # the other sentence is gone
        ("It did something. It did more. It did most.", False),
        ("It did something. It did another thing.", False),
        ("It did something. It did more.", False),  # the same words of another requirement
    ],
)
def test_a_case_that_fails_by_less_fails_in_the_old_way(now: str, *, is_known: bool) -> None:
    baseline = past(a="FAILED")
    before = replace(baseline.cases[A], observed="It did something. It did more.")
    found = delta(replace(baseline, cases={A: before}), present(A, "FAILED", fingerprint="f2", observed=now))

    assert (found.known_cases == {A}) is is_known


def test_a_case_that_is_gone_has_vanished_unless_it_was_not_asked_for() -> None:
    both = past(a="OK", b="FAILED")
    gone = RunScope(existing=frozenset({A}), selected=frozenset({A}))

    assert words(delta(both, present(A, "OK"), wanted=gone)) == {"vanished": [f"{B} FAILED → "]}
    assert delta(both, present(A, "OK"), wanted=gone).breaches == (f"{B}  FAILED",)
    for other in (
        RunScope(existing=frozenset({A, B}), selected=frozenset({A})),
        RunScope(existing=frozenset({A}), selected=frozenset({A}), only=("join",)),
        RunScope(existing=frozenset({A}), selected=frozenset({A}), skip=("CLIENT-73",)),
    ):
        assert delta(both, present(A, "OK"), wanted=other).vanished == ()


def test_a_case_that_was_selected_and_not_reached_has_vanished() -> None:
    assert [change.id for change in delta(past(a="OK", b="OK"), present(A, "OK")).vanished] == [B]


def test_new_cases_are_reported_as_new() -> None:
    found = delta(past(a="OK"), present(A, "OK"), present(B, "FAILED"))

    assert words(found) == {"new": [f"{B}  → FAILED"]}
    assert found.known_cases == {A}


def test_previews_are_not_compared() -> None:
    assert list(delta(past(a="OK"), present(A, "OK"), present(B, "FAILED", preview=True)).lists()) == []


def test_what_the_run_is_to_fail_on_moves_too() -> None:
    unclean = present(A, "OK", goodbye=Goodbye.UNCLEAN)

    assert words(delta(past(a="OK"), unclean)) == {}
    assert words(delta(past(a="OK"), unclean, fail_on={"unclean"})) == {"moved": [f"{A} goodbye CLEAN → goodbye UNCLEAN"]}
    assert A not in delta(past(a="OK"), unclean).known_cases
    assert words(delta(past(a="INFORMATIONAL"), present(A, "NON_STRICT"), fail_on={"non-strict"})) == {"moved": [f"{A} INFORMATIONAL → NON_STRICT"]}


def test_a_required_verdict_is_lost_only_where_the_baseline_had_it() -> None:
    assert delta(past(a="OK", b="OK"), present(A, "OK"), present(B, "INCONCLUSIVE"), required=[A, B]).lost
    assert not delta(past(a="OK", b="INCONCLUSIVE"), present(A, "OK"), present(B, "INCONCLUSIVE"), required=[A, B]).lost
    assert not delta(past(a="OK"), present(A, "OK"), required=[A, B]).lost


def test_a_baseline_of_another_subject_or_profile_is_pointed_out() -> None:
    found = past(a="OK").delta([present(A, "OK")], RunScope(), about={"subject": "even", "profile": "kafka-1.1"})

    assert found.unlike == ("subject odd, not even", "profile kafka-4.1, not kafka-1.1")
