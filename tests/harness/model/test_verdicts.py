from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.harness.model.verdicts import Finding, Verdict, fingerprint, worst


def _finding(verdict: Verdict = Verdict.FAILED, requirement: str = "HB-58", observed: str = "No JoinGroup came.", detail: str = "") -> Finding:
    return Finding(verdict=verdict, requirement=requirement, expected="A JoinGroup.", observed=observed, detail=detail)


def test_the_most_severe_verdict_wins() -> None:
    assert worst([Verdict.OK, Verdict.NON_STRICT, Verdict.INFORMATIONAL]) is Verdict.NON_STRICT
    assert worst([Verdict.FAILED, Verdict.INCONCLUSIVE]) is Verdict.FAILED


def test_nothing_judged_is_never_a_pass() -> None:
    assert worst([]) is Verdict.INCONCLUSIVE


@given(st.lists(st.sampled_from(Verdict), min_size=1))
@pytest.mark.slow
def test_the_order_in_which_verdicts_come_does_not_matter(verdicts: list[Verdict]) -> None:
    assert worst(verdicts) is worst(reversed(verdicts))
    assert worst(verdicts) in verdicts


def test_the_fingerprint_is_of_what_was_wrong_and_not_of_how_severe_it_is() -> None:
    wrong = _finding()

    assert fingerprint([wrong]) == fingerprint([_finding(Verdict.NON_STRICT)])
    assert fingerprint([wrong]) == fingerprint([_finding(detail="after 4.2 s")])
    assert len(fingerprint([wrong])) == 12


@pytest.mark.parametrize("other", [_finding(requirement="CLIENT-76"), _finding(observed="The id was dropped.")])
def test_another_failure_has_another_fingerprint(other: Finding) -> None:
    assert fingerprint([_finding()]) != fingerprint([other])


def test_the_order_of_findings_leaves_the_fingerprint() -> None:
    first, second = _finding(), _finding(observed="The id was dropped.")

    assert fingerprint([first, second]) == fingerprint([second, first])


def test_how_often_it_was_wrong_leaves_the_fingerprint() -> None:
    """A member that repeats its mistake once an interval repeats it as often as there is time for."""
    assert fingerprint([_finding(), _finding(detail="again")]) == fingerprint([_finding()])
