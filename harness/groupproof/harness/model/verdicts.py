"""Verdicts and findings: what a judge says of a trace, and how the findings of a case combine (contract, "Verdicts")."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from groupproof.protocol.vocabulary import Level

__all__ = ["ADVERSE", "UNDECIDED", "Finding", "Goodbye", "Grounds", "Level", "Proof", "Verdict", "Wait", "fingerprint", "worst"]


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


ADVERSE = frozenset({Verdict.FAILED, Verdict.NON_STRICT})
"""What blames the subject."""

UNDECIDED = frozenset({Verdict.BROKEN, Verdict.UNIMPLEMENTED, Verdict.INCONCLUSIVE})
"""What says nothing of the subject."""


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
class Wait:
    """How long a judge waited for what never came: from observation `since` (a `seq`) for `ms`, of which `due_ms` were needed.

    Time that the machine lost meanwhile is no time that the client had (`lag.py`): where less than `due_ms` is left, nothing is proven.
    """

    since: int
    ms: float
    due_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What a finding rests on beside its frames: the `run` of the case, from 1, whose trace its `seq` is of, the most that the kit lagged in the time
    looked at, whether the application's events rather than frames tell it, and the event, command or setting for which the shim is believed (`word`), with
    whether its word was tried in this run."""

    run: int = 1
    lag_ms: float = 0.0
    is_reported: bool = False
    word: str = ""
    is_tried: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One judgement: of which requirement, what was expected, what was observed, and the observation (`seq`) that shows it.

    `observed` holds no times, ids or counts that differ from run to run: the fingerprint is made of it. Those go in `detail`.

    A judge that yields LIVENESS tells its `wait`: what never came, from the observation on from which it was due, and how things stood at the
    end, from the last observation that could still have changed them. Without it a lag shortly before `seq` leaves the finding undecided.
    `line` is the event that a shim ought to have printed, where its absence decides; `setting` the field of `subscribe` that the shim says it has passed on,
    where no frame tells whether it did; `command` the one that the shim says it has performed. `grounds` are filled in where the run is judged and the case ruled on.
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
    """Return the gravest; of none, INCONCLUSIVE (nothing judged is never a pass)."""
    return max(verdicts, key=_ORDER.index, default=Verdict.INCONCLUSIVE)


def fingerprint(findings: Iterable[Finding]) -> str:
    """Return 12 hex digits over what was wrong, so that an expectation excuses only the same failure; how often it was depends on time, and doesn't count."""
    wrong = sorted({f"{finding.requirement}|{finding.observed}" for finding in findings})
    return hashlib.sha256("\n".join(wrong).encode()).hexdigest()[:12]
