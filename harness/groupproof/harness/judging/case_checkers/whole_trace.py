"""A judge that runs checkers over the evidence of a case: the same checkers as in live traces and in fleets."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groupproof.harness.judging.checkers.checker import Checker
from groupproof.harness.judging.checkers.checker_set import CheckerSet
from groupproof.harness.judging.checkers.requirements import SPEAKS_OF
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Finding

__all__ = ["folded"]


@checker
def folded(ev: Evidence, *makers: Callable[[], Checker]) -> Iterator[Finding]:
    """Return the judge that runs checkers, new for each case, once over its trace; what the first of them finds comes first. Answers that never left are none."""
    for make, found in zip(makers, CheckerSet(makers).by_checker(ev.sent), strict=True):
        for finding in found:
            assert make not in SPEAKS_OF or finding.requirement in SPEAKS_OF[make], (
                f"checkers.requirements does not know that {make} speaks of {finding.requirement}"
            )
            yield finding
