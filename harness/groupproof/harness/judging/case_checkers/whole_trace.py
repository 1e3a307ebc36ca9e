"""A judge that runs checkers over the evidence of a case: the same checkers as for live traces and fleets."""

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
    """Return a judge that runs fresh checkers once over a case's trace, and yields findings in their order. Responses that were never sent are left
    out."""
    for make, found in zip(makers, CheckerSet(makers).by_checker(ev.sent), strict=True):
        for finding in found:
            assert make not in SPEAKS_OF or finding.requirement in SPEAKS_OF[make], (
                f"checkers.requirements does not know that {make} makes findings for {finding.requirement}"
            )
            yield finding
