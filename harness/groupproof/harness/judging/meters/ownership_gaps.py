"""Measures how long a partition has two owners or none: by callbacks where an application reports them, else by the wire.

Both come from the one tracker (`checkers.group_tracker`). By the wire, a member whose session expired stays an owner until its next answer, because
it is not notified. The overlap counts that.
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker
from groupproof.harness.judging.checkers.tracking.ownership_tracker import ENDS
from groupproof.harness.judging.meters.meter import Figures
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["Ownership"]

_NOBODY: Final[frozenset[TopicPartition]] = frozenset()


class Ownership:
    """Measures `ownership_overlap_ms` (some partition has two owners), `ownership_overlap_partition_ms` (summed over partitions), `unowned_ms`
    (some partition with an earlier owner has none while there are members), `unowned_partition_ms`, and `stop_the_world_ms` (no partition has an
    owner)."""

    def __init__(self) -> None:
        self._group = GroupTracker()
        self._owners: dict[TopicPartition, set[str]] = {}
        self._owned: dict[str, frozenset[TopicPartition]] = {}
        self._present: set[str] = set()
        self._at_ms = 0.0
        self._is_over = False
        self._figures = Figures()

    def feed(self, obs: Observation) -> None:
        self._pass(obs.at_ms)
        self._group.follow(obs)
        if obs.client is None:
            self._is_over |= obs.who == "kit" and obs.body.get("name") == "end"
        else:
            self._come_or_go(obs, obs.client)
            self._update(obs.client)

    def _pass(self, at_ms: float) -> None:
        """Let time pass until `at_ms`. Time after the end, or backwards, does not count."""
        passed, self._at_ms = max(0.0, at_ms - self._at_ms), max(at_ms, self._at_ms)
        if self._is_over or not passed:
            return
        shared = [owners for owners in self._owners.values() if len(owners) > 1]
        unowned = sum(1 for owners in self._owners.values() if not owners) if self._present else 0
        for name, count in (("ownership_overlap", len(shared)), ("unowned", unowned)):
            self._figures.add(f"{name}_ms", passed if count else 0)
            self._figures.add(f"{name}_partition_ms", passed * count)
        self._figures.add("stop_the_world_ms", passed if unowned and unowned == len(self._owners) else 0)
        for client in (client for owners in shared for client in owners):
            mine = self._figures.by_client.setdefault(client, {})
            mine["ownership_overlap_partition_ms"] = mine.get("ownership_overlap_partition_ms", 0) + passed

    def _come_or_go(self, obs: Observation, client: str) -> None:
        is_beat = obs.kind == "request" and obs.api == Api.CONSUMER_GROUP_HEARTBEAT.title and obs.member_epoch is not None
        if (obs.kind == "request" and obs.api == Api.JOIN_GROUP.title) or (is_beat and (obs.member_epoch or 0) >= 0):
            self._present.add(client)
        elif (obs.who, obs.body.get("name")) in ENDS or is_beat or (obs.kind == "request" and obs.api == Api.LEAVE_GROUP.title):
            self._present.discard(client)

    def _update(self, client: str) -> None:
        """Update the partitions of a client from the tracker: by its callbacks if it reports any."""
        group, before = self._group, self._owned.get(client, _NOBODY)
        owned = frozenset(group.hands.now.get(client, ())) if client in group.hands.reports else group.owned(client)
        if owned is not before and owned != before:
            self._owned[client] = owned
            for partition in before - owned:
                self._owners[partition].discard(client)
            for partition in owned - before:
                self._owners.setdefault(partition, set()).add(client)

    def result(self) -> Figures:
        return self._figures
