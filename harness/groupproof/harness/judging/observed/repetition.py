"""How a finding of one live trace counts (contract, Repetition and Amendment 1). Pure.

A live trace is one run, and nobody repeats it. What its frames prove counts at once. Lateness, silence and what rests on the arrival of an
application's events count only if they occur as often as a case is repeated. In virtual time nothing is late, so there they count at once too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from groupproof.harness.judging.ruling import RUNS
from groupproof.harness.model.verdicts import ADVERSE, Finding, Proof, Verdict

__all__ = ["all_weighed", "weighed"]


def weighed(finding: Finding, count: int, *, is_virtual: bool = False) -> Finding:
    """Return the finding as it counts if it occurred so often."""
    if finding.verdict not in ADVERSE or finding.proof is Proof.SAFETY or is_virtual or count >= RUNS:
        return finding
    times = "once" if count == 1 else f"{count} times"
    return replace(finding, verdict=Verdict.INFORMATIONAL, observed=f"{finding.observed} Seen {times}.")


def all_weighed(findings: Sequence[Finding], *, is_virtual: bool) -> tuple[Finding, ...]:
    """Return the findings of one trace as they count: those of one requirement and one sentence are counted together."""
    counts = Counter((finding.verdict, finding.requirement, finding.observed) for finding in findings)
    return tuple(weighed(finding, counts[finding.verdict, finding.requirement, finding.observed], is_virtual=is_virtual) for finding in findings)
