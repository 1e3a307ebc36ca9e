"""Checks one live group: its members against the rules, its trace against the invariants of a group, and how each member closed. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.checkers.checker import Checker
from groupproof.harness.judging.checkers.invariants import GroupInvariants
from groupproof.harness.judging.checkers.process_names import Naming
from groupproof.harness.judging.checkers.universal import UNIVERSAL_FOLDS
from groupproof.harness.model.requirement_levels import capped
from groupproof.harness.model.verdicts import Finding, Goodbye
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["EXAMPLES_MAX", "MEMBERSHIP", "FindingCount", "GroupChecker", "GroupResult", "Partings"]

MEMBERSHIP: Final = frozenset(api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT, Api.LEAVE_GROUP))
EXAMPLES_MAX: Final = 3
"""So many findings of one kind are kept; all are counted."""
_UNHEARD: Final = "processed"
"""When a request was taken up says nothing of its member: that is for the laws of the group."""


@dataclass(slots=True)
class FindingCount:
    """Findings of one kind: the first few, and how many there were."""

    examples: list[Finding] = field(default_factory=list)
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """What a whole group showed; `members` and `laws` are what is against the rules, `joined` tells whether anybody joined at all."""

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


@dataclass(slots=True)
class _LastFrame:
    """The last word of one client in the group."""

    connection: int | None
    has_left: bool
    is_static: bool
    joined: bool
    is_gone: bool = False


@dataclass(slots=True)
class Partings:
    """Who spoke in a group, and how each parted from it; `requests` counts what they asked."""

    requests: int = 0
    of: dict[str, _LastFrame] = field(default_factory=dict)

    def follow(self, obs: Observation) -> None:
        if obs.kind == "request" and obs.api in MEMBERSHIP:
            self.requests += 1
            if obs.client is not None:
                before = self.of.get(obs.client)
                self.of[obs.client] = _LastFrame(
                    connection=obs.connection,
                    has_left=obs.api == Api.LEAVE_GROUP.title,
                    is_static=bool(obs.instance) or (before is not None and before.is_static),
                    joined=obs.api == Api.JOIN_GROUP.title or (before is not None and before.joined),
                )
        elif obs.who == "link" and obs.body.get("name") == "closed":
            for parting in self.of.values():
                parting.is_gone |= parting.connection == obs.connection

    @property
    def has_members(self) -> bool:
        return any(parting.joined for parting in self.of.values())

    def goodbye(self, shown: Callable[[str], str] = str) -> tuple[Goodbye, str]:
        """Return UNCLEAN where a dynamic member's last connection closed without LeaveGroup; who is still connected has yet to say it."""
        joined = {client: parting for client, parting in self.of.items() if parting.joined}
        for client, value in joined.items():
            if value.is_gone and not value.has_left and not value.is_static:
                return Goodbye.UNCLEAN, f"{shown(client)} went without a LeaveGroup"
        return (Goodbye.CLEAN if any(parting.has_left for parting in joined.values()) else Goodbye.NONE), ""


class GroupChecker:
    """Takes the observations of one group in the order of `seq`, and those of links and nodes that touch it."""

    def __init__(self, run: str, case: str, group: str) -> None:
        self._key = (run, case, group)
        self._naming = Naming()
        self._folds: list[Checker] = [make() for make in UNIVERSAL_FOLDS]
        self._laws = GroupInvariants()
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
        found = [_noted(self._broken, finding) for finding in self._laws.step(obs)]
        if obs.kind != _UNHEARD:
            named = self._naming.named(obs)
            self._partings.follow(named)
            found += [_noted(self._members, capped(finding)) for checker in self._folds for finding in checker.step(named)]
        return found

    def result(self) -> GroupResult:
        """Return what the group showed, when nothing follows. It is asked once."""
        for finding in (found for checker in self._folds for found in checker.end()):
            _noted(self._members, capped(finding))
        for finding in self._laws.end():
            _noted(self._broken, finding)
        goodbye, why = self._partings.goodbye(self._naming.shown)
        run, case, group = self._key
        first, last = self._first, self._last
        return GroupResult(
            run=run, case=case, group=group, observations=self._observations, duplicates=self._duplicates, requests=self._partings.requests,
            joined=self._partings.has_members, is_virtual=first is not None and first.clock == "virtual",
            clients=tuple(sorted(self._naming.shown(client) for client in self._partings.of)), goodbye=goodbye, goodbye_reason=why,
            duration_s=0.0 if first is None or last is None else (last.at_ns - first.at_ns) / 1e9,
            members=tuple(self._members.values()), laws=tuple(self._broken.values()),
        )  # fmt: skip


def _noted(sightings: dict[tuple[str, str, str], FindingCount], found: Finding) -> Finding:
    count = sightings.setdefault((found.verdict.value, found.requirement, found.observed), FindingCount())
    count.count += 1
    if len(count.examples) < EXAMPLES_MAX:
        count.examples.append(found)
    return found
