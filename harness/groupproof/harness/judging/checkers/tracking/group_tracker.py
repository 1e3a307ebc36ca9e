"""The one tracker of a group through its trace: members, their generation or epoch, their assignments, and their callbacks. Pure.

Frames decide; each dialect has its reader of them (`classic_reader.py` for JoinGroup and its kin). Reports of applications are kept beside them
(`hands`), because a shim may report falsely.
* Reports of an application come from `shim` and `member`: Spark's loads and the simulator write the latter.
* A group that is converted from one protocol to the other is the same group: its members keep what they have (CGG-39, CGG-57).
* A group that is created again counts its generations from 1 again; earlier assignments do not count any more (INV-04). One that goes on at another
  coordinator from before a generation that was not stored uses that number again (EMIG-05).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.checkers.frame_facts import SLACK_MS, is_begun_anew, partitions_of
from groupproof.harness.judging.checkers.listening_checker import ListeningChecker
from groupproof.harness.judging.checkers.steady import Steady
from groupproof.harness.judging.checkers.tracking.classic_reader import CLASSIC_READER
from groupproof.harness.judging.checkers.tracking.frame_reader import FrameReader
from groupproof.harness.judging.checkers.tracking.member_ledger import MemberLedger, Membership
from groupproof.harness.judging.checkers.tracking.membership import Assignment
from groupproof.harness.judging.checkers.tracking.ownership_tracker import NO_CHANGES, REPORTERS, REPORTING_MS, Changes, OwnershipTracker
from groupproof.harness.judging.checkers.tracking.reader_registry import readers_by_api
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import GroupState

__all__ = ["LATE_LINES_MS_MAX", "GroupTracker", "Membership", "TrackingChecker"]

LATE_LINES_MS_MAX: Final = 5_000.0
"""The longest delay (ms) that is allowed to late events."""

_NOBODY: Final = frozenset({GroupState.EMPTY.value, GroupState.DEAD.value})
_ELSEWHERE: Final = f"{ClassicEvent.UNLOADED.value}/"
"""The prefix of rules by which a coordinator drops a group that goes on, with all its members, at another one (EMIG-03)."""


@dataclass(slots=True)
class GroupTracker(MemberLedger):
    """Follows one group. `driven` are the clients whose applications the kit commands. Each of their client ids is one process, which reads only
    what its group assigns. `last` is the newest observation; `changes` are the holdings that began and ended with it. `state` is the group's state
    by the coordinator's transitions. A client's frames are read by the dialect that it spoke last, and by the classic one before its first.
    """

    hands: OwnershipTracker = field(default_factory=OwnershipTracker)
    driven: set[str] = field(default_factory=set)
    state: str | None = None
    last: Observation | None = None
    changes: Changes = NO_CHANGES
    _spoken: dict[str, str] = field(default_factory=dict)
    _late_ms: dict[str, float] = field(default_factory=dict)

    def follow(self, obs: Observation) -> Changes:
        """Record the next observation. Return the holdings that begin with it, and those that end, by the callbacks."""
        if obs.kind == "transition":
            self._moved(obs)
        elif obs.client is None:
            pass
        elif obs.kind == "event":
            self._event(obs, obs.client)
        elif obs.kind == "request":
            self._reader(obs, obs.client).asked(self, obs, obs.client)
        elif obs.kind == "response":
            self._reader(obs, obs.client).answered(self, obs, obs.client)
        self.last = obs
        self.changes = self.hands.follow(obs)
        return self.changes

    def _reader(self, obs: Observation, client: str) -> FrameReader:
        readers = readers_by_api()
        of_client = readers.get(self._spoken.get(client, ""), CLASSIC_READER)
        reader = readers.get(obs.api or "", of_client)
        if reader is not of_client and obs.api is not None:
            self._spoken[client] = obs.api
            self.hands.reports_by_difference(client, is_so=reader.is_incremental)
        return reader

    def dialect_of(self, client: str) -> str:
        """Return the name of the dialect that a client spoke last; the classic one before its first."""
        return readers_by_api().get(self._spoken.get(client, ""), CLASSIC_READER).dialect.name

    def is_steady(self, steady: Steady) -> bool:
        """Return whether the exchanges change nothing of the member except what `absorb` records."""
        readers = readers_by_api()
        reader = readers.get(self._spoken.get(steady.client, ""), CLASSIC_READER)
        is_its_own = all(readers.get(api, reader) is reader for api in steady.apis)
        return is_its_own and steady.apis <= reader.steady.keys() and steady.client in self.members and reader.is_steady(self, steady)

    def absorb(self, steady: Steady) -> None:
        readers_by_api().get(self._spoken.get(steady.client, ""), CLASSIC_READER).absorb(self, steady)
        self.changes = NO_CHANGES

    def _moved(self, obs: Observation) -> None:
        falls = obs.generation is not None and obs.generation < self._newest_generation
        if is_begun_anew(obs) or falls:
            self.begin_anew()
        self.state = obs.state_after
        self.generation = max(self.generation, -1 if obs.generation is None else obs.generation)
        if obs.state_after in _NOBODY and not (obs.rule or "").startswith(_ELSEWHERE):
            for member in self.members.values():
                member.generation, member.assignment, member.member_epoch = -1, None, -1

    def _event(self, obs: Observation, client: str) -> None:
        name = obs.body.get("name")
        if obs.who == "kit" and name == "command" and obs.body.get("command") == "subscribe":
            self.driven.add(client)
        elif obs.who == "kit" and name in ("kill", "exit"):
            self.end(client)
        elif obs.who in REPORTERS and name == "partitions_assigned":
            newest = self._newest_answer(client)
            if newest is not None and (partitions_of(obs) or not newest.partitions):  # an empty one may belong to an earlier answer
                late_ms = min(obs.at_ms - newest.at_ms, LATE_LINES_MS_MAX)
                self._late_ms[client] = min(late_ms, self._late_ms.get(client, late_ms))

    def _newest_answer(self, client: str) -> Assignment | None:
        mine = self.members.get(client)
        return None if mine is None else mine.assignment

    def may_be_late(self, client: str) -> bool:
        """Return whether the events of this client are known to be late, or not known to be in time."""
        return self._late_ms.get(client, LATE_LINES_MS_MAX) > SLACK_MS

    def late_ms(self, client: str) -> float:
        """Return the delay (ms) that is tolerated for an event of this client: `REPORTING_MS` plus its delay at its quickest `partitions_assigned`.

        A shim whose events come two seconds late is slow at writing. That does not make its client worse at handing over partitions.
        """
        return REPORTING_MS + self._late_ms.get(client, 0.0)


class TrackingChecker(ListeningChecker):
    """A checker with a tracker of its group: its own, or a shared one. The owner of a shared one updates it between `due` and `look`."""

    def __init__(self) -> None:
        self._group = GroupTracker()

    def share(self, group: GroupTracker) -> None:
        """Use this tracker from now on. The checker must be fresh."""
        self._group = group

    def step(self, obs: Observation) -> Iterable[Finding]:
        yield from self.due(obs.at_ms)
        self._group.follow(obs)
        yield from self.look(obs)
