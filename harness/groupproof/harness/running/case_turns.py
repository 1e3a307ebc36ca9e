"""In which order the cases of a run begin, and which of them have their repetitions from the start. Pure.

What is absent or late counts when it is in `RUNS` of `RUNS` runs, and the later ones wait for the first, so that a case that fails takes twice its
length. Of a case that is known to fail this much is known before. Where that would make it the last to end, its runs go beside one another instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from groupproof.harness.judging.ruling import RUNS
from groupproof.harness.model.case import Case

__all__ = ["Turn", "turns_of"]

ROUNDS = 2
"""How often a case that fails is begun: once, and then for all of its repetitions at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A case in its turn; one that `is_repeated_at_once` is begun `RUNS` times."""

    case: Case
    is_repeated_at_once: bool = False


def turns_of(cases: Sequence[Case], length: Callable[[Case], float], *, failing: Collection[str], jobs: int) -> list[Turn]:
    """Return the cases, the longest first; `failing` are the ids of those that are known to fail."""
    longest = max(map(length, cases), default=0.0)
    at_once = {case.id for case in cases if jobs >= RUNS and case.id in failing and ROUNDS * length(case) > longest}

    def duration(case: Case) -> float:
        return length(case) * (ROUNDS if case.id in failing and case.id not in at_once else 1)

    return [Turn(case=case, is_repeated_at_once=case.id in at_once) for case in sorted(cases, key=duration, reverse=True)]
