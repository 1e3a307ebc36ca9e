from __future__ import annotations

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.case_result import Play, unfinished
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.verdicts import Goodbye, Verdict


def test_a_case_that_could_not_be_carried_through_says_nothing_of_the_subject() -> None:
    trouble = BrokenEnvironment("no port is free")
    plays = [Play(trace=[], stderr={}, duration_s=0.5, trouble=trouble)]

    result = unfinished(CASES[0], plays, trouble)

    assert (result.ruling.verdict, result.ruling.goodbye, result.ruling.findings) == (Verdict.INCONCLUSIVE, Goodbye.NONE, ())
    assert (result.trouble, result.ruling.observed, result.plays) == (trouble, "no port is free", plays)
