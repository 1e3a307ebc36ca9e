"""Measures the cost of an exercise: how long partitions have no working owner, and how many records are read twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["Cost", "WorkMeter"]

_NOBODY: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of an exercise. `unowned_worst_ms` is the longest time of one partition without an owner, `unowned_ms` the sum over all."""

    unowned_worst_ms: int
    unowned_ms: int
    rebalances: int
    reread: int

    def to_json(self) -> dict[str, int]:
        return {
            "unowned_worst_ms": self.unowned_worst_ms,
            "unowned_ms": self.unowned_ms,
            "rebalances": self.rebalances,
            "reread_records": self.reread,
        }


class WorkMeter:
    """Tracks owners and read records. It measures from `begin` on.

    A partition has an owner while a running process has it assigned and not revoked. A paused or ended process owns nothing.
    """

    def __init__(self, partitions: int, topic: str) -> None:
        self._owners: dict[TopicPartition, int] = {(topic, number): 0 for number in range(partitions)}
        self._owned: dict[str, frozenset[TopicPartition]] = {}
        self._since_ms: dict[TopicPartition, int] = dict.fromkeys(self._owners, 0)
        self._unowned_ms: Counter[TopicPartition] = Counter()
        self._read: dict[TopicPartition, int] = {}
        self.reread = 0

    @property
    def is_whole(self) -> bool:
        """Return whether every partition has an owner."""
        return all(self._owners.values())

    def begin(self, now_ms: int) -> None:
        """Start to measure."""
        self._unowned_ms.clear()
        self._since_ms = dict.fromkeys(self._owners, now_ms)
        self.reread = 0

    def owns(self, name: str, partitions: frozenset[TopicPartition], now_ms: int) -> None:
        """Record all partitions that a process owns now."""
        before = self._owned.get(name, _NOBODY)
        self._owned[name] = partitions
        for partition in partitions - before:
            if not self._owners[partition]:
                self._unowned_ms[partition] += now_ms - self._since_ms[partition]
            self._owners[partition] += 1
        for partition in before - partitions:
            self._owners[partition] -= 1
            if not self._owners[partition]:
                self._since_ms[partition] = now_ms

    def reads(self, partition: TopicPartition, begin: int, end: int) -> None:
        """Record that the records from offset `begin` up to `end` were read."""
        newest = self._read.get(partition, 0)
        self.reread += max(0, min(end, newest) - begin)
        self._read[partition] = max(newest, end)

    def cost(self, now_ms: int, rebalances: int) -> Cost:
        """Return the cost up to now."""
        still = {partition: now_ms - self._since_ms[partition] for partition, owners in self._owners.items() if not owners}
        unowned = self._unowned_ms + Counter(still)
        return Cost(unowned_worst_ms=max(unowned.values(), default=0), unowned_ms=unowned.total(), rebalances=rebalances, reread=self.reread)
