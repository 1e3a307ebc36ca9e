"""Orders the cases of a run, and selects the cases whose repetitions begin at once. Pure.

An absence or lateness counts when `RUNS` of `RUNS` runs show it. The later runs wait for the first, so a failing case takes twice its length.
A known failure that would thus end last has all its runs side by side instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from groupproof.harness.judging.ruling import RUNS
from groupproof.harness.model.case import Case

__all__ = ["ScheduledCase", "scheduled_cases"]

ROUNDS = 2
"""How many rounds a failing case takes: the first run, then all repetitions at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledCase:
    """A case with its place in the order. If `is_repeated_at_once`, `RUNS` runs begin together."""

    case: Case
    is_repeated_at_once: bool = False


def scheduled_cases(cases: Sequence[Case], length: Callable[[Case], float], *, failing: Collection[str], jobs: int) -> list[ScheduledCase]:
    """Return the cases, the longest first; `failing` are the ids of known failures."""
    longest = max(map(length, cases), default=0.0)
    at_once = {case.id for case in cases if jobs >= RUNS and case.id in failing and ROUNDS * length(case) > longest}

    def duration(case: Case) -> float:
        return length(case) * (ROUNDS if case.id in failing and case.id not in at_once else 1)

    return [ScheduledCase(case=case, is_repeated_at_once=case.id in at_once) for case in sorted(cases, key=duration, reverse=True)]
