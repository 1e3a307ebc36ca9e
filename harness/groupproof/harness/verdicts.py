"""Verdicts and findings: what a judge says of a trace, and how the findings of a case combine (contract, "Verdicts")."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from groupproof.protocol.vocabulary import Level

__all__ = ["Finding", "Goodbye", "Level", "Proof", "Verdict", "fingerprint", "worst"]


class Verdict(Enum):
    """In order of gravity, the mildest first; EXCUSED and BROKEN are given by the runner, never by a judge."""

    OK = "OK"
    INFORMATIONAL = "INFORMATIONAL"
    NON_STRICT = "NON_STRICT"
    EXCUSED = "EXCUSED"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    INCONCLUSIVE = "INCONCLUSIVE"
    FAILED = "FAILED"
    BROKEN = "BROKEN"


class Goodbye(Enum):
    CLEAN = "CLEAN"
    UNCLEAN = "UNCLEAN"
    NONE = "NONE"


class Proof(Enum):
    """How a finding is proven, which decides whether it must be repeated: what is on the wire once is enough for SAFETY, absence
    (LIVENESS) and lateness (TIMING) need 3 of 3."""

    SAFETY = "safety"
    LIVENESS = "liveness"
    TIMING = "timing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One judgement: of which requirement, what was expected, what was observed, and the observation (`seq`) that shows it.

    `observed` holds no times, ids or counts that differ from run to run: the fingerprint is made of it. Those go in `detail`.
    """

    verdict: Verdict
    requirement: str
    expected: str
    observed: str
    proof: Proof = Proof.SAFETY
    seq: int | None = None
    detail: str = ""


_ORDER = list(Verdict)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the gravest; of none, INCONCLUSIVE (nothing judged is never a pass)."""
    return max(verdicts, key=_ORDER.index, default=Verdict.INCONCLUSIVE)


def fingerprint(findings: Iterable[Finding]) -> str:
    """Return 12 hex digits over what was wrong, so that an expectation excuses only the same failure."""
    wrong = sorted(f"{each.requirement}|{each.observed}" for each in findings if each.verdict is Verdict.FAILED)
    return hashlib.sha256("\n".join(wrong).encode()).hexdigest()[:12]
