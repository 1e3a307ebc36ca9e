"""The group's offsets in ZooKeeper, in Kafka, or in both while a group migrates (offsets.storage, dual.commit.enabled)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.clients.relatives.zookeeper.consumer_outputs import CommitToKafka, FetchFromKafka, FindOffsetManager, OffsetsStored
from groupproof.clients.relatives.zookeeper.consumer_process import Process
from groupproof.clients.relatives.zookeeper.consumer_threads import Acquire, Body, Lock, Sleep, Steps
from groupproof.clients.relatives.zookeeper.zkclient import NodeTrouble
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["NO_OFFSET", "Offsets"]

NO_OFFSET: Final = -1
_METADATA_TOO_LARGE: Final = 12
_MOVED: Final = frozenset({15, 16})


class Offsets:
    """Commits and fetches of one process. One commit, or fetch from Kafka, runs at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._lock = Lock()
        self._is_manager_known = False

    @property
    def _is_in_kafka(self) -> bool:
        return self._process.settings.offsets_storage == "kafka"

    def find_manager(self) -> Steps[None]:
        """Wait for a connection to the broker that stores the offsets, if they are in Kafka (ensureOffsetManagerConnected)."""
        if self._is_in_kafka and not self._is_manager_known:
            yield FindOffsetManager(self._process.threads.new_ask())
            self._is_manager_known = True

    def commit_by_interval(self) -> Body:
        """Commit every auto.commit.interval.ms and ignore errors (the task kafka-consumer-autocommit, TIMER-35)."""
        interval_ms = self._process.settings.auto_commit_interval_ms
        due_ms = self._process.threads.now_ms + interval_ms
        while not self._process.is_shutting_down:
            yield Sleep(max(0, due_ms - self._process.threads.now_ms))
            due_ms += interval_ms
            try:
                yield from self.commit(retries=self._process.settings.offsets_commit_max_retries)
            except NodeTrouble:
                continue

    def commit(self, *, retries: int) -> Steps[None]:
        """Commit the consumed offsets of the owned partitions. A failed commit to Kafka is repeated up to `retries` times."""
        offsets = {partition: owned.consumed for partition, owned in self._process.owned.items()}
        if not offsets:
            return
        for left in range(retries, -1, -1):
            is_done = yield from self._committed(offsets)
            if is_done or left == 0:
                return
            yield Sleep(self._process.settings.offsets_channel_backoff_ms)

    def _committed(self, offsets: Mapping[TopicPartition, int]) -> Steps[bool]:
        yield Acquire(self._lock)
        try:
            if not self._is_in_kafka:
                yield from self._to_zookeeper(offsets)
                return True
            return (yield from self._to_kafka(offsets))
        finally:
            self._process.threads.release(self._lock)

    def _to_zookeeper(self, offsets: Mapping[TopicPartition, int]) -> Steps[None]:
        process = self._process
        written: dict[TopicPartition, int] = {}
        for partition, offset in offsets.items():
            if process.checkpointed.get(partition) != offset:  # ZK-57
                yield from process.client.update_persistent(process.paths.offset(partition), str(offset).encode())
                process.checkpointed[partition] = written[partition] = offset
        if written:
            process.emit(OffsetsStored(offsets=written, store="zookeeper"))

    def _to_kafka(self, offsets: Mapping[TopicPartition, int]) -> Steps[bool]:
        yield from self.find_manager()
        errors: Mapping[TopicPartition, int] | None = yield CommitToKafka(self._process.threads.new_ask(), offsets)
        if errors is None:
            self._is_manager_known = False
            return False
        stored = {partition: offset for partition, offset in offsets.items() if errors.get(partition) == 0}
        if stored:
            self._process.emit(OffsetsStored(offsets=stored, store="kafka"))
            if self._process.settings.is_dual:
                yield from self._to_zookeeper(stored)
        if not _MOVED.isdisjoint(errors.values()):
            self._is_manager_known = False
        return all(error in (0, _METADATA_TOO_LARGE) for error in errors.values())

    def fetch(self, partitions: tuple[TopicPartition, ...]) -> Steps[Mapping[TopicPartition, int] | None]:
        """Return the group's offsets, -1 for none, or None if the process shuts down meanwhile."""
        if not self._is_in_kafka or not partitions:
            return (yield from self._from_zookeeper(partitions))
        while not self._process.is_shutting_down:
            yield Acquire(self._lock)
            try:
                found = yield from self._from_kafka(partitions)
            finally:
                self._process.threads.release(self._lock)
            if found is not None:
                return found
            yield Sleep(self._process.settings.offsets_channel_backoff_ms)
        return None

    def _from_kafka(self, partitions: tuple[TopicPartition, ...]) -> Steps[Mapping[TopicPartition, int] | None]:
        yield from self.find_manager()
        found: Mapping[TopicPartition, int] | None = yield FetchFromKafka(self._process.threads.new_ask(), partitions)
        if found is None:
            self._is_manager_known = False
        elif self._process.settings.is_dual:
            old = yield from self._from_zookeeper(partitions)
            return {partition: max(found[partition], old[partition]) for partition in partitions}
        return found

    def _from_zookeeper(self, partitions: tuple[TopicPartition, ...]) -> Steps[Mapping[TopicPartition, int]]:
        found = {}
        for partition in partitions:
            data = yield from self._process.client.get_if_any(self._process.paths.offset(partition))
            found[partition] = NO_OFFSET if data is None else int(data)
        return found
