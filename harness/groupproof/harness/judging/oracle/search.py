"""Searches the choices at a history's branches with which the machine explains all answers, or else the replay that gets furthest. Pure."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from groupproof.coordinator.machine.coordinator import Settings
from groupproof.harness.judging.oracle.exchanges import History
from groupproof.harness.judging.oracle.history_replay import HistoryReplay
from groupproof.harness.judging.oracle.replay_result import ReplayResult, Turns
from groupproof.harness.judging.oracle.tolerance import Tolerance

__all__ = ["explained", "first_replay", "unsettled"]

WALKS_MAX: Final = 240
STEPS_MAX: Final = 15_000
"""The maximum number of requests in all replays of a history: a long history is replayed less often."""

_FORKS_LOOKED_BACK: Final = 14

Key = tuple[str, int, int]


def explained(
    history: History, *, profile: str, settings: Settings, tolerance: Tolerance, walks_max: int = WALKS_MAX, follows_choices: bool = False
) -> ReplayResult:
    """Return the first replay without divergence, or else the one that matched most answers with the fewest choices.

    With `follows_choices` the targets and epochs of consumer groups are the broker's own, within the protocol; without, they are Kafka's.

    The search always goes on from the replay that got furthest, with another way at one of the last branches before its divergence.
    """
    budget = max(2, min(walks_max, STEPS_MAX // max(1, len(history.exchanges))))
    order = itertools.count()
    entries: set[frozenset[tuple[Key, int]]] = {frozenset()}
    walk = partial(_walk, history, profile, settings, tolerance, follows_choices=follows_choices)
    best = replay = walk({})
    waiting = [(*_rank(replay, {}), next(order), replay, dict[Key, int]())]
    while waiting and best.divergence is not None and budget > 0:
        *_, replay, turns = heapq.heappop(waiting)
        for more in _other_turns(replay, turns):
            if (entry := frozenset(more.items())) in entries or budget <= 0:
                continue
            entries.add(entry)
            budget -= 1
            tried = walk(more)
            if tried.divergence is None:
                return tried
            heapq.heappush(waiting, (*_rank(tried, more), next(order), tried, more))
            if _matched(tried) > _matched(best):
                best = tried
    return best


def first_replay(history: History, *, profile: str, settings: Settings, tolerance: Tolerance, follows_choices: bool = False) -> ReplayResult:
    """Return the replay that takes the first way at every branch."""
    return _walk(history, profile, settings, tolerance, {}, follows_choices=follows_choices)


def unsettled(history: History) -> History:
    """Return the history without the checks that an unanswered request had been processed: they are likely, not certain.

    A broker has several threads. One of them can delay a request while others answer later requests on other connections.
    """
    return replace(history, exchanges=tuple(replace(exchange, settled_ms=None) for exchange in history.exchanges))


def _walk(history: History, profile: str, settings: Settings, tolerance: Tolerance, turns: Turns, *, follows_choices: bool) -> ReplayResult:
    replay = HistoryReplay(history, profile=profile, settings=settings, tolerance=tolerance, turns=turns, follows_choices=follows_choices)
    return replay.go()


def _rank(replay: ReplayResult, turns: Turns) -> tuple[int, int]:
    return (-_matched(replay), len(turns))


def _matched(replay: ReplayResult) -> int:
    return 0 if replay.divergence is None else replay.divergence.matched


def _other_turns(replay: ReplayResult, turns: dict[Key, int]) -> Iterator[dict[Key, int]]:
    """Yield the choices with one more, at one of the last branches, the latest first."""
    open_forks = {fork.key: fork for fork in reversed(replay.forks) if fork.key not in turns}
    for fork in itertools.islice(open_forks.values(), _FORKS_LOOKED_BACK):
        for way in range(1, fork.ways):
            yield {**turns, fork.key: way}
