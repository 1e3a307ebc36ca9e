"""Partition leaders: fetchers read only from leaders, and a thread looks up missing leaders (kafka.consumer.ConsumerFetcherManager)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from groupproof.clients.outputs import Node
from groupproof.clients.relatives.zookeeper.consumer_outputs import Fetch, FindLeaders, StopFetchers
from groupproof.clients.relatives.zookeeper.consumer_process import Process
from groupproof.clients.relatives.zookeeper.consumer_streams import OwnedPartition
from groupproof.clients.relatives.zookeeper.consumer_threads import Body, Signal, Sleep, Steps, Wait
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["FINDER", "Fetchers"]

FINDER: Final = "leader-finder-thread"


class Fetchers:
    """The fetchers of one process. `leaderless` partitions are not fetched: at first all, later those whose leader is gone."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._partitions: dict[TopicPartition, OwnedPartition] = {}
        self._wanted = Signal()
        self.leaderless: set[TopicPartition] = set()

    def start(self, partitions: Mapping[TopicPartition, OwnedPartition]) -> None:
        """Treat all partitions as leaderless, and start the thread that finds leaders (ZK-53)."""
        self._partitions = dict(partitions)
        self.leaderless = set(partitions)
        self._process.threads.start(FINDER, self._find())

    def stop(self) -> Steps[None]:
        """Stop the finder, then all fetchers. Wait until they have stopped."""
        self._process.threads.cancel(FINDER)
        yield StopFetchers(self._process.threads.new_ask())
        self._partitions = {}
        self.leaderless = set()

    def unfetchable(self, partitions: Iterable[TopicPartition]) -> None:
        """Look up the leaders of these partitions again. Ownership does not change (ZK-56)."""
        self.leaderless |= self._partitions.keys() & set(partitions)
        self._process.threads.fire(self._wanted)

    def _find(self) -> Body:
        threads = self._process.threads
        while True:
            while not self.leaderless:
                yield Wait(self._wanted)
            leaders: Mapping[TopicPartition, Node] | None = yield FindLeaders(threads.new_ask(), frozenset(topic for topic, _ in self.leaderless))
            self._add(leaders or {})
            yield Sleep(self._process.settings.refresh_leader_backoff_ms)

    def _add(self, leaders: Mapping[TopicPartition, Node]) -> None:
        found: dict[Node, dict[TopicPartition, int]] = {}
        for partition in sorted(self.leaderless & leaders.keys()):
            found.setdefault(leaders[partition], {})[partition] = self._partitions[partition].fetched
            self.leaderless.discard(partition)
        for leader, offsets in found.items():
            self._process.emit(Fetch(leader, offsets))
