"""Splits one trace of many runs into the runs that are judged whole and the fleet that is judged as it is read. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from groupproof.harness.judging.checkers.fleet import Fleet
from groupproof.harness.judging.observed.observed_group import ANSWERED
from groupproof.harness.model.case import Case
from groupproof.protocol.trace import Observation, Trace

__all__ = ["HEAD_ROWS", "TELLS_WHOLE", "CaseIds", "RunKey", "TraceReader", "is_whole", "tells_whole"]

HEAD_ROWS: Final = 1_000
"""Within so many observations a tap has recorded its upstream, and a case outside the catalogue its origin."""

TELLS_WHOLE: Final = ("upstream", "origin")

RunKey = tuple[str, str]
"""A run and its case."""


@dataclass(slots=True)
class CaseIds(Collection[str]):
    """The case ids of a catalogue. It is made at the first question, because live traces name no case. Another process makes its own."""

    make: Callable[[], Sequence[Case]]
    _made: frozenset[str] | None = None

    def _ids(self) -> frozenset[str]:
        if self._made is None:
            self._made = frozenset(case.id for case in self.make())
        return self._made

    def __contains__(self, name: object) -> bool:
        return name in self._ids()

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids())

    def __len__(self) -> int:
        return len(self._ids())


def is_whole(case: str, cases: Collection[str]) -> bool:
    """Return whether a case is judged whole: it is in the catalogue, or it is a report's record of a coordinator's answers."""
    return bool(case) and (case in cases or case.startswith(f"{ANSWERED}/"))


def tells_whole(obs: Observation) -> bool:
    return obs.who == "kit" and obs.body.get("name") in TELLS_WHOLE


class TraceReader:
    """Reads observations in the order of `seq`, run by run."""

    def __init__(self, cases: Collection[str], *, head_rows: int = HEAD_ROWS) -> None:
        self._head_rows = head_rows
        self.whole: dict[RunKey, Trace] = {}
        self.fleet = Fleet()
        self._cases = cases
        self._heads: dict[RunKey, Trace] = {}
        self._live: set[RunKey] = set()

    def take(self, observations: Iterable[Observation]) -> None:
        """Read all observations."""
        for obs in observations:
            self._add(obs)
        self._finish()

    def _add(self, obs: Observation) -> None:
        key = (obs.run, obs.case)
        if key in self._live:
            self._feed(obs)
        elif key in self.whole or is_whole(obs.case, self._cases):
            self.whole.setdefault(key, []).append(obs)
        else:
            self._look(key, obs)

    def _finish(self) -> None:
        for key in list(self._heads):
            self._is_live(key)

    def _look(self, key: RunKey, obs: Observation) -> None:
        """Keep the head of a run until it names a tap's upstream or a case's origin, or is long enough to have neither."""
        head = self._heads.setdefault(key, [])
        head.append(obs)
        if tells_whole(obs):
            self.whole[key] = self._heads.pop(key)
        elif len(head) >= self._head_rows:
            self._is_live(key)

    def _is_live(self, key: RunKey) -> None:
        self._live.add(key)
        for obs in self._heads.pop(key):
            self._feed(obs)

    def _feed(self, obs: Observation) -> None:
        self.fleet.feed(obs)
