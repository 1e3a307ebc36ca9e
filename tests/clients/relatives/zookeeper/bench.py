"""Consumers on a virtual ZooKeeper without a network: everything that is asked is done at once, in its order, unless a test holds it back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from groupproof.clients.outputs import Node
from groupproof.clients.relatives.zookeeper.consumer_machine import ConsumerMachine
from groupproof.clients.relatives.zookeeper.consumer_outputs import (
    Ask,
    CommitToKafka,
    Connect,
    Disconnect,
    FetchFromKafka,
    FindLeaders,
    FindOffsetManager,
    Output,
    StopFetchers,
)
from groupproof.clients.relatives.zookeeper.group_settings import ConsumerSettings, WhiteList
from groupproof.clients.relatives.zookeeper.paths import BROKERS, TOPICS, GroupPaths, broker_data, broker_path, parent_of, topic_data, topic_path
from groupproof.coordinator.relatives.zookeeper.ensemble import Ensemble, SessionAnswer
from groupproof.coordinator.relatives.zookeeper.ensemble import Output as Said
from groupproof.coordinator.relatives.zookeeper.tree import WatchFired
from groupproof.protocol.relatives.zookeeper_messages import Answer, Code, Create, Delete, Operation, SessionState, Set
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["BROKER", "PATHS", "Bench", "Player"]

BROKER = Node(node_id=1, host="broker", port=9092)
PATHS = GroupPaths("g")


class Player:
    """One consumer; `log` holds all its outputs in their order."""

    def __init__(self, bench: Bench, name: str, settings: ConsumerSettings) -> None:
        self.bench = bench
        self.name = name
        self.machine = ConsumerMachine(settings, consumer_id=name)
        self.session_id = 0
        self.is_cut = False
        self.log: list[Output] = []

    @property
    def operations(self) -> list[Operation]:
        return [output.operation for output in self.log if isinstance(output, Ask)]

    def outputs_of(self, *kinds: type) -> list[Any]:
        return [output for output in self.log if isinstance(output, kinds)]

    def start(self) -> Player:
        self.bench.do(self, self.machine.start(self.bench.now_ms))
        self.bench.run()
        return self

    def close(self) -> None:
        self.bench.do(self, self.machine.close(self.bench.now_ms))
        self.bench.run()

    def feed(self, partition: TopicPartition, *offsets: int) -> None:
        self.bench.do(self, self.machine.chunk(partition, [(offset, b"%d" % offset) for offset in offsets], self.bench.now_ms))

    def take(self, topic: str = "t", thread: int = 0) -> int | None:
        record = self.machine.take(self.machine.streams[topic][thread])
        return None if record is None else record.offset

    def cut(self) -> None:
        """Lose the connection; the client knows."""
        self.is_cut = True
        self.bench.zookeeper.lost(self.session_id, self.bench.now_ms * 1_000)
        self.bench.do(self, self.machine.session(SessionState.DISCONNECTED, self.bench.now_ms))
        self.bench.run()

    def heal(self) -> None:
        """Come back, to the session if it is there."""
        self.is_cut = False
        outputs = self.bench.zookeeper.resume(self.session_id, server=0, now_us=self.bench.now_ms * 1_000)
        state = SessionState.EXPIRED if outputs is None else SessionState.SYNC_CONNECTED
        self.bench.do(self, self.machine.session(state, self.bench.now_ms, session_id=0 if outputs is None else self.session_id))
        self.bench.say(outputs or [])
        self.bench.run()


class Bench:
    """`holds` keeps an operation back until `let_go`; `leaders` is what the brokers say; `kafka` the offsets that they keep."""

    def __init__(self, topics: Mapping[str, int] | None = None, *, has_broker: bool = True) -> None:
        self.zookeeper = Ensemble()
        self.now_ms = 0
        self.players: dict[int, Player] = {}
        self.holds: Callable[[Player, Operation], bool] = lambda player, operation: False
        self.held: list[tuple[Player, Ask]] = []
        self.kafka: dict[TopicPartition, int] = {}
        self.kafka_errors: dict[TopicPartition, int] | None = {}
        self._ready: deque[Callable[[], None]] = deque()
        self._admin = self.zookeeper.open(40_000)
        self.create(BROKERS)
        self.create(TOPICS)
        if has_broker:
            self.put(broker_path(1), broker_data(BROKER, 0))
        self.topics: dict[str, int] = {}
        for topic, partitions in ({"t": 5} if topics is None else topics).items():
            self.grow(topic, partitions)
        self.leaders: dict[TopicPartition, Node] = {partition: BROKER for partition in self.partitions}

    @property
    def partitions(self) -> list[TopicPartition]:
        return [(topic, number) for topic, count in self.topics.items() for number in range(count)]

    def consumer(self, name: str, topics: Mapping[str, int] | WhiteList | None = None, **settings: Any) -> Player:
        """Return a consumer of `t` by one thread, unless said otherwise, that has not started."""
        return Player(self, name, ConsumerSettings(group="g", topics={"t": 1} if topics is None else topics, **settings))

    # ZooKeeper, as others change it

    def data(self, path: str) -> bytes | None:
        node = self.zookeeper.tree().node(path)
        return None if node is None else node.data

    def owners(self) -> dict[TopicPartition, str]:
        found = {partition: self.data(PATHS.owner(partition)) for partition in self.partitions}
        return {partition: data.decode() for partition, data in found.items() if data is not None}

    def create(self, path: str, data: bytes = b"") -> None:
        if path and self.data(path) is None:
            self.create(parent_of(path))
            self._ask(Create(path, data))

    def put(self, path: str, data: bytes) -> None:
        if self.data(path) is None:
            self.create(path, data)
        else:
            self._ask(Set(path, data))
        self.run()

    def delete(self, path: str) -> None:
        self._ask(Delete(path))
        self.run()

    def grow(self, topic: str, partitions: int) -> None:
        self.topics[topic] = partitions
        self.put(topic_path(topic), topic_data({number: [1] for number in range(partitions)}))

    def _ask(self, operation: Operation) -> None:
        self.say(self.zookeeper.ask(self._admin, None, operation, self.now_ms * 1_000))

    # What is on its way

    def run(self) -> None:
        """Do everything that can be done at this moment."""
        while self._ready:
            self._ready.popleft()()

    def pass_time(self, ms: int) -> None:
        """Let so much time go by, and everything happen in its time."""
        until_ms = self.now_ms + ms
        while True:
            due = [player.machine.next_deadline_ms for player in self.players.values()]
            over = self.zookeeper.next_deadline_us
            due.append(None if over is None else -(-over // 1_000))
            next_ms = min((at for at in due if at is not None), default=until_ms)
            if next_ms > until_ms:
                break
            self.now_ms = max(self.now_ms, next_ms)
            self.say(self.zookeeper.advance(self.now_ms * 1_000))
            for player in list(self.players.values()):
                self.do(player, player.machine.tick(self.now_ms))
            self.run()
            if self.now_ms == until_ms:
                break
        self.now_ms = until_ms

    def let_go(self) -> None:
        """Do what was held back."""
        held, self.held = self.held, []
        for player, output in held:
            self._perform(player, output)
        self.run()

    def say(self, outputs: list[Said]) -> None:
        for one in outputs:
            player = self.players.get(one.session_id)
            if player is None or player.is_cut:
                continue
            if isinstance(one, WatchFired):
                self._ready.append(lambda player=player, event=one.event: self.do(player, player.machine.watched(event, self.now_ms)))  # type: ignore[misc]  # a lambda's defaults have no types
            elif isinstance(one, SessionAnswer):
                self._reply(player, int(str(one.token)), one.answer)

    def do(self, player: Player, outputs: list[Output]) -> None:
        for output in outputs:
            player.log.append(output)
            if isinstance(output, Ask) and self.holds(player, output.operation):
                self.held.append((player, output))
            else:
                self._ready.append(lambda output=output: self._perform(player, output))  # type: ignore[misc]  # a lambda's defaults have no types

    def _reply(self, player: Player, ask_id: int, reply: Any) -> None:
        self._ready.append(lambda: self.do(player, player.machine.answered(ask_id, reply, self.now_ms)))

    def _perform(self, player: Player, output: Output) -> None:
        match output:
            case Connect(timeout_ms):
                self._connect(player, timeout_ms)
            case Ask(ask_id, operation):
                if player.is_cut:
                    self._reply(player, ask_id, Answer(Code.CONNECTION_LOSS))
                else:
                    self.say(self.zookeeper.ask(player.session_id, ask_id, operation, self.now_ms * 1_000))
            case StopFetchers(ask_id) | FindOffsetManager(ask_id):
                self._reply(player, ask_id, None)
            case FindLeaders(ask_id, _):
                self._reply(player, ask_id, dict(self.leaders))
            case CommitToKafka(ask_id, offsets):
                self._commit(player, ask_id, offsets)
            case FetchFromKafka(ask_id, partitions):
                self._reply(player, ask_id, {partition: self.kafka.get(partition, -1) for partition in partitions})
            case Disconnect(ask_id):
                self.say(self.zookeeper.close(player.session_id, ask_id, self.now_ms * 1_000))
            case _:
                pass

    def _connect(self, player: Player, timeout_ms: int) -> None:
        player.session_id = self.zookeeper.open(timeout_ms)
        self.players[player.session_id] = player
        self.do(player, player.machine.session(SessionState.SYNC_CONNECTED, self.now_ms, session_id=player.session_id))

    def _commit(self, player: Player, ask_id: int, offsets: Mapping[TopicPartition, int]) -> None:
        errors = self.kafka_errors
        if errors is not None:
            self.kafka.update({partition: offset for partition, offset in offsets.items() if not errors.get(partition)})
        self._reply(player, ask_id, None if errors is None else {partition: errors.get(partition, 0) for partition in offsets})
