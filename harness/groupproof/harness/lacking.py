"""Which client cases a subject can't be put through, for want of what its shim declares, and what is reported of them. Pure."""

from __future__ import annotations

from collections.abc import Collection

from groupproof.harness.case import Case
from groupproof.harness.judging import Ruling
from groupproof.harness.runner import CaseResult
from groupproof.harness.verdicts import Goodbye, Verdict

__all__ = ["lack_of", "unimplemented"]


def lack_of(case: Case, capabilities: Collection[str]) -> str:
    """Return why a client of these capabilities can't be put through the case; empty where it can."""
    missing = case.needs - set(capabilities)
    return f"Its shim declares no {' and no '.join(sorted(missing))}." if missing else ""


def unimplemented(case: Case, lack: str) -> CaseResult:
    ruling = Ruling(
        verdict=Verdict.UNIMPLEMENTED,
        goodbye=Goodbye.NONE,
        stability="0/0",
        expected="",
        observed=lack,
        fingerprint="",
        receipts=0,
        findings=(),
    )
    return CaseResult(case=case, ruling=ruling)
