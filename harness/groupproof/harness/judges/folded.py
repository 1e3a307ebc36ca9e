"""A judge that is a fold run over the evidence of a case: the same checker as in live traces and in fleets."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groupproof.harness.case import Judge
from groupproof.harness.evidence import Evidence
from groupproof.harness.folds.fold import Fold, findings_of
from groupproof.harness.verdicts import Finding

__all__ = ["folded"]


def folded(make: Callable[[], Fold]) -> Judge:
    """Return the judge that runs a fold, new for each case, over what was seen; answers that never left are none."""

    def judge(ev: Evidence) -> Iterator[Finding]:
        return findings_of(make(), ev.sent)

    return judge
