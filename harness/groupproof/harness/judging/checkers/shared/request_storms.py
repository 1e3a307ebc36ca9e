"""Requests that come in storms: more of one kind in a second than any backoff allows. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from operator import sub
from typing import Final

from groupproof.harness.judging.checkers.checker import UnderWay
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import GROUP_REQUESTS, error_of
from groupproof.harness.judging.checkers.listening_checker import ListeningChecker
from groupproof.harness.judging.checkers.steady import ALL_ROWS, BURST, NO_ROWS, Steady, SteadyRequests
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["STORM_PER_SECOND", "RequestsDoNotStorm", "are_calm"]

STORM_PER_SECOND: Final = BURST
"""More requests of one kind per second than any backoff allows."""

_COMMIT, _FETCH = Api.OFFSET_COMMIT.title, Api.OFFSET_FETCH.title
_REPEATED: Final = (frozenset({Api.FIND_COORDINATOR.title}) | {api.title for api in GROUP_REQUESTS}) - {_COMMIT}
_Kind = tuple[str, str, frozenset[TopicPartition]]
"""What may be repeated: a client, its request, and the partitions of an OffsetFetch."""
_ALL: Final[frozenset[TopicPartition]] = frozenset()


class RequestsDoNotStorm(ListeningChecker):
    """Retries are spaced: at most twenty requests of one kind per second (CLIENT-06, CLIENT-75). Reported once for each kind.

    Of commits and of lookups of offsets only refused ones count. An accepted one is progress: an application may commit each record, and a client may
    look up each partition by itself (sarama's `fetchInitialOffset`, Java's `committed`). So a refused lookup counts with those of its partitions.
    """

    listens = frozenset({*(("request", title) for title in (*_REPEATED, _FETCH)), ("response", _COMMIT), ("response", _FETCH)})

    def __init__(self) -> None:
        self._times_ms: dict[_Kind, deque[float]] = {}
        self._storms: set[_Kind] = set()
        self._lookups: UnderWay[frozenset[TopicPartition]] = UnderWay()

    def look(self, obs: Observation) -> Iterable[Finding]:
        self._lookups.closed(obs)
        if obs.client is None or obs.api is None:
            return ()
        if obs.kind == "request" and obs.api == _FETCH:
            self._lookups.ask(obs, frozenset(obs.partitions))
        partitions = (self._lookups.answered(obs) or _ALL) if obs.kind == "response" and obs.api == _FETCH else _ALL
        return self._counted(obs, (obs.client, obs.api, partitions)) if _counts(obs) else ()

    def _counted(self, obs: Observation, key: _Kind) -> Iterable[Finding]:
        at_ms = obs.at_ms
        times_ms = self._times_ms.get(key)
        if times_ms is None:
            times_ms = self._times_ms[key] = deque(maxlen=STORM_PER_SECOND)
        if times_ms and at_ms < times_ms[-1]:  # the clock was set back
            times_ms.clear()
        is_storm = len(times_ms) == STORM_PER_SECOND and at_ms - times_ms[0] < 1_000 and key not in self._storms
        times_ms.append(at_ms)
        return (self._storm(obs, key),) if is_storm else ()

    def _storm(self, obs: Observation, key: _Kind) -> Finding:
        self._storms.add(key)
        return Claim(
            requirement="CLIENT-06" if obs.api == Api.FIND_COORDINATOR.title else "CLIENT-75",
            expected=f"A client spaces its requests: at most {STORM_PER_SECOND} of a kind in a second.",
        ).tolerated(f"{obs.api} came in a storm.", obs)

    def wants(self, steady: Steady) -> Collection[int] | None:
        asked = [((steady.client, api, _ALL), requests) for api, requests in steady.asked.items() if api in _REPEATED]
        is_calm = all(key in self._storms or are_calm(self._times_ms.get(key, ()), requests) for key, requests in asked)
        return NO_ROWS if is_calm else ALL_ROWS

    def absorb(self, steady: Steady) -> None:
        for api, requests in steady.asked.items():
            if api not in _REPEATED:
                continue
            times_ms = self._times_ms.setdefault((steady.client, api, _ALL), deque(maxlen=STORM_PER_SECOND))
            times_ms.extend(requests.at_ms[-STORM_PER_SECOND:])

    def end(self) -> Iterator[Finding]:
        return iter(())


def are_calm(before_ms: Iterable[float], requests: SteadyRequests) -> bool:
    """Return whether no second has more than the limit, and no clock was set back. `before_ms` are the times of the last requests before these."""
    times_ms = [*before_ms, *requests.at_ms[:STORM_PER_SECOND]]
    is_apart = min(map(sub, times_ms[STORM_PER_SECOND:], times_ms), default=requests.burst_ms) >= 1_000 and requests.burst_ms >= 1_000
    return is_apart and times_ms == sorted(times_ms)


def _counts(obs: Observation) -> bool:
    if obs.api in (_COMMIT, _FETCH):
        return obs.kind == "response" and bool(error_of(obs))
    return obs.kind == "request" and obs.api in _REPEATED
