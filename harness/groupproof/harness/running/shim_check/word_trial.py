"""Tests the shim's reports within a run: before a verdict rests on one, the shim runs the part of `shim check` that tests it.

A part runs once for the whole run, and a second time where it fails: a failure that repeats is not caused by the host.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import trio

from groupproof.harness.running.shim_check.shim_exercises import commands, preferences, refusals, settings

if TYPE_CHECKING:
    from groupproof.harness.running.shim_check.shim_check import Exercise, ShimCheck

__all__ = ["EXERCISE_OF", "TrialResult", "WordTrial"]

EXERCISE_OF: Final[Mapping[str, Exercise]] = {
    "partitions_assigned": commands,
    "partitions_revoked": commands,
    "records_consumed": commands,
    "resume": commands,
    "offsets_committed": refusals,
    "commit": refusals,
    "unsubscribe": refusals,
    "auto_commit": settings,
    "assignors": preferences,
}
"""The part of the check that tests a report of the shim, by event, command or setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """The result: the events, commands and settings that were `tried`, and the problem that `refuted` each of them."""

    tried: frozenset[str] = frozenset()
    refuted: Mapping[str, str]


class WordTrial:
    """Tests the reports of one shim; `check` makes the `ShimCheck`."""

    def __init__(self, check: Callable[[], ShimCheck]) -> None:
        self._check = check
        self._lock = trio.Lock()
        self._done: dict[Exercise, TrialResult] = {}

    async def of(self, words: Collection[str]) -> TrialResult:
        """Return the results for these events, commands and settings, as far as a part tests them."""
        words_with_exercise = sorted(word for word in words if word in EXERCISE_OF)
        async with self._lock:
            for word in words_with_exercise:
                if EXERCISE_OF[word] not in self._done:
                    self._done[EXERCISE_OF[word]] = await self._try(EXERCISE_OF[word])
        results = {word: self._done[EXERCISE_OF[word]] for word in words_with_exercise}
        return TrialResult(
            tried=frozenset(word for word, found in results.items() if word in found.tried),
            refuted={word: found.refuted[word] for word, found in results.items() if word in found.refuted},
        )

    async def _try(self, exercise: Exercise) -> TrialResult:
        first = await self._check().put_through([exercise])
        if not first.refuted:
            return TrialResult(tried=frozenset(first.tried), refuted={})
        again = await self._check().put_through([exercise])
        refuted = {word: problem for word, problem in first.refuted.items() if word in again.refuted}
        return TrialResult(tried=frozenset(first.tried | again.tried), refuted=refuted)
