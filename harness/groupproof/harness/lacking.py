"""Which client cases can't be had, for want of what the shim declares or of what the profile's brokers can do, and what is reported of them. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from groupproof.harness.case import Case, plan_of
from groupproof.harness.judging import Ruling
from groupproof.harness.runner import CaseResult
from groupproof.harness.verdicts import Goodbye, Verdict
from groupproof.protocol.spec.releases import RELEASES

__all__ = ["lack_of", "unimplemented"]


_STATIC_SINCE: Final = (2, 3)  # KIP-345
_SIZE_LIMIT_SINCE: Final = (2, 2)  # KIP-389


def lack_of(case: Case, capabilities: Collection[str], profile: str) -> str:
    """Return why a client of these capabilities can't be put through the case before brokers of this profile; empty where it can."""
    missing = case.needs - set(capabilities)
    return f"Its shim declares no {' and no '.join(sorted(missing))}." if missing else _unheard_of(case, profile)


def _unheard_of(case: Case, profile: str) -> str:
    """Return what the case is about that the profile's brokers do not know."""
    release = RELEASES.get(profile, _STATIC_SINCE)
    if "static" in case.needs and release < _STATIC_SINCE:
        return f"{profile} has no static members (KIP-345 came with 2.3)."
    if "group.max.size" in plan_of(case).coordinator and release < _SIZE_LIMIT_SINCE:
        return f"{profile} has no group.max.size (KIP-389 came with 2.2)."
    return ""


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
