"""Requests that come in storms: more of one kind in a second than any backoff allows. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import GROUP_REQUESTS, error_of
from groupproof.harness.judging.checkers.listening_checker import ListeningChecker
from groupproof.harness.judging.checkers.steady import ALL_ROWS, NO_ROWS, Steady
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["STORM_PER_SECOND", "RequestsDoNotStorm"]

STORM_PER_SECOND: Final = 20
"""More requests of one kind per second than any backoff allows."""

_COMMIT: Final = Api.OFFSET_COMMIT.title
_REPEATED: Final = (frozenset({Api.FIND_COORDINATOR.title, Api.OFFSET_FETCH.title}) | {api.title for api in GROUP_REQUESTS}) - {_COMMIT}


class RequestsDoNotStorm(ListeningChecker):
    """Retries are spaced: at most twenty requests of one kind per second (CLIENT-06, CLIENT-75). Reported once for each kind.

    Only refused commits count. An accepted one is progress, and an application may commit each record.
    """

    listens = frozenset({*(("request", title) for title in _REPEATED), ("response", _COMMIT)})

    def __init__(self) -> None:
        self._times_ms: dict[tuple[str, str], deque[float]] = {}
        self._storms: set[tuple[str, str]] = set()

    def look(self, obs: Observation) -> Iterable[Finding]:
        if obs.client is None or obs.api is None or not _counts(obs):
            return ()
        key, at_ms = (obs.client, obs.api), obs.at_ms
        times_ms = self._times_ms.get(key)
        if times_ms is None:
            times_ms = self._times_ms[key] = deque(maxlen=STORM_PER_SECOND)
        if times_ms and at_ms < times_ms[-1]:  # the clock was set back
            times_ms.clear()
        is_storm = len(times_ms) == STORM_PER_SECOND and at_ms - times_ms[0] < 1_000 and key not in self._storms
        times_ms.append(at_ms)
        return (self._storm(obs, key),) if is_storm else ()

    def _storm(self, obs: Observation, key: tuple[str, str]) -> Finding:
        self._storms.add(key)
        return Claim(
            requirement="CLIENT-06" if obs.api == Api.FIND_COORDINATOR.title else "CLIENT-75",
            expected=f"A client spaces its requests: at most {STORM_PER_SECOND} of a kind in a second.",
        ).tolerated(f"{obs.api} came in a storm.", obs)

    def wants(self, steady: Steady) -> Collection[int] | None:
        asked = ((api, requests.at_ms) for api, requests in steady.asked.items() if api in _REPEATED)
        return NO_ROWS if all(self._is_calm((steady.client, api), at_ms) for api, at_ms in asked) else ALL_ROWS

    def _is_calm(self, key: tuple[str, str], at_ms: Sequence[float]) -> bool:
        times_ms = [*self._times_ms.get(key, ()), *at_ms]
        if key in self._storms:
            return True
        is_apart = all(later - earlier >= 1_000 for earlier, later in zip(times_ms, times_ms[STORM_PER_SECOND:], strict=False))
        return is_apart and times_ms == sorted(times_ms)

    def absorb(self, steady: Steady) -> None:
        for api, requests in steady.asked.items():
            if api not in _REPEATED:
                continue
            times_ms = self._times_ms.setdefault((steady.client, api), deque(maxlen=STORM_PER_SECOND))
            times_ms.extend(requests.at_ms[-STORM_PER_SECOND:])

    def end(self) -> Iterator[Finding]:
        return iter(())


def _counts(obs: Observation) -> bool:
    if obs.api == _COMMIT:
        return obs.kind == "response" and bool(error_of(obs))
    return obs.kind == "request" and obs.api in _REPEATED
