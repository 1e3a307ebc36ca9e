"""Whether a group has settled, from the wire and the applications alone. Pure. A waiting plan and a judge use the same rule.

It needs no state of the coordinator. A member is in its group when its SyncGroup and a later Heartbeat were answered without an error in the
generation of its last JoinGroup. So it works for a broker behind a tap as for the reference. A member with epochs (KIP-848) is in the group when it
has reported that it owns its whole target (`EpochMember`). A group may have members of both kinds; a generation is then the group epoch (CGG-29).
"""

from __future__ import annotations

from collections.abc import Mapping

from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker, Membership
from groupproof.harness.judging.reconciling import EpochMember, follow_heartbeats
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import MemberState, TopicPartition

__all__ = ["Settling"]


class Settling:
    """Takes every observation of a trace in order.

    The group has settled when exactly `members` share the partitions of `topics` in one generation, each partition has one owner, their
    applications know it, and each member has had a Heartbeat answered without an error since mark `after`.
    """

    def __init__(self, members: tuple[str, ...], topics: Mapping[str, int], after: str | None = None) -> None:
        self._members = members
        self._wanted = {(topic, partition) for topic, count in topics.items() for partition in range(count)}
        self._after = after
        self._since_seq: int | None = None if after is not None else -1
        self._group = GroupTracker()
        self._by_epochs: dict[str, EpochMember] = {}

    def feed(self, obs: Observation) -> bool:
        if self._since_seq is None and obs.who == "kit" and obs.body.get("name") == "mark" and obs.body.get("mark") == self._after:
            self._since_seq = obs.seq
        self._group.follow(obs)
        follow_heartbeats(self._by_epochs, obs)
        return self._since_seq is not None and not self.missing()

    def missing(self) -> str:
        """Return in words what is missing; "" when the group has settled."""
        for name in self._members:
            if missing := self._missing_of_epochs(name) if name in self._by_epochs else self._missing_of_generations(name):
                return f"{name} {missing}"
            if not self._owned(name) <= self._group.hands.now.get(name, {}).keys():
                return f"the application of {name} does not know all its partitions"
        if len({self._counter(name) for name in self._members}) > 1:
            return "the members are not at one epoch" if self._by_epochs else "the members are not of one generation"
        return self._uneven()

    def _missing_of_generations(self, name: str) -> str:
        mine = self._of(name)
        if mine.assignment is None or mine.state is not MemberState.STABLE or mine.assignment.seq < self._group.hands.ended_seq.get(name, -1):
            return "has no assignment"
        return "has had no Heartbeat answered" if mine.beat_seq <= (self._since_seq or -1) else ""

    def _missing_of_epochs(self, name: str) -> str:
        mine = self._by_epochs[name]
        if mine.epoch <= 0 or mine.beat_seq <= max(self._since_seq or -1, self._group.hands.ended_seq.get(name, -1)):
            return "has had no heartbeat answered"
        return "" if mine.has_said_all else "has not said that it owns what it was given"

    def _owned(self, name: str) -> frozenset[TopicPartition]:
        return (self._by_epochs[name].target or frozenset()) if name in self._by_epochs else self._of(name).owned

    def _counter(self, name: str) -> int:
        return self._by_epochs[name].epoch if name in self._by_epochs else self._of(name).generation

    def _of(self, name: str) -> Membership:
        return self._group.members.get(name) or Membership()

    def _uneven(self) -> str:
        owned = [partition for name in self._members for partition in self._owned(name)]
        if len(owned) > len(set(owned)):
            return "a partition has two owners"
        if set(owned) != self._wanted:
            return f"{len(self._wanted - set(owned))} partitions have no owner"
        return ""
