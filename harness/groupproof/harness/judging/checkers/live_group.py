"""Checks one live group: its members against the rules, its trace against the invariants of a group, and how each member closed. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.checkers.checker_registry import DialectRouter, checkers_named
from groupproof.harness.judging.checkers.checker_set import CheckerSet
from groupproof.harness.judging.checkers.classic.classic_checkers import CLASSIC_CHECKERS
from groupproof.harness.judging.checkers.dialect_checkers import DialectCheckers
from groupproof.harness.judging.checkers.tracking.partings import Partings
from groupproof.harness.judging.checkers.tracking.process_names import Naming
from groupproof.harness.model.requirement_levels import capped
from groupproof.harness.model.verdicts import Finding, Goodbye
from groupproof.protocol.trace import Observation

__all__ = ["EXAMPLES_MAX", "FindingCount", "GroupChecker", "GroupResult"]

EXAMPLES_MAX: Final = 3
"""So many findings of one kind are kept; all are counted."""
_UNHEARD: Final = "processed"
"""When a request was taken up says nothing of its member: that is for the invariants of the group."""
_BEFORE_KEPT: Final = 100
"""Of what came before a dialect was spoken, its checkers are given the newest so many."""


@dataclass(slots=True)
class FindingCount:
    """Findings of one kind: the first few, and how many there were."""

    examples: list[Finding] = field(default_factory=list)
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """What a whole group showed; `members` and `laws` are what is against the rules, `joined` tells whether anybody joined at all. `dialect` is the one that was
    spoken first."""

    run: str
    case: str
    group: str
    observations: int
    duplicates: int
    requests: int
    joined: bool
    is_virtual: bool
    clients: tuple[str, ...]
    goodbye: Goodbye
    goodbye_reason: str
    duration_s: float
    members: tuple[FindingCount, ...]
    laws: tuple[FindingCount, ...]
    dialect: str = CLASSIC_CHECKERS.dialect.name


class _DialectRun:
    """The checkers of one dialect at work on one group."""

    def __init__(self, part: DialectCheckers) -> None:
        self.members = CheckerSet(part.members)
        self.invariants = part.invariants()


class GroupChecker:
    """Takes the observations of one group in the order of `seq`, and those of links and nodes that touch it.

    The classic checkers work from the beginning; those of another dialect from its first request on, and they are given the newest of what came before.
    """

    def __init__(self, run: str, case: str, group: str) -> None:
        self._key = (run, case, group)
        self._naming = Naming()
        self._router = DialectRouter()
        self._runs: dict[str, _DialectRun] = {CLASSIC_CHECKERS.dialect.name: _DialectRun(CLASSIC_CHECKERS)}
        self._before: deque[Observation] = deque(maxlen=_BEFORE_KEPT)
        self._members: dict[tuple[str, str, str], FindingCount] = {}
        self._broken: dict[tuple[str, str, str], FindingCount] = {}
        self._partings = Partings()
        self._observations = self._duplicates = 0
        self._first: Observation | None = None
        self._last: Observation | None = None
        self._fed: Observation | None = None

    def feed(self, obs: Observation) -> list[Finding]:
        """Take the next observation; return what is found now. One that is there twice counts once."""
        if self._fed is not None and obs.seq == self._fed.seq and obs == self._fed:
            self._duplicates += 1
            return []
        self._fed = obs
        if obs.group is not None:
            self._first, self._last = self._first or obs, obs
            self._observations += 1
        elif self._first is None and "settings" not in obs.body:
            return []  # what befell links and nodes before there was a group
        runs = self._runs_for(obs)
        found: list[Finding] = []
        for run in runs:
            for finding in run.invariants.step(obs):
                found.append(_noted(self._broken, finding))  # most rows find nothing, and a comprehension costs a call
        if obs.kind != _UNHEARD:
            named = self._naming.named(obs)
            self._partings.follow(named)
            for run in runs:
                for finding in run.members.step(named):
                    found.append(_noted(self._members, capped(finding)))  # as above
        return found

    def _runs_for(self, obs: Observation) -> list[_DialectRun]:
        dialect = self._router.route(obs)
        if dialect is None:
            self._before.append(obs)
            return list(self._runs.values())
        if dialect not in self._runs:
            part = checkers_named(dialect)
            if part is None:
                return []
            self._runs[dialect] = _DialectRun(part)
            for earlier in self._before:
                self._catch_up(self._runs[dialect], earlier)
        return [self._runs[dialect]]

    def _catch_up(self, run: _DialectRun, earlier: Observation) -> None:
        for finding in run.invariants.step(earlier):
            _noted(self._broken, finding)
        for finding in run.members.step(earlier):
            _noted(self._members, capped(finding))

    def result(self) -> GroupResult:
        """Return what the group showed, when nothing follows. It is asked once."""
        for run in self._runs.values():
            for finding in run.members.end():
                _noted(self._members, capped(finding))
            for finding in run.invariants.end():
                _noted(self._broken, finding)
        goodbye, why = self._partings.goodbye(self._naming.label_of)
        run_name, case, group = self._key
        first, last = self._first, self._last
        return GroupResult(
            run=run_name, case=case, group=group, observations=self._observations, duplicates=self._duplicates, requests=self._partings.requests,
            joined=self._partings.has_members, is_virtual=first is not None and first.clock == "virtual",
            clients=tuple(sorted(self._naming.label_of(client) for client in self._partings.of)), goodbye=goodbye, goodbye_reason=why,
            duration_s=0.0 if first is None or last is None else (last.at_ns - first.at_ns) / 1e9,
            members=tuple(self._members.values()), laws=tuple(self._broken.values()),
            dialect=next(iter(self._router.spoken), CLASSIC_CHECKERS.dialect.name),
        )  # fmt: skip


def _noted(sightings: dict[tuple[str, str, str], FindingCount], found: Finding) -> Finding:
    count = sightings.setdefault((found.verdict.value, found.requirement, found.observed), FindingCount())
    count.count += 1
    if len(count.examples) < EXAMPLES_MAX:
        count.examples.append(found)
    return found
