"""Who believes to own a partition, and for how long two do or nobody does: from callbacks where an application reports them, else from the wire.

By the wire a member owns what its SyncGroup answer gave it, until it joins again (eagerly: a cooperative one keeps what it has), leaves, or is told that
it is no member any more. Nobody tells a member whose session expired: until it hears, it believes. That is what the overlap counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self

from groupproof.harness.folds.holding import TOLD_BY
from groupproof.harness.meters.meter import Figures, named_in
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import COOPERATIVE, MEMBERSHIP_ENDS, Api, TopicPartition

__all__ = ["Ownership"]

_TOLD: Final = frozenset({"partitions_assigned", "partitions_revoked", "partitions_lost"})
_ENDS: Final = frozenset({*((who, "shutdown_complete") for who in TOLD_BY), ("kit", "kill"), ("kit", "exit")})


class Ownership:
    """Measures `ownership_overlap_ms` (some partition has two owners), `ownership_overlap_partition_ms` (summed over partitions), `unowned_ms` (some
    partition that was owned before has no owner while there are members), `unowned_partition_ms`, and `stop_the_world_ms` (none has an owner)."""

    def __init__(self) -> None:
        self._owners: dict[TopicPartition, set[str]] = {}
        self._held: dict[str, set[TopicPartition]] = {}
        self._cooperative: set[str] = set()
        self._reports: set[str] = set()
        self._present: set[str] = set()
        self._at_ms = 0.0
        self._is_over = False
        self._figures = Figures()

    def feed(self, seen: Observation) -> None:
        self._pass(seen.at_ms)
        if seen.who == "kit" and seen.body.get("name") == "end" and seen.client is None:
            self._is_over = True
        elif seen.client is not None and seen.kind == "event":
            self._told(seen, seen.client)
        elif seen.client is not None and seen.kind == "request":
            self._asks(seen, seen.client)
        elif seen.client is not None and seen.kind == "response":
            self._hears(seen, seen.client)

    def _pass(self, at_ms: float) -> None:
        """Let time pass until `at_ms`; what is over, or goes back, counts nothing."""
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

    def _told(self, seen: Observation, client: str) -> None:
        name = str(seen.body.get("name"))
        if (seen.who, name) in _ENDS:
            self._gone(client)
        elif seen.who in TOLD_BY and name in _TOLD:
            if client not in self._reports:
                self._reports.add(client)
                self._give(client, set(self._held.get(client, ())))
            if name == "partitions_assigned":
                self._take(client, named_in(seen), replace=client not in self._cooperative)
            else:
                self._give(client, named_in(seen))

    def _asks(self, seen: Observation, client: str) -> None:
        if seen.api == Api.JOIN_GROUP.title:
            self._present.add(client)
            if client not in self._reports and client not in self._cooperative:
                self._give(client, set(self._held.get(client, ())))
        elif seen.api == Api.LEAVE_GROUP.title and client in self._present:
            self._present.discard(client)
            if client not in self._reports:
                self._gone(client)

    def _hears(self, seen: Observation, client: str) -> None:
        if seen.api == Api.JOIN_GROUP.title and not seen.error:
            (self._cooperative.add if seen.body.get("protocol_name") in COOPERATIVE else self._cooperative.discard)(client)
        if client in self._reports:
            return
        if seen.error in MEMBERSHIP_ENDS:
            self._give(client, set(self._held.get(client, ())))
        elif seen.api == Api.SYNC_GROUP.title and not seen.error:
            self._take(client, set(seen.partitions), replace=True)

    def _gone(self, client: str) -> None:
        self._present.discard(client)
        self._give(client, set(self._held.get(client, ())))

    def _take(self, client: str, partitions: set[TopicPartition], *, replace: bool) -> None:
        if replace:
            self._give(client, self._held.get(client, set()) - partitions)
        self._held.setdefault(client, set()).update(partitions)
        for each in partitions:
            self._owners.setdefault(each, set()).add(client)

    def _give(self, client: str, partitions: set[TopicPartition]) -> None:
        self._held.get(client, set()).difference_update(partitions)
        for each in partitions:
            self._owners.get(each, set()).discard(client)

    def result(self) -> Figures:
        return self._figures

    def state(self) -> dict[str, Any]:
        return {
            "owners": [[*partition, sorted(owners)] for partition, owners in self._owners.items()],
            "cooperative": sorted(self._cooperative), "reports": sorted(self._reports), "present": sorted(self._present),
            "at_ms": self._at_ms, "is_over": self._is_over, "figures": self._figures.to_json(),
        }  # fmt: skip

    @classmethod
    def resumed(cls, state: Mapping[str, Any]) -> Self:
        made = cls()
        for topic, partition, owners in state["owners"]:
            made._owners[topic, partition] = set(owners)
            for client in owners:
                made._held.setdefault(client, set()).add((topic, partition))
        made._cooperative, made._reports, made._present = set(state["cooperative"]), set(state["reports"]), set(state["present"])
        made._at_ms, made._is_over, made._figures = state["at_ms"], state["is_over"], Figures.from_json(state["figures"])
        return made
