"""Verdicts and findings: what a judge says of a trace, and how the findings of a case combine (contract, "Verdicts")."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from groupproof.protocol.vocabulary import Level

__all__ = ["ADVERSE", "UNDECIDED", "Finding", "Goodbye", "Grounds", "Level", "Proof", "Verdict", "Wait", "fingerprint", "worst"]


class Verdict(Enum):
    """The verdicts in order of gravity, the mildest first. The runner sets EXCUSED and BROKEN; a judge never does."""

    OK = "OK"
    INFORMATIONAL = "INFORMATIONAL"
    NON_STRICT = "NON_STRICT"
    EXCUSED = "EXCUSED"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    INCONCLUSIVE = "INCONCLUSIVE"
    FAILED = "FAILED"
    BROKEN = "BROKEN"


ADVERSE = frozenset({Verdict.FAILED, Verdict.NON_STRICT})
"""The verdicts that blame the subject."""

UNDECIDED = frozenset({Verdict.BROKEN, Verdict.UNIMPLEMENTED, Verdict.INCONCLUSIVE})
"""The verdicts that say nothing about the subject."""


class Goodbye(Enum):
    CLEAN = "CLEAN"
    UNCLEAN = "UNCLEAN"
    NONE = "NONE"


class Proof(Enum):
    """How a finding is proven, which decides whether it must be repeated. For SAFETY one frame on the wire is enough. Absence (LIVENESS) and
    lateness (TIMING) need 3 of 3 runs.
    """

    SAFETY = "safety"
    LIVENESS = "liveness"
    TIMING = "timing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """How long a judge waited for an observation that never came: `ms` from observation `since` (a `seq`) on. `due_ms` of them were needed.

    The client did not have the time that the kit's computer lost in between (`lag.py`). If less than `due_ms` remains, nothing is proven.
    """

    since: int
    ms: float
    due_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What a finding rests on beside its frames.

    `run` counts the runs of the case from 1; `seq` belongs to the trace of that run. `lag_ms` is the kit's largest lag in the time that was judged.
    `is_reported` says that the finding rests on the application's events, not on frames. `word` is the event, command or setting for which the kit
    believes the shim. `is_tried` says whether the kit tried that word in this run.
    """

    run: int = 1
    lag_ms: float = 0.0
    is_reported: bool = False
    word: str = ""
    is_tried: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One judgement: the requirement, what was expected, what was observed, and the observation (`seq`) that shows it.

    `observed` holds no times, ids or counts that differ from run to run, because the fingerprint is made of it. Those go in `detail`.

    A judge that yields LIVENESS gives its `wait`. For an observation that never came, the wait begins where it was due. For a state at the end, it
    begins at the last observation that could still have changed the state. Without `wait`, a lag shortly before `seq` leaves the finding undecided.
    `line` is the event whose absence decides: the shim should have printed it. `setting` is the field of `subscribe` that the shim says it passed
    on, where no frame shows it. `command` is the command that the shim says it performed. The judgement of the run and the ruling of the case fill
    in `grounds`.
    """

    verdict: Verdict
    requirement: str
    expected: str
    observed: str
    proof: Proof = Proof.SAFETY
    seq: int | None = None
    detail: str = ""
    wait: Wait | None = None
    line: str = ""
    setting: str = ""
    command: str = ""
    grounds: Grounds | None = None


_ORDER = list(Verdict)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the most severe verdict. Return INCONCLUSIVE if there is none: nothing judged is never a pass."""
    return max(verdicts, key=_ORDER.index, default=Verdict.INCONCLUSIVE)


def fingerprint(findings: Iterable[Finding]) -> str:
    """Return 12 hex digits over what was wrong, so that an expectation excuses only the same failure. The number of occurrences depends on time and
    does not count.
    """
    wrong = sorted({f"{finding.requirement}|{finding.observed}" for finding in findings})
    return hashlib.sha256("\n".join(wrong).encode()).hexdigest()[:12]
