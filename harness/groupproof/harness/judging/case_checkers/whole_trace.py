"""A judge that is a fold run over the evidence of a case: the same checker as in live traces and in fleets."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groupproof.harness.judging.checkers.checker import Checker, findings_of
from groupproof.harness.judging.checkers.requirements import SPEAKS_OF
from groupproof.harness.model.case import Judge
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Finding

__all__ = ["folded"]


def folded(make: Callable[[], Checker]) -> Judge:
    """Return the judge that runs a fold, new for each case, over what was seen; answers that never left are none."""

    def judge(ev: Evidence) -> Iterator[Finding]:
        for finding in findings_of(make(), ev.sent):
            assert make not in SPEAKS_OF or finding.requirement in SPEAKS_OF[make], (
                f"checkers.requirements does not know that {make} speaks of {finding.requirement}"
            )
            yield finding

    return judge
