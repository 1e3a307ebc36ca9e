"""The shim's word tried within a run: before a verdict rests on it, the shim goes through the part of `shim check` that puts just this to the test.

A part is gone through once for the whole run, and a second time where it fails: what fails twice is not the machine's doing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import trio

from groupproof.harness.running.shim_check.shim_exercises import commands, preferences, refusals, settings

if TYPE_CHECKING:
    from groupproof.harness.running.shim_check.shim_check import Pace, ShimCheck

__all__ = ["PACE_OF", "TriedWord", "WordTrial"]

PACE_OF: Final[Mapping[str, Pace]] = {
    "partitions_assigned": commands,
    "partitions_revoked": commands,
    "resume": commands,
    "offsets_committed": refusals,
    "commit": refusals,
    "unsubscribe": refusals,
    "auto_commit": settings,
    "assignors": preferences,
}
"""The part of the check that tries the shim's word, by event, command or setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedWord:
    """What came of it: the events, commands and settings that were `tried`, and by these the problems that refuted the shim's word."""

    tried: frozenset[str] = frozenset()
    refuted: Mapping[str, str]


class WordTrial:
    """Tries the word of one shim; `check` makes a check of it."""

    def __init__(self, check: Callable[[], ShimCheck]) -> None:
        self._check = check
        self._lock = trio.Lock()
        self._done: dict[Pace, TriedWord] = {}

    async def of(self, words: Collection[str]) -> TriedWord:
        """Return what the shim's word for these is worth, as far as there is a part that tries it."""
        mine = sorted(word for word in words if word in PACE_OF)
        async with self._lock:
            for word in mine:
                if PACE_OF[word] not in self._done:
                    self._done[PACE_OF[word]] = await self._tried(PACE_OF[word])
        by_word = {word: self._done[PACE_OF[word]] for word in mine}
        return TriedWord(
            tried=frozenset(word for word, found in by_word.items() if word in found.tried),
            refuted={word: found.refuted[word] for word, found in by_word.items() if word in found.refuted},
        )

    async def _tried(self, pace: Pace) -> TriedWord:
        first = await self._check().put_through([pace])
        if not first.refuted:
            return TriedWord(tried=frozenset(first.tried), refuted={})
        again = await self._check().put_through([pace])
        refuted = {word: problem for word, problem in first.refuted.items() if word in again.refuted}
        return TriedWord(tried=frozenset(first.tried | again.tried), refuted=refuted)
