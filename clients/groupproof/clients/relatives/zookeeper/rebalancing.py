"""A consumer's own rebalance, from the data that it reads in ZooKeeper (ZookeeperConsumerConnector.ZKRebalancerListener).

There is no leader. Each consumer stops, releases, reads, computes and claims. If another's claim exists, or a node disappears during the
reads, the attempt fails. It is repeated after rebalance.backoff.ms, up to rebalance.max.retries attempts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from groupproof.clients.relatives.zookeeper.consumer_outputs import (
    AttemptBegan,
    AttemptEnded,
    BeforeReleasing,
    BeforeStarting,
    ConsumerFailure,
    OwnerNodesCreated,
    OwnerNodesDeleted,
)
from groupproof.clients.relatives.zookeeper.consumer_process import Process
from groupproof.clients.relatives.zookeeper.consumer_streams import OwnedPartition
from groupproof.clients.relatives.zookeeper.consumer_threads import Acquire, Body, Signal, Sleep, Steps, Wait
from groupproof.clients.relatives.zookeeper.offset_nodes import Offsets
from groupproof.clients.relatives.zookeeper.partition_leaders import Fetchers
from groupproof.clients.relatives.zookeeper.paths import BROKERS, TOPICS, Unreadable, broker_of, broker_path, partitions_of, topic_path
from groupproof.clients.relatives.zookeeper.registration import Registration, read_registration, threads_of_all
from groupproof.clients.relatives.zookeeper.thread_assignors import UnevenTopics, View, assign
from groupproof.clients.relatives.zookeeper.zkclient import NodeTrouble
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["EXECUTOR", "WAKE_MS", "RebalanceFailed", "Rebalancing"]

EXECUTOR: Final = "watcher_executor"
WAKE_MS: Final = 1_000

Threads = tuple[tuple[str, tuple[str, ...]], ...]


class RebalanceFailed(Exception):
    """All attempts failed (ConsumerRebalanceFailedException)."""


class _Conflict(Exception):
    """Another consumer's owner node already exists."""


class _NodeVanished(Exception):
    """Data that a step needs has disappeared."""


class Rebalancing:
    """The rebalance listener of one process, and its executor thread. `is_pending`: an event waits for the executor."""

    def __init__(self, process: Process, offsets: Offsets, fetchers: Fetchers) -> None:
        self._process = process
        self._offsets = offsets
        self._fetchers = fetchers
        self._triggered = Signal()
        self.is_pending = False
        self.is_running = False

    # Triggers of a rebalance

    def trigger(self) -> None:
        """Queue a rebalance. All triggers before the executor wakes cause one rebalance (ZK-35, ZK-37)."""
        self.is_pending = True
        self._process.threads.fire(self._triggered)

    def on_children(self) -> Body:
        """Handle added or removed consumers, in the event thread (ZK-34)."""
        self.trigger()
        yield from ()

    def execute(self) -> Body:
        """Turn events into rebalances. Wake every second to check whether the process shuts down (ZK-36)."""
        process = self._process
        while not process.is_shutting_down:
            if not self.is_pending:
                yield Wait(self._triggered, WAKE_MS, is_bare=True)
            is_wanted, self.is_pending = self.is_pending, False
            if is_wanted:
                yield from self.rebalance_or_report("event")

    def rebalance_or_report(self, cause: str) -> Steps[bool]:
        """Rebalance in a thread without a caller: a failure is only logged (ZK-72). Return whether it succeeded."""
        try:
            yield from self.rebalance(cause)
        except RebalanceFailed as failed:
            self._process.emit(ConsumerFailure(error="ConsumerRebalanceFailedException", message=str(failed), cause=cause))
            return False
        return True

    def rebalance(self, cause: str) -> Steps[None]:
        """Rebalance, one thread at a time (syncedRebalance). Raise `RebalanceFailed` after the last attempt."""
        process = self._process
        yield Acquire(process.rebalance_lock)
        self.is_running = True
        try:
            for attempt in range(process.settings.rebalance_max_retries):
                if process.is_shutting_down:
                    return
                process.emit(AttemptBegan(attempt=attempt, cause=cause))
                ended = yield from self._attempt(attempt)
                process.emit(ended)
                if ended.error is None:
                    return
                yield from self._close_fetchers(None)
                yield Sleep(process.settings.backoff_ms)
        finally:
            self.is_running = False
            process.threads.release(process.rebalance_lock)
        raise RebalanceFailed(f"{process.consumer_id} can't rebalance after {process.settings.rebalance_max_retries} retries")

    def _attempt(self, attempt: int) -> Steps[AttemptEnded]:
        try:
            yield from self._read_cluster()
            yield from self._steps()
        except _Conflict as conflict:
            return AttemptEnded(attempt=attempt, error=str(conflict), is_conflict=True)
        except (NodeTrouble, Unreadable, UnevenTopics, _NodeVanished) as trouble:
            # ZooKeeper's state may change during the reads; the change then triggers another rebalance
            return AttemptEnded(attempt=attempt, error=str(trouble))
        return AttemptEnded(attempt=attempt)

    # The steps (ZK-40)

    def _steps(self) -> Steps[None]:
        process = self._process
        mine = yield from self._own_topics()
        if not (yield from self._has_brokers()):
            yield from process.client.subscribe_children(BROKERS, self.on_children)  # ZK-38
            return
        yield from self._close_fetchers(frozenset(mine))
        process.emit(BeforeReleasing(partitions=frozenset(process.owned)))
        yield from self._release()
        assigned = yield from self._assign()
        own = assigned.get(process.consumer_id)
        if own is None:
            raise _NodeVanished(f"{process.consumer_id} is not among the consumers of its group")
        offsets = yield from self._offsets.fetch(tuple(own))
        if offsets is None or process.is_shutting_down:
            raise _NodeVanished("the consumer shuts down")
        owned = self._infos(own, offsets)
        yield from self._claim(own)
        process.owned = owned
        process.emit(OwnerNodesCreated(partitions=frozenset(owned)))
        process.emit(BeforeStarting(consumer_id=process.consumer_id, assignment=assigned))
        self._fetchers.start(owned)

    def _close_fetchers(self, topics: frozenset[str] | None) -> Steps[None]:
        # Stop, clear, commit, in this order (DISC-45): ownership is not released yet, so the next owner starts where this one ended
        yield from self._fetchers.stop()
        self._process.clear_queues(topics)
        if self._process.settings.auto_commit_enable:
            yield from self._offsets.commit(retries=0)

    def _release(self) -> Steps[None]:
        process = self._process
        released = frozenset(process.owned)
        for partition in sorted(released):
            yield from process.client.delete(process.paths.owner(partition))
            process.owned.pop(partition, None)
        if released:
            process.emit(OwnerNodesDeleted(partitions=released))

    def _infos(self, own: Mapping[TopicPartition, str], offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, OwnedPartition]:
        process = self._process
        owned = {}
        for partition, thread in own.items():
            owned[partition] = OwnedPartition(partition, process.feeds.get((partition[0], thread)), offsets[partition])
            process.checkpointed[partition] = offsets[partition]  # ZK-57
        return owned

    def _claim(self, own: Mapping[TopicPartition, str]) -> Steps[None]:
        """Create every owner node. If one exists already, still try the others, then delete the created ones (ZK-48, ZK-49)."""
        process = self._process
        created: list[TopicPartition] = []
        missed: list[TopicPartition] = []
        for partition, thread in own.items():
            is_mine = yield from process.client.create_ephemeral(process.paths.owner(partition), thread.encode())
            (created if is_mine else missed).append(partition)
        if missed:
            for partition in reversed(created):
                yield from process.client.delete(process.paths.owner(partition))
            raise _Conflict(f"waiting for the partition ownership to be deleted: {', '.join(f'{topic}-{number}' for topic, number in missed)}")

    # Its reads

    def _read_cluster(self) -> Steps[None]:
        client = self._process.client
        names = yield from client.children_if_any(BROKERS)
        for name, data in zip(names, (yield from client.get_each(BROKERS, names)), strict=True):
            broker_of(int(name), data)

    def _has_brokers(self) -> Steps[bool]:
        client = self._process.client
        found = []
        for name in sorted((yield from client.children_if_any(BROKERS))):
            data = yield from client.get_if_any(broker_path(int(name)))
            if data is not None:
                found.append(broker_of(int(name), data))
        return bool(found)

    def _own_topics(self) -> Steps[dict[str, int]]:
        path = self._process.paths.id_of(self._process.consumer_id)
        registered = read_registration(path, (yield from self._process.client.get(path)))
        return (yield from self._topics_of(registered))

    def _topics_of(self, registered: Registration) -> Steps[dict[str, int]]:
        topics: tuple[str, ...] = ()
        if registered.is_by_pattern:
            topics = yield from self._process.client.children_if_any(TOPICS)
        return registered.threads(topics, is_internal_excluded=self._process.settings.exclude_internal_topics)

    def _assign(self) -> Steps[Mapping[str, Mapping[TopicPartition, str]]]:
        """Read the group's state and compute the assignment (AssignmentContext, PartitionAssignor; ZK-45, ZK-54)."""
        process = self._process
        mine = yield from self._own_topics()
        partitions = []
        for topic in mine:
            data = yield from process.client.get_if_any(topic_path(topic))
            partitions.append(() if data is None else partitions_of(topic, data))
        threads = yield from self._threads_of_group()
        consumers = yield from process.client.children(process.paths.ids)
        view = View(tuple(mine), tuple(partitions), threads, tuple(sorted(consumers)))
        try:
            return assign(process.settings.assignor, view)
        except KeyError as error:
            raise _NodeVanished(f"nobody is registered for topic {error}") from error

    def _threads_of_group(self) -> Steps[Threads]:
        process = self._process
        names = yield from process.client.children_if_any(process.paths.ids)
        values = yield from process.client.get_each(process.paths.ids, names)
        if not _has_patterns(process.paths.ids, values):
            return _threads(process.paths.ids, names, values)
        registered = {}
        for name, data in zip(names, values, strict=True):
            registered[name] = yield from self._topics_of(read_registration(process.paths.ids, data))
        return tuple(sorted(threads_of_all(registered).items()))


@lru_cache(maxsize=16)  # the members of a group usually read the same data
def _has_patterns(path: str, values: tuple[bytes, ...]) -> bool:
    return any(read_registration(path, data).is_by_pattern for data in values)


@lru_cache(maxsize=16)
def _threads(path: str, names: tuple[str, ...], values: tuple[bytes, ...]) -> Threads:
    registered = {name: dict(read_registration(path, data).topics) for name, data in zip(names, values, strict=True)}
    return tuple(sorted(threads_of_all(registered).items()))
