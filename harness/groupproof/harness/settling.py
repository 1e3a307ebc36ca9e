"""Whether a group has settled, seen from the wire and the applications alone; pure. The same for a plan that waits and a judge that reads.

It needs no word of the coordinator's own: a member is in its group when its SyncGroup and a Heartbeat after it were answered without an error
in the generation that its last JoinGroup gave it. So it holds for a broker behind a tap as for the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from groupproof.harness.folds.holding import TOLD_BY
from groupproof.protocol.trace import ExchangeId, Observation
from groupproof.protocol.vocabulary import COOPERATIVE, MEMBERSHIP_ENDS, Api, TopicPartition

__all__ = ["Settling"]


@dataclass(slots=True)
class _Membership:
    """What one client knows of its membership; `given` is its assignment, `owned` what its application was told."""

    generation: int = -1
    cooperates: bool = False
    is_synced: bool = False
    beats: bool = False
    given: frozenset[TopicPartition] = frozenset()
    owned: set[TopicPartition] = field(default_factory=set)

    def drop(self) -> None:
        self.is_synced = self.beats = False


class Settling:
    """Takes every observation of a trace in order. The group has settled when `members`, and they alone, share the partitions of `topics` in one
    generation, each exactly once, their applications know it, and each has had a Heartbeat answered without an error since mark `after`."""

    def __init__(self, members: tuple[str, ...], topics: Mapping[str, int], after: str | None = None) -> None:
        self._members = members
        self._wanted = {(topic, partition) for topic, count in topics.items() for partition in range(count)}
        self._after = after
        self._is_open = after is None
        self._known: dict[str, _Membership] = {name: _Membership() for name in members}
        self._asked: dict[ExchangeId, int] = {}

    def feed(self, seen: Observation) -> bool:
        if not self._is_open and seen.who == "kit" and seen.body.get("name") == "mark" and seen.body.get("mark") == self._after:
            self._is_open = True
            for each in self._known.values():
                each.beats = False
        mine = self._known.get(seen.client or "")
        if mine is not None:
            self._follow(mine, seen)
        return self._is_open and not self.missing()

    def missing(self) -> str:
        """Return what is not yet so, in words; empty when the group has settled."""
        for name, mine in self._known.items():
            if not mine.is_synced:
                return f"{name} has no assignment"
            if not mine.beats:
                return f"{name} has had no Heartbeat answered"
            if not mine.given <= mine.owned:
                return f"the application of {name} does not know all its partitions"
        if len({mine.generation for mine in self._known.values()}) > 1:
            return "the members are not of one generation"
        return self._uneven()

    def _uneven(self) -> str:
        given = [partition for mine in self._known.values() for partition in mine.given]
        if len(given) > len(set(given)):
            return "a partition has two owners"
        if set(given) != self._wanted:
            return f"{len(self._wanted - set(given))} partitions have no owner"
        return ""

    def _follow(self, mine: _Membership, seen: Observation) -> None:
        if seen.kind == "request":
            self._follow_request(mine, seen)
        elif seen.kind == "response":
            self._follow_answer(mine, seen)
        elif seen.kind == "event":
            _follow_event(mine, seen)

    def _follow_request(self, mine: _Membership, seen: Observation) -> None:
        if seen.api == Api.JOIN_GROUP.title:
            mine.drop()
        elif seen.api in (Api.SYNC_GROUP.title, Api.HEARTBEAT.title):
            self._asked[seen.exchange_id] = -1 if seen.generation is None else seen.generation

    def _follow_answer(self, mine: _Membership, seen: Observation) -> None:
        is_current = self._asked.get(seen.exchange_id) == mine.generation
        if seen.api == Api.JOIN_GROUP.title and not seen.error:
            mine.generation = -1 if seen.generation is None else seen.generation
            mine.cooperates = seen.body.get("protocol_name") in COOPERATIVE
        elif seen.api == Api.SYNC_GROUP.title and is_current:
            mine.is_synced, mine.beats, mine.given = not seen.error, False, frozenset(seen.partitions)
        elif seen.api == Api.HEARTBEAT.title and is_current:
            mine.beats = not seen.error
            if seen.error in MEMBERSHIP_ENDS:
                mine.is_synced = False


def _follow_event(mine: _Membership, seen: Observation) -> None:
    name = seen.body.get("name")
    if seen.who in TOLD_BY and name == "partitions_assigned":
        mine.owned = _named(seen) | (mine.owned if mine.cooperates else set())
    elif seen.who in TOLD_BY and name in ("partitions_revoked", "partitions_lost"):
        mine.owned -= _named(seen)
    elif (seen.who in TOLD_BY and name == "shutdown_complete") or (seen.who == "kit" and name in ("kill", "exit")):
        mine.drop()
        mine.owned = set()


def _named(event: Observation) -> set[TopicPartition]:
    listed = {(each["topic"], each["partition"]) for each in event.body.get("partitions") or () if "partition" in each}
    return listed | set(event.partitions)
