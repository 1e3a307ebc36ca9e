"""The result of a case: its runs, and the ruling. Plain data, below the modules that run cases and those that report them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from groupproof.harness.judging.ruling import Ruling
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import RunError
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.protocol.trace import Trace

__all__ = ["CaseResult", "Play", "unfinished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """The result of one run. With `trouble`, something outside ended the run, and it proves nothing about the subject."""

    trace: Trace
    stderr: Mapping[str, list[str]]
    duration_s: float
    trouble: RunError | None = None


@dataclass(slots=True, kw_only=True)
class CaseResult:
    """A case that was reached: its runs, the first of which reports show, and the ruling. `trouble` is not the subject's fault."""

    case: Case
    ruling: Ruling
    plays: list[Play] = field(default_factory=list)
    duration_s: float = 0.0
    trouble: RunError | None = None


def unfinished(case: Case, plays: list[Play], error: RunError) -> CaseResult:
    """Return the result of a case that could not be finished: no verdict on the subject."""
    ruling = Ruling(
        verdict=Verdict.INCONCLUSIVE,
        goodbye=Goodbye.NONE,
        stability="0/1",
        expected="",
        observed=str(error),
        fingerprint="",
        receipts=0,
        findings=(),
    )
    return CaseResult(case=case, ruling=ruling, plays=plays, trouble=error)
