"""The ZooKeeper consumer as a process: its machine, a kazoo session, and records from a broker's log (trio).

The machine decides. This driver performs its outputs in order. The application takes records as they come, or at its own pace.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

import trio

from groupproof.clients.consumer.broker_connections import Brokers
from groupproof.clients.consumer.connection import Connect, Observer
from groupproof.clients.consumer.consumer import now_ms
from groupproof.clients.outputs import Node
from groupproof.clients.relatives.zookeeper.consumer_machine import ConsumerMachine
from groupproof.clients.relatives.zookeeper.consumer_outputs import (
    Ask,
    CommitToKafka,
    Disconnect,
    Fetch,
    FetchFromKafka,
    FindLeaders,
    FindOffsetManager,
    Notification,
    Output,
    Reply,
    ShutdownResult,
    StopFetchers,
)
from groupproof.clients.relatives.zookeeper.consumer_outputs import Connect as OpenSession
from groupproof.clients.relatives.zookeeper.consumer_streams import Fetched, Record
from groupproof.clients.relatives.zookeeper.group_settings import ConsumerSettings
from groupproof.clients.relatives.zookeeper.kafka_offsets import KafkaOffsets
from groupproof.clients.relatives.zookeeper.kazoo_session import KazooSession
from groupproof.clients.relatives.zookeeper.log_reader import FETCH_WAIT_MS, LogReader
from groupproof.protocol.relatives.zookeeper_messages import SessionState, WatchEvent
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["ZooKeeperConsumer"]

_REQUEST_S: Final = 30.0


class ZooKeeperConsumer:
    """One process. Start `run` in a nursery.

    `report` gets the machine's reports, `delivered` each record, `session_changed` each change of the session. `hosts` is ZooKeeper's
    connection string; `connect` and `bootstrap` lead to the brokers. `pace_ms` is the application's pause between records of one stream, 0 for
    none. `wait_ms` is how long a broker may hold an empty Fetch. Machines read trio's clock.
    """

    def __init__(
        self,
        settings: ConsumerSettings,
        *,
        consumer_id: str,
        hosts: str,
        connect: Connect,
        bootstrap: Sequence[tuple[str, int]],
        report: Callable[[Notification], None] = lambda _: None,
        delivered: Callable[[Record], None] = lambda _: None,
        session_changed: Callable[[SessionState], None] = lambda _: None,
        observer: Observer | None = None,
        pace_ms: int = 0,
        wait_ms: int = FETCH_WAIT_MS,
    ) -> None:
        self.machine = ConsumerMachine(settings, consumer_id=consumer_id)
        self._settings, self._hosts, self._connect, self._bootstrap = settings, hosts, connect, bootstrap
        self._report, self._delivered, self._announce, self._observer = report, delivered, session_changed, observer
        self._pace_ms, self._wait_ms = pace_ms, wait_ms
        self._inputs: deque[Callable[[], list[Output]]] = deque()
        self._changed = trio.Event()
        self._arrived = trio.Event()
        self._ended = trio.Event()
        self._is_opened = False
        self._is_gone = False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until `close` ends or `vanish`. Cancellation has the effect of `vanish`."""
        session_ms = self._settings.zookeeper_session_timeout_ms
        self.session = KazooSession(self._hosts, session_ms, changed=self._session_changed, watched=self._watched)
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                self._brokers = self._opened_brokers(nursery)
                self._reader = LogReader(
                    self, self._brokers, bytes_max=self._settings.fetch_message_max_bytes, offset_reset=self._settings.auto_offset_reset,
                    wait_ms=self._wait_ms,
                )  # fmt: skip
                self._offsets = KafkaOffsets(self._brokers, self._settings.group)
                nursery.start_soon(self._tick)
                nursery.start_soon(self._consume)
                self._take(partial(self.machine.start, now_ms()))
                task_status.started()
                await self._ended.wait()
                nursery.cancel_scope.cancel()
        finally:
            await self._vanish()

    def _opened_brokers(self, nursery: trio.Nursery) -> Brokers:
        return Brokers(
            self._connect, self._bootstrap, nursery, client_id=self.machine.consumer_id, versions={}, shares_connections=False,
            timeout_s=_REQUEST_S, lost=lambda *_: None, observer=self._observer,
        )  # fmt: skip

    def commit(self) -> None:
        """Commit the consumed offsets (commitOffsets)."""
        self._take(lambda: self.machine.commit(now_ms()))

    async def close(self) -> None:
        """Leave cleanly, and return afterwards (shutdown)."""
        self._take(lambda: self.machine.close(now_ms()))
        await self._ended.wait()

    def vanish(self) -> None:
        """End like a killed process, without any message."""
        self._ended.set()

    async def _vanish(self) -> None:
        self._is_gone = True
        if self._is_opened and not self.machine.is_closed:
            await self.session.vanish()

    # The log reader's host

    def room(self, partition: TopicPartition) -> bool:
        return self.machine.room(partition)

    def fetch_offset(self, partition: TopicPartition) -> int | None:
        return self.machine.fetch_offset(partition)

    def chunk(self, partition: TopicPartition, records: Sequence[Fetched]) -> None:
        self._take(lambda: self.machine.chunk(partition, records, now_ms()))
        self._arrived.set()

    def reset(self, partition: TopicPartition, offset: int) -> None:
        self.machine.reset(partition, offset)

    def unfetchable(self, partitions: Iterable[TopicPartition]) -> None:
        lost = frozenset(partitions)
        self._take(lambda: self.machine.unfetchable(lost, now_ms()))

    # Inputs one after the other, and their outputs

    def _take(self, give: Callable[[], list[Output]]) -> None:
        """Pass an input to the machine, after the inputs before it, and perform its outputs."""
        self._inputs.append(give)
        if len(self._inputs) > 1:
            return
        while self._inputs and not self._is_gone:
            for output in self._inputs[0]():
                self._perform(output)
            self._inputs.popleft()
        self._changed.set()

    def _answered(self, ask_id: int, reply: Reply) -> None:
        self._take(lambda: self.machine.answered(ask_id, reply, now_ms()))

    def _session_changed(self, state: SessionState, session_id: int) -> None:
        self._announce(state)
        self._take(lambda: self.machine.session(state, now_ms(), session_id=session_id))

    def _watched(self, event: WatchEvent) -> None:
        self._take(lambda: self.machine.watched(event, now_ms()))

    def _perform(self, output: Output) -> None:
        match output:
            case OpenSession():
                self._open()
            case Ask(ask_id, operation):
                self.session.ask(operation, partial(self._answered, ask_id))
            case StopFetchers(ask_id):
                self._reader.stop()
                self._answered(ask_id, None)
            case FindLeaders(ask_id, topics):
                self._reader.find_leaders(topics, partial(self._answered, ask_id))
            case Fetch(leader, offsets):
                self._fetch(leader, offsets)
            case Disconnect(ask_id):
                self._nursery.start_soon(self._disconnect, ask_id)
            case FindOffsetManager(ask_id):
                self._nursery.start_soon(self._offsets.find, partial(self._answered, ask_id))
            case CommitToKafka(ask_id, offsets):
                self._offsets.commit(offsets, partial(self._answered, ask_id))
            case FetchFromKafka(ask_id, partitions):
                self._offsets.fetch(partitions, partial(self._answered, ask_id))
            case _:
                self._notify(output)

    def _notify(self, output: Notification) -> None:
        self._report(output)
        if isinstance(output, ShutdownResult):
            self._ended.set()

    def _open(self) -> None:
        # After an expired session kazoo opens the next one itself.
        if not self._is_opened:
            self._is_opened = True
            self.session.open()

    def _fetch(self, leader: Node, offsets: Any) -> None:
        # Queued inputs may belong to an earlier fetch: the machine drops their records.
        self._reader.fetch(leader, offsets)

    async def _disconnect(self, ask_id: int) -> None:
        await self.session.close()
        self._answered(ask_id, None)

    # Background tasks

    async def _tick(self) -> None:
        while True:
            self._changed = trio.Event()
            deadline = self.machine.next_deadline_ms
            with trio.move_on_at(math.inf if deadline is None else deadline / 1000):
                await self._changed.wait()
            if deadline is not None and now_ms() >= deadline:
                self._take(lambda: self.machine.tick(now_ms()))

    async def _consume(self) -> None:
        """Act as the application: take each stream's records as they come, or one of each stream at a time."""
        while True:
            self._arrived = trio.Event()
            if not self._consumed():
                self._reader.pursue()
                await self._arrived.wait()
            await trio.sleep(self._pace_ms / 1000)

    def _consumed(self) -> bool:
        """Take records; with a pace, one of each stream. Return whether there were any."""
        is_any = False
        for stream in [stream for streams in self.machine.streams.values() for stream in streams]:
            while (record := self.machine.take(stream)) is not None:
                is_any = True
                self._delivered(record)
                if self._pace_ms:
                    break
        self._reader.pursue()
        return is_any
