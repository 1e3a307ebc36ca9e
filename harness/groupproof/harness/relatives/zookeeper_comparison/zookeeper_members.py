"""Members of the design without a coordinator: consumers on a real ZooKeeper, in which the brokers are registered as Kafka does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import trio

from groupproof.clients.consumer.consumer import now_ms
from groupproof.clients.outputs import Node
from groupproof.clients.relatives.zookeeper.consumer_driver import ZooKeeperConsumer
from groupproof.clients.relatives.zookeeper.consumer_outputs import (
    AttemptBegan,
    AttemptEnded,
    BeforeReleasing,
    ConsumerFailure,
    Notification,
    OffsetsStored,
    OwnerNodesCreated,
    OwnerNodesDeleted,
    ShutdownResult,
    StreamsReady,
)
from groupproof.clients.relatives.zookeeper.consumer_streams import Record
from groupproof.clients.relatives.zookeeper.group_settings import ConsumerSettings
from groupproof.clients.relatives.zookeeper.kazoo_session import KazooSession
from groupproof.clients.relatives.zookeeper.paths import BROKERS, TOPICS, broker_data, broker_path, consumer_id, parent_of, topic_data, topic_path
from groupproof.harness.judging.diagnosis.zookeeper_group import WATCHED
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.relatives.zookeeper_comparison.read_ledger import ReadLedger
from groupproof.harness.relatives.zookeeper_comparison.side import GROUP, TOPIC, Common, ConnectOf
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.protocol.relatives.zookeeper_messages import Answer, Code, Create, Operation, SessionState
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["ZooKeeperSide", "registered_brokers"]

_ADMIN_MS = 30_000
_UP_S = 30.0


class ZooKeeperSide:
    """`hosts_of` gives each member its connection string; `commons` are the settings that both designs share."""

    design: str = "zookeeper"

    def __init__(
        self,
        common: Common,
        nursery: trio.Nursery,
        ledger: ReadLedger,
        *,
        hosts_of: Callable[[str], str],
        connect_of: ConnectOf,
        recorder: Recorder | None = None,
    ) -> None:
        self.ledger = ledger
        self.rebalances = self.failures = 0
        self.failed: list[ConsumerFailure] = []
        self._common, self._nursery, self._hosts_of, self._connect_of = common, nursery, hosts_of, connect_of
        self._consumers: dict[str, ZooKeeperConsumer] = {}
        self._gone: Counter[str] = Counter()
        self._gone_heard = 0
        self._started: set[str] = set()
        self._begun = trio.Event()
        self._recorder = recorder
        self._settings = ConsumerSettings(
            group=GROUP, topics={TOPIC: 1}, zookeeper_session_timeout_ms=common.session_ms, auto_commit_interval_ms=common.commits_ms,
            auto_offset_reset="smallest", rebalance_max_retries=common.retries, rebalance_backoff_ms=common.backoff_ms,
        )  # fmt: skip

    @property
    def asked(self) -> Counter[str]:
        return sum((consumer.session.asked for consumer in self._consumers.values()), Counter(self._gone))

    @property
    def heard(self) -> int:
        return self._gone_heard + sum(consumer.session.heard for consumer in self._consumers.values())

    @property
    def members(self) -> Sequence[str]:
        return list(self._consumers)

    async def begin(self, name: str) -> None:
        connect, bootstrap = self._connect_of(name)
        made = ZooKeeperConsumer(
            self._settings, consumer_id=consumer_id(GROUP, name, 0, 0), hosts=self._hosts_of(name), connect=connect, bootstrap=bootstrap,
            report=partial(self._on_report, name), delivered=partial(self._delivered, name), pace_ms=self._common.pace_ms, wait_ms=self._common.wait_ms,
        )  # fmt: skip
        await self._nursery.start(made.run)
        self._consumers[name] = made

    async def leave(self, name: str) -> None:
        await self._consumers[name].close()
        self._record(name, "gone", how="left")
        self._forget(name)

    async def kill(self, name: str) -> None:
        self._begun = trio.Event()
        self._consumers[name].vanish()
        self._record(name, "gone", how="was killed")
        self._forget(name)
        await self._begun.wait()

    def is_settled(self) -> bool:
        if not self._started.issuperset(self._consumers):
            return False
        owned = [consumer.machine.owned for consumer in self._consumers.values()]
        is_parted = sum(map(len, owned)) == len(frozenset().union(*owned)) == self._common.partitions
        return is_parted and all(consumer.machine.is_idle for consumer in self._consumers.values())

    def commit(self) -> None:
        """Let every member commit what it has consumed."""
        for consumer in self._consumers.values():
            consumer.commit()

    def _forget(self, name: str) -> None:
        gone = self._consumers.pop(name)
        self._gone += gone.session.asked
        self._gone_heard += gone.session.heard
        self.ledger.lets_go(name, now_ms())

    def _record(self, name: str, change: str, partitions: frozenset[TopicPartition] = frozenset(), **body: Any) -> None:
        if self._recorder is not None:
            columns = {"name": WATCHED, "what": change, **body}
            self._recorder.record("event", who="member", client=name, group=GROUP, partitions=tuple(sorted(partitions)), body=columns)

    def _recorded(self, name: str, event: Notification) -> None:
        """Write down what the diagnosis reads."""
        match event:
            case AttemptBegan(attempt=attempt, cause=cause):
                self._record(name, "attempt-began", attempt=attempt, cause=cause)
            case AttemptEnded(attempt=attempt, error=error, is_conflict=is_conflict):
                self._record(name, "attempt-ended", attempt=attempt, error=error, is_conflict=is_conflict)
            case OwnerNodesCreated(partitions=partitions):
                self._record(name, "owned", partitions)
            case OwnerNodesDeleted(partitions=partitions):
                self._record(name, "released", partitions)
            case ConsumerFailure(error=error):
                self._record(name, "failed", error=error)

    def _on_report(self, name: str, event: Notification) -> None:
        self._recorded(name, event)
        match event:
            case AttemptBegan(attempt=0):
                self.rebalances += 1
                self._begun.set()
            case BeforeReleasing() | ShutdownResult():
                self.ledger.lets_go(name, now_ms())
            case OwnerNodesCreated(partitions=partitions):
                self.ledger.holds(name, partitions, now_ms())
            case OffsetsStored(offsets=offsets):
                self.ledger.accepted(name, offsets, now_ms())
            case StreamsReady():
                self._started.add(name)
            case ConsumerFailure():
                self._started.add(name)
                self.failures += 1
                self.failed.append(event)

    def _delivered(self, name: str, record: Record) -> None:
        self.ledger.read(name, (record.topic, record.partition), record.offset, now_ms())


@asynccontextmanager
async def registered_brokers(hosts: str, addresses: Mapping[int, Address], partitions: int) -> AsyncIterator[None]:
    """Stand in ZooKeeper for the brokers at these addresses, and for their topic; `hosts` may end in a root of its own, which is made.

    Raises `BrokenEnvironment` where ZooKeeper can't be started.
    """
    server, slash, root = hosts.partition("/")
    session = await _session(server)
    first = min(addresses)
    try:
        for path in (BROKERS, TOPICS, "/consumers"):
            await _made(session, f"{slash}{root}{path}")
        for node, (host, port) in addresses.items():
            data = broker_data(Node(node_id=node, host=host, port=port), now_ms())
            await _asked(session, Create(f"{slash}{root}{broker_path(node)}", data, is_ephemeral=True))
        await _asked(session, Create(f"{slash}{root}{topic_path(TOPIC)}", topic_data({number: [first] for number in range(partitions)})))
        yield
    finally:
        await session.close()


async def _session(server: str) -> KazooSession:
    up = trio.Event()

    def changed(state: SessionState, _: int) -> None:
        if state is SessionState.SYNC_CONNECTED:
            up.set()

    session = KazooSession(server, _ADMIN_MS, changed=changed, watched=lambda _: None)
    session.open()
    with trio.move_on_after(_UP_S):
        await up.wait()
        return session
    await session.close()
    raise BrokenEnvironment(f"ZooKeeper at {server} did not answer within {_UP_S:g} s")


async def _made(session: KazooSession, path: str) -> None:
    """Create a node with its parents, those that are not there."""
    if parent := parent_of(path):
        await _made(session, parent)
    await _asked(session, Create(path))


async def _asked(session: KazooSession, operation: Operation) -> None:
    done = trio.Event()
    answers: list[Answer] = []

    def answered(answer: Answer) -> None:
        answers.append(answer)
        done.set()

    session.ask(operation, answered)
    await done.wait()
    if answers[0].code not in (Code.OK, Code.NODE_EXISTS):
        raise BrokenEnvironment(f"ZooKeeper would not {type(operation).__name__.lower()} a broker's registration: {answers[0].code.value}")
