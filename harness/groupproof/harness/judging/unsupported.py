"""Client cases that cannot run, because the shim or the profile's brokers lack a capability; and how they are reported. Pure."""

from __future__ import annotations

from collections.abc import Collection

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.ruling import Ruling
from groupproof.harness.model.case import Case
from groupproof.harness.model.prerequisites import unheard_of
from groupproof.harness.model.verdicts import Goodbye, Verdict

__all__ = ["lack_of", "unimplemented"]


def lack_of(case: Case, capabilities: Collection[str], profile: str) -> str:
    """Return why a client with these capabilities cannot run the case against brokers of this profile; "" where it can."""
    missing = case.needs - set(capabilities)
    return f"Its shim declares no {' and no '.join(sorted(missing))}." if missing else unheard_of(case, profile)


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
