"""Checks one live group: its members against the rules, its trace against the invariants of a group, and how each member closed. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from groupproof.harness.judging.checkers.checker_registry import DialectRouter, checkers_named
from groupproof.harness.judging.checkers.checker_set import CheckerSet
from groupproof.harness.judging.checkers.classic.classic_checkers import CLASSIC_CHECKERS
from groupproof.harness.judging.checkers.dialect_checkers import DialectCheckers
from groupproof.harness.judging.checkers.steady import NO_ROWS, Steady, Stretch
from groupproof.harness.judging.checkers.tracking.departures import Departures
from groupproof.harness.judging.checkers.tracking.earlier_members import EarlierMembers
from groupproof.harness.judging.checkers.tracking.process_names import Naming
from groupproof.harness.judging.own_correlations import OwnCorrelations
from groupproof.harness.model.requirement_levels import capped
from groupproof.harness.model.verdicts import Finding, Goodbye
from groupproof.protocol.trace import Observation

__all__ = ["EXAMPLES_MAX", "FindingCount", "GroupChecker", "GroupResult"]

EXAMPLES_MAX: Final = 3
"""The number of findings of one kind that are kept. All are counted."""
_PROCESSED: Final = "processed"
"""The observation that a request was processed says nothing about its member. Only the invariants of the group need it."""
_BEFORE_KEPT: Final = 100
"""The number of observations before a dialect's first request that its checkers get, the newest."""


@dataclass(slots=True)
class FindingCount:
    """Findings of one kind: the first few, and the count."""

    examples: list[Finding] = field(default_factory=list)
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """The result of a whole group. `members` and `invariants` are the findings against members and invariants. `joined` says whether any member joined,
    `names_members` whether a request named a member at all. `dialect` is the one that was spoken first.
    """

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
    invariants: tuple[FindingCount, ...]
    dialect: str = CLASSIC_CHECKERS.dialect.name
    names_members: bool = True


class _DialectRun:
    """The checkers of one dialect for one group."""

    def __init__(self, part: DialectCheckers) -> None:
        self.members = CheckerSet(part.members)
        self.invariants = part.invariants()


class _Passing:
    """Advances the time for the checkers of a stretch, by its rows."""

    def __init__(self, run: _DialectRun, stretch: Stretch) -> None:
        self._run, self._stretch, self._from = run, stretch, 0

    def until(self, place: int) -> list[Finding]:
        """Return the findings that are due by the rows before this position."""
        begin, self._from = self._from, bisect_left(self._stretch.places, place, self._from)
        return self._run.members.pass_time(self._stretch.at_ms[begin : self._from])

    def rest(self) -> list[Finding]:
        return self._run.members.pass_time(self._stretch.at_ms[self._from :])


class GroupChecker:
    """Takes the observations of one group in the order of `seq`, and those of connections and nodes that touch it.

    The classic checkers work from the beginning. Those of another dialect start at its first request, and get the newest observations before it. A
    member that joined before the trace begins is judged when it joins again.
    """

    def __init__(self, run: str, case: str, group: str) -> None:
        self._key = (run, case, group)
        self._naming = Naming()
        self._earlier = EarlierMembers()
        self._correlations = OwnCorrelations()
        self._router = DialectRouter()
        self._runs: dict[str, _DialectRun] = {CLASSIC_CHECKERS.dialect.name: _DialectRun(CLASSIC_CHECKERS)}
        self._before: deque[Observation] = deque(maxlen=_BEFORE_KEPT)
        self._members: dict[tuple[str, str, str], FindingCount] = {}
        self._broken: dict[tuple[str, str, str], FindingCount] = {}
        self._departures = Departures()
        self._observations = self._duplicates = 0
        self._first: Observation | None = None
        self._last: Observation | None = None
        self._fed: Observation | None = None

    def feed(self, obs: Observation) -> list[Finding]:
        """Process the next observation. Return the new findings. A duplicate counts once."""
        if self._fed is not None and obs.seq == self._fed.seq and obs == self._fed:
            self._duplicates += 1
            return []
        self._fed = obs
        if obs.group is not None:
            self._first, self._last = self._first or obs, obs
            self._observations += 1
        elif self._first is None and "settings" not in obs.body:
            return []  # an event of connections and nodes before there was a group
        obs = self._correlations.renumbered(obs)
        runs = self._runs_for(obs)
        found: list[Finding] = []
        for run in runs:
            for finding in run.invariants.step(obs):
                found.append(_noted(self._broken, finding))  # most rows find nothing, and a comprehension costs a call
        if obs.kind != _PROCESSED:
            named = self._naming.named(obs)
            self._departures.follow(named)
            if not self._earlier.is_judged(named):
                return found
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

    def pass_over(self, stretch: Stretch) -> bool:
        """Process a stretch as if it came row by row. Return False, and process nothing, where the shared state needs its rows."""
        run = self._steady_run(stretch)
        wanted = [] if run is None else [(steady, run.members.wants(steady)) for steady in stretch.members]
        if run is None or any(of_member is None for _, of_member in wanted):
            return False
        rows: dict[int, list[int]] = {}
        for _, of_member in wanted:
            for checker, places in (of_member or {}).items():
                for place in places:
                    rows.setdefault(place, []).append(checker)
        passing = _Passing(run, stretch)
        events: list[tuple[int, Callable[[], Iterable[Finding]]]] = [(place, partial(self._fed_within, obs)) for place, obs in stretch.fed]
        in_order = sorted(rows)
        for place, obs in zip(in_order, stretch.read(in_order), strict=True):
            events.append((place, partial(run.members.step_some, self._naming.named(obs), rows[place])))
        for steady, of_member in wanted:
            if steady.asked:
                events.append((steady.last_place, partial(self._absorb, run, steady, of_member or {})))
        for place, take in sorted(events, key=lambda event: event[0]):
            self._note(passing.until(place))
            self._note(take())
        self._note(passing.rest())
        for steady, of_member in wanted:
            run.members.conclude(steady, of_member or {})
        self._observations += stretch.rows
        return True

    def _steady_run(self, stretch: Stretch) -> _DialectRun | None:
        """Return the checkers that the stretch is for, and name its members by their processes. Return None where a row would change their shared
        state.
        """
        dialects = {self._router.steady_dialect(steady) for steady in stretch.members}
        run = self._runs.get(next(iter(dialects)) or "") if len(dialects) == 1 else None
        for steady in stretch.members:
            steady.client = self._naming.steady_name(steady) or ""
        are_apart = len({steady.client for steady in stretch.members}) == len(stretch.members)
        if run is None or self._first is None or not are_apart or not run.members.is_before(stretch.at_ms[0]):
            return None
        return run if all(self._is_steady(run, steady) for steady in stretch.members) else None

    def _is_steady(self, run: _DialectRun, steady: Steady) -> bool:
        is_named = (
            bool(steady.client)
            and not self._correlations.repeats(steady.connection)
            and self._departures.is_steady(steady)
            and self._earlier.is_settled(steady)
        )
        return is_named and run.invariants.wants(steady) == NO_ROWS

    def _absorb(self, run: _DialectRun, steady: Steady, wanted: Collection[int]) -> Iterable[Finding]:
        run.invariants.absorb(steady)
        self._departures.absorb(steady)
        run.members.absorb(steady, wanted)
        return ()

    def _fed_within(self, obs: Observation) -> Iterable[Finding]:
        self.feed(obs)
        return ()

    def _note(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            _noted(self._members, capped(finding))

    def last_was(self, obs: Observation, *, is_newest: bool) -> None:
        """Record the newest observation that names the group, where it was passed over. Later events of connections and nodes are possible."""
        self._last = obs
        if is_newest:
            self._fed = obs
            for run in self._runs_for(obs):
                run.members.last_was(self._naming.named(obs))

    def _catch_up(self, run: _DialectRun, earlier: Observation) -> None:
        for finding in run.invariants.step(earlier):
            _noted(self._broken, finding)
        for finding in run.members.step(earlier):
            _noted(self._members, capped(finding))

    @property
    def first_seq(self) -> int:
        """Return the number of the first observation that names the group, or -1."""
        return -1 if self._first is None else self._first.seq

    def result(self) -> GroupResult:
        """Return the result of the group when nothing follows. Called once."""
        for run in self._runs.values():
            for finding in run.members.end():
                _noted(self._members, capped(finding))
            for finding in run.invariants.end():
                _noted(self._broken, finding)
        goodbye, why = self._departures.clean_close(self._naming.label_of)
        run_name, case, group = self._key
        first, last = self._first, self._last
        return GroupResult(
            run=run_name, case=case, group=group, observations=self._observations, duplicates=self._duplicates, requests=self._departures.requests,
            joined=self._departures.has_members, is_virtual=first is not None and first.clock == "virtual",
            clients=tuple(sorted(self._naming.label_of(client) for client in self._departures.of)), goodbye=goodbye, goodbye_reason=why,
            duration_s=0.0 if first is None or last is None else (last.at_ns - first.at_ns) / 1e9,
            members=tuple(self._members.values()), invariants=tuple(self._broken.values()),
            dialect=next(iter(self._router.spoken), CLASSIC_CHECKERS.dialect.name), names_members=self._departures.names_members,
        )  # fmt: skip


def _noted(counts: dict[tuple[str, str, str], FindingCount], found: Finding) -> Finding:
    """Count a finding. A row that goes to two dialects, such as a FindCoordinator before any membership, may be found twice and counts once."""
    count = counts.setdefault((found.verdict.value, found.requirement, found.observed), FindingCount())
    if found.seq is not None and found in count.examples:
        return found
    count.count += 1
    if len(count.examples) < EXAMPLES_MAX:
        count.examples.append(found)
    return found
