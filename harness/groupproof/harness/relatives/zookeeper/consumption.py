"""Who consumes what, and for how long a partition had two consumers, or none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["Consuming"]


class Consuming:
    """Times are in microseconds. `doubled_us` and `orphaned_us` sum over partitions; a partition counts as orphaned from when it was first consumed."""

    def __init__(self) -> None:
        self.by: defaultdict[TopicPartition, set[str]] = defaultdict(set)
        self.doubled_us = 0
        self.orphaned_us = 0
        self._of: defaultdict[str, set[TopicPartition]] = defaultdict(set)
        self._since_us: dict[TopicPartition, int] = {}

    def start(self, member: str, partitions: Iterable[TopicPartition], now_us: int) -> None:
        """Take it that a member consumes these partitions too."""
        for partition in partitions:
            self._account(partition, now_us)
            self.by[partition].add(member)
            self._of[member].add(partition)

    def stop(self, member: str, now_us: int) -> None:
        """Take it that a member consumes nothing any more."""
        for partition in self._of.pop(member, ()):
            self._account(partition, now_us)
            self.by[partition].discard(member)

    def account(self, now_us: int) -> None:
        """Bring the sums up to now."""
        for partition in list(self._since_us):
            self._account(partition, now_us)

    def of(self, member: str) -> frozenset[TopicPartition]:
        """Return what a member consumes."""
        return frozenset(self._of.get(member, ()))

    def _account(self, partition: TopicPartition, now_us: int) -> None:
        since_us = self._since_us.get(partition)
        self._since_us[partition] = now_us
        if since_us is not None:
            consumers = len(self.by[partition])
            self.doubled_us += (now_us - since_us) if consumers > 1 else 0
            self.orphaned_us += (now_us - since_us) if consumers == 0 else 0
