"""The one tracker of a group as its trace shows it: who is a member, in which generation or epoch, what was assigned, and what callbacks say. Pure.

Frames come first; each dialect has its reader of them (`classic_reader.py` for JoinGroup and its kin). What an application says is kept beside them
(`hands`), for a shim may tell a nice story.

* An application is heard as `shim` and as `member`: Spark's loads and the simulator write the latter.
* A group that turns from one protocol's kind into the other's is the same group: its members keep what they have (CGG-39, CGG-57).
* A group that is made anew counts its generations from 1 again: what was assigned before says nothing any more (INV-04). One that goes on elsewhere
  from before a generation that was not stored counts that one's number again (EMIG-05).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.checkers.frame_facts import SLACK_MS, is_begun_anew
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
"""No more than this is allowed to lines that are late."""

_NOBODY: Final = frozenset({GroupState.EMPTY.value, GroupState.DEAD.value})
_ELSEWHERE: Final = f"{ClassicEvent.UNLOADED.value}/"
"""The rules by which a coordinator drops a group that goes on at another one, with all its members (EMIG-03)."""


@dataclass(slots=True)
class GroupTracker(MemberLedger):
    """Follows one group. `driven` are the clients whose applications the kit commands: each of their client ids is one process, which reads what its
    group assigns and nothing by hand. `last` is the newest observation, `changes` are the holdings that began and ended with it. `state` is the group's by the coordinator's transitions. A client is read by the dialect that it spoke last, and by the
    classic one until it has spoken any."""

    hands: OwnershipTracker = field(default_factory=OwnershipTracker)
    driven: set[str] = field(default_factory=set)
    state: str | None = None
    last: Observation | None = None
    changes: Changes = NO_CHANGES
    _spoken: dict[str, str] = field(default_factory=dict)
    _late_ms: dict[str, float] = field(default_factory=dict)

    def follow(self, obs: Observation) -> Changes:
        """Take the next observation; return the holdings that begin with it, and those that end, by the callbacks."""
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

    def is_steady(self, steady: Steady) -> bool:
        """Tell whether the exchanges change nothing of the member's but for what `absorb` takes."""
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
            if newest is not None:
                late_ms = min(obs.at_ms - newest.at_ms, LATE_LINES_MS_MAX)
                self._late_ms[client] = min(late_ms, self._late_ms.get(client, late_ms))

    def _newest_answer(self, client: str) -> Assignment | None:
        mine = self.members.get(client)
        return None if mine is None else mine.assignment

    def may_be_late(self, client: str) -> bool:
        """Tell whether the lines of this client are known to be late, or not known to be in time."""
        return self._late_ms.get(client, LATE_LINES_MS_MAX) > SLACK_MS

    def late_ms(self, client: str) -> float:
        """Return how late the lines of this client are, by the quickest `partitions_assigned` after its SyncGroup answer, and what any line is allowed.

        A shim whose lines come two seconds late is slow at writing, and no worse at keeping partitions apart.
        """
        return REPORTING_MS + self._late_ms.get(client, 0.0)


class TrackingChecker(ListeningChecker):
    """A checker that asks a tracker of its group: one of its own, or one that it shares, which whoever shares it keeps up to date between `due` and `look`."""

    def __init__(self) -> None:
        self._group = GroupTracker()

    def share(self, group: GroupTracker) -> None:
        """Ask this tracker from now on; nothing was looked at before."""
        self._group = group

    def step(self, obs: Observation) -> Iterable[Finding]:
        yield from self.due(obs.at_ms)
        self._group.follow(obs)
        yield from self.look(obs)
