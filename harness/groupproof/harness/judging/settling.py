"""Whether a group has settled, seen from the wire and the applications alone; pure. The same for a plan that waits and a judge that reads.

It needs no word of the coordinator's own: a member is in its group when its SyncGroup and a Heartbeat after it were answered without an error
in the generation that its last JoinGroup gave it. So it holds for a broker behind a tap as for the reference.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupproof.harness.judging.checkers.group_tracker import GroupTracker, Membership
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import MemberState

__all__ = ["Settling"]


class Settling:
    """Takes every observation of a trace in order. The group has settled when `members`, and they alone, share the partitions of `topics` in one
    generation, each exactly once, their applications know it, and each has had a Heartbeat answered without an error since mark `after`."""

    def __init__(self, members: tuple[str, ...], topics: Mapping[str, int], after: str | None = None) -> None:
        self._members = members
        self._wanted = {(topic, partition) for topic, count in topics.items() for partition in range(count)}
        self._after = after
        self._since_seq: int | None = None if after is not None else -1
        self._group = GroupTracker()

    def feed(self, obs: Observation) -> bool:
        if self._since_seq is None and obs.who == "kit" and obs.body.get("name") == "mark" and obs.body.get("mark") == self._after:
            self._since_seq = obs.seq
        self._group.follow(obs)
        return self._since_seq is not None and not self.missing()

    def missing(self) -> str:
        """Return what is not yet so, in words; empty when the group has settled."""
        for name in self._members:
            mine = self._of(name)
            if mine.assignment is None or mine.state is not MemberState.STABLE or mine.assignment.seq < self._group.hands.ended_seq.get(name, -1):
                return f"{name} has no assignment"
            if mine.beat_seq <= (self._since_seq or -1):
                return f"{name} has had no Heartbeat answered"
            if not mine.owned <= self._group.hands.now.get(name, {}).keys():
                return f"the application of {name} does not know all its partitions"
        if len({self._of(name).generation for name in self._members}) > 1:
            return "the members are not of one generation"
        return self._uneven()

    def _of(self, name: str) -> Membership:
        return self._group.members.get(name) or Membership()

    def _uneven(self) -> str:
        owned = [partition for name in self._members for partition in self._of(name).owned]
        if len(owned) > len(set(owned)):
            return "a partition has two owners"
        if set(owned) != self._wanted:
            return f"{len(self._wanted - set(owned))} partitions have no owner"
        return ""
