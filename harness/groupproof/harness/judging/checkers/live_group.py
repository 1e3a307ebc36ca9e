"""One group seen live, folded: what its members did against the rules, what its trace shows against the laws of a group, and how they parted. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.checkers.checker import Fold
from groupproof.harness.judging.checkers.invariants import GroupLaws
from groupproof.harness.judging.checkers.process_names import Naming
from groupproof.harness.judging.checkers.universal import UNIVERSAL_FOLDS
from groupproof.harness.model.requirement_levels import capped
from groupproof.harness.model.verdicts import Finding, Goodbye
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["EXAMPLES_MAX", "MEMBERSHIP", "GroupFold", "GroupTold", "Partings", "Sighting"]

MEMBERSHIP: Final = frozenset(api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT, Api.LEAVE_GROUP))
EXAMPLES_MAX: Final = 3
"""So many findings of one kind are kept; all are counted."""
_UNHEARD: Final = "processed"
"""When a request was taken up says nothing of its member: that is for the laws of the group."""


@dataclass(slots=True)
class Sighting:
    """Findings of one kind: the first few, and how many there were."""

    examples: list[Finding] = field(default_factory=list)
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTold:
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
    members: tuple[Sighting, ...]
    laws: tuple[Sighting, ...]


@dataclass(slots=True)
class _Parting:
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
    of: dict[str, _Parting] = field(default_factory=dict)

    def follow(self, seen: Observation) -> None:
        if seen.kind == "request" and seen.api in MEMBERSHIP:
            self.requests += 1
            if seen.client is not None:
                before = self.of.get(seen.client)
                self.of[seen.client] = _Parting(
                    connection=seen.connection,
                    has_left=seen.api == Api.LEAVE_GROUP.title,
                    is_static=bool(seen.instance) or (before is not None and before.is_static),
                    joined=seen.api == Api.JOIN_GROUP.title or (before is not None and before.joined),
                )
        elif seen.who == "link" and seen.body.get("name") == "closed":
            for each in self.of.values():
                each.is_gone |= each.connection == seen.connection

    @property
    def has_members(self) -> bool:
        return any(each.joined for each in self.of.values())

    def goodbye(self, shown: Callable[[str], str] = str) -> tuple[Goodbye, str]:
        """Return UNCLEAN where a dynamic member's last connection closed without LeaveGroup; who is still connected has yet to say it."""
        joined = {client: each for client, each in self.of.items() if each.joined}
        for client, each in joined.items():
            if each.is_gone and not each.has_left and not each.is_static:
                return Goodbye.UNCLEAN, f"{shown(client)} went without a LeaveGroup"
        return (Goodbye.CLEAN if any(each.has_left for each in joined.values()) else Goodbye.NONE), ""


class GroupFold:
    """Takes the observations of one group in the order of `seq`, and those of links and nodes that touch it."""

    def __init__(self, run: str, case: str, group: str) -> None:
        self._key = (run, case, group)
        self._naming = Naming()
        self._folds: list[Fold] = [make() for make in UNIVERSAL_FOLDS]
        self._laws = GroupLaws()
        self._members: dict[tuple[str, str, str], Sighting] = {}
        self._broken: dict[tuple[str, str, str], Sighting] = {}
        self._partings = Partings()
        self._observations = self._duplicates = 0
        self._first: Observation | None = None
        self._last: Observation | None = None
        self._fed: Observation | None = None

    def feed(self, seen: Observation) -> list[Finding]:
        """Take the next observation; return what is found now. One that is there twice counts once."""
        if self._fed is not None and seen.seq == self._fed.seq and seen == self._fed:
            self._duplicates += 1
            return []
        self._fed = seen
        if seen.group is not None:
            self._first, self._last = self._first or seen, seen
            self._observations += 1
        elif self._first is None and "settings" not in seen.body:
            return []  # what befell links and nodes before there was a group
        found = [_noted(self._broken, each) for each in self._laws.step(seen)]
        if seen.kind != _UNHEARD:
            named = self._naming.named(seen)
            self._partings.follow(named)
            found += [_noted(self._members, capped(each)) for fold in self._folds for each in fold.step(named)]
        return found

    def told(self) -> GroupTold:
        """Return what the group showed, when nothing follows. It is asked once."""
        for each in (found for fold in self._folds for found in fold.end()):
            _noted(self._members, capped(each))
        for each in self._laws.end():
            _noted(self._broken, each)
        goodbye, why = self._partings.goodbye(self._naming.shown)
        run, case, group = self._key
        first, last = self._first, self._last
        return GroupTold(
            run=run, case=case, group=group, observations=self._observations, duplicates=self._duplicates, requests=self._partings.requests,
            joined=self._partings.has_members, is_virtual=first is not None and first.clock == "virtual",
            clients=tuple(sorted(self._naming.shown(client) for client in self._partings.of)), goodbye=goodbye, goodbye_reason=why,
            duration_s=0.0 if first is None or last is None else (last.at_ns - first.at_ns) / 1e9,
            members=tuple(self._members.values()), laws=tuple(self._broken.values()),
        )  # fmt: skip


def _noted(sightings: dict[tuple[str, str, str], Sighting], found: Finding) -> Finding:
    sighting = sightings.setdefault((found.verdict.value, found.requirement, found.observed), Sighting())
    sighting.count += 1
    if len(sighting.examples) < EXAMPLES_MAX:
        sighting.examples.append(found)
    return found
