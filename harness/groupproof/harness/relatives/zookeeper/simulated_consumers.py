"""Consumers on a virtual ZooKeeper, on one heap of events in microseconds: their machines, its servers, and the network between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from groupproof.clients.outputs import Node
from groupproof.clients.relatives.zookeeper.consumer_machine import ConsumerMachine
from groupproof.clients.relatives.zookeeper.consumer_outputs import (
    Ask,
    Asking,
    AttemptBegan,
    AttemptEnded,
    CommitToKafka,
    Connect,
    ConsumerFailure,
    Disconnect,
    Fetch,
    FetchFromKafka,
    FindLeaders,
    FindOffsetManager,
    Output,
    Reply,
    ShutdownResult,
    StopFetchers,
)
from groupproof.clients.relatives.zookeeper.group_settings import ConsumerSettings
from groupproof.clients.relatives.zookeeper.paths import BROKERS, TOPICS, GroupPaths, broker_data, broker_path, parent_of, topic_data, topic_path
from groupproof.clients.relatives.zookeeper.registration import Registration
from groupproof.coordinator.relatives.zookeeper.ensemble import Ensemble, SessionAnswer, SessionExpiry
from groupproof.coordinator.relatives.zookeeper.ensemble import Output as Said
from groupproof.coordinator.relatives.zookeeper.tree import WatchFired
from groupproof.harness.relatives.zookeeper.connections import Member, Microseconds
from groupproof.harness.relatives.zookeeper.consumption import Consuming
from groupproof.harness.relatives.zookeeper.costs import Costs
from groupproof.harness.relatives.zookeeper.shared_reads import Pieces
from groupproof.protocol.relatives.zookeeper_messages import Answer, Code, Create, GetEach, Operation, SessionState, Set, requests_in
from groupproof.protocol.vocabulary import TopicPartition

if TYPE_CHECKING:
    import random

__all__ = ["BROKER", "MS", "SimulatedGroup"]

BROKER: Final = Node(node_id=1, host="broker", port=9092)
MS: Final = 1_000
_ADMIN: Final = 40_000


class SimulatedGroup:
    """One group's members, ZooKeeper, and a broker that serves every partition of `topics` (name to partitions).

    `flying` counts what is on its way; with nothing flying and nobody busy, nothing happens until something is done from outside, or a timer fires.
    """

    def __init__(self, *, topics: Mapping[str, int], costs: Costs, zookeeper: Ensemble, chance: random.Random) -> None:
        self.heap = Microseconds()
        self.costs = costs
        self.zookeeper = zookeeper
        self.chance = chance
        self.members: dict[str, Member] = {}
        self.consuming = Consuming()
        self.operations: Counter[str] = Counter()
        self.reports: Counter[str] = Counter()
        self.watch_events = 0
        self.flying = 0
        self.busy = 0
        self.settled_us = 0
        self._pieces = Pieces()
        self._free_us: Counter[int] = Counter()
        self._by_session: dict[int, Member] = {}
        self._deadline_us: int | None = None
        self._handlers: dict[type, Callable[[Member, Any], None]] = {
            Ask: self._ask, StopFetchers: self._stop, FindLeaders: self._find, Fetch: self._fetch, Connect: self._connect, Disconnect: self._disconnect,
            CommitToKafka: self._commit, FetchFromKafka: self._committed, FindOffsetManager: self._find_manager,
            AttemptBegan: self._began, AttemptEnded: self._ended, ConsumerFailure: self._failed, ShutdownResult: self._closed,
        }  # fmt: skip
        self._admin = zookeeper.open(_ADMIN)
        self._kafka: dict[TopicPartition, int] = {}
        self._create(BROKERS)
        self.put(broker_path(BROKER.node_id), broker_data(BROKER, 0))
        self._create(TOPICS)
        self.topics = dict(topics)
        for topic, partitions in topics.items():
            self.put(topic_path(topic), topic_data({number: [BROKER.node_id] for number in range(partitions)}))

    @property
    def now_us(self) -> int:
        return self.heap.now_ms

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        return frozenset((topic, number) for topic, count in self.topics.items() for number in range(count))

    @property
    def is_quiet(self) -> bool:
        return not self.flying and not self.busy

    # What is done from outside

    def put(self, path: str, data: bytes) -> None:
        """Write a node as the brokers would; it is created where need be, with its parents."""
        self._create(parent_of(path))
        operation = Set(path, data) if self.zookeeper.tree().node(path) is not None else Create(path, data)
        self._say(self.zookeeper.ask(self._admin, None, operation, self.now_us))

    def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions, or bring it about."""
        self.topics[topic] = partitions
        self.put(topic_path(topic), topic_data({number: [BROKER.node_id] for number in range(partitions)}))

    def add(self, name: str, settings: ConsumerSettings, *, way_us: int, server: int = 0) -> Member:
        """Let a new consumer of that id start."""
        member = self.members[name] = Member(name, ConsumerMachine(settings, consumer_id=name), server=server, way_us=way_us)
        self._do(member, member.machine.start(self.now_us // MS))
        return member

    def add_registered(self, name: str, settings: ConsumerSettings, *, way_us: int) -> Member:
        """Let a consumer start whose registration is there already: those that start together see each other at once, and none sees another come."""
        member = self.members[name] = Member(name, ConsumerMachine(settings, consumer_id=name), server=0, way_us=way_us)
        paths = GroupPaths(settings.group)
        self._create(paths.ids)
        member.session_id = self._open(member, settings.zookeeper_session_timeout_ms)
        create = Create(paths.id_of(name), Registration.of(settings.topics).to_data(0), is_ephemeral=True)
        self._say(self.zookeeper.ask(member.session_id, None, create, self.now_us))
        return member

    def start(self, member: Member) -> None:
        """Start one that is registered already."""
        self._do(member, member.machine.start(self.now_us // MS))

    def close(self, member: Member) -> None:
        self._do(member, member.machine.close(self.now_us // MS))

    def kill(self, member: Member) -> None:
        """End the process without a word; ZooKeeper learns it by the session timeout."""
        self._cut_line(member)
        member.is_dead = True
        self.consuming.stop(member.name, self.now_us)
        self._note(member)

    def cut(self, member: Member) -> None:
        """Let nothing through between a member and ZooKeeper. The client finds out after two thirds of its session timeout."""
        if member.is_cut or member.is_dead or not member.session_id:
            return
        self._cut_line(member)
        member.is_cut = True
        self._later(member.machine.settings.zookeeper_session_timeout_ms * MS * 2 // 3, self._lose, member, member.line)

    def heal(self, member: Member, *, server: int | None = None) -> None:
        """Let everything through again. A client that has found out comes back to its session, or hears that it is over."""
        if not member.is_cut or member.is_dead or member.machine.is_closed:
            return
        member.is_cut = False
        member.server = member.server if server is None else server
        member.line += 1
        self._lose(member, member.line)
        self._later(member.way_us * 2, self._resume, member, member.line)

    # Time

    def run(self, until_us: int) -> None:
        """Let everything happen until then."""
        while (due := self.heap.next_us) is not None and due <= until_us:
            self.heap.step()
        self.heap.now_ms = until_us

    def settle(self, within_us: int) -> bool:
        """Let things happen until the world is quiet; False when it is not by then."""
        until_us = self.now_us + within_us
        while not self.is_quiet and (due := self.heap.next_us) is not None and due <= until_us:
            self.heap.step()
        return self.is_quiet

    def _later(self, us: int, act: Callable[..., None], *arguments: Any) -> None:
        self.flying += 1
        self.heap.after(us, self._land, act, arguments)

    def _land(self, act: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self.flying -= 1
        act(*arguments)

    # What members want

    def _do(self, member: Member, outputs: Iterable[Output]) -> None:
        for output in outputs:
            act = self._handlers.get(type(output))
            if act is not None:
                act(member, output)
        self._note(member)

    def _note(self, member: Member) -> None:
        """Keep count of who is busy, and of when it has to be called next."""
        is_busy = not member.is_dead and not member.machine.is_idle and not member.machine.is_closed
        if is_busy is not member.is_busy:
            member.is_busy = is_busy
            self.busy += 1 if is_busy else -1
            self.settled_us = self.now_us
        due = None if member.is_dead else member.machine.next_work_ms
        if due is not None and (member.tick_us is None or due * MS < member.tick_us):
            member.tick_us = max(due * MS, self.now_us)
            self.heap.at(member.tick_us, self._tick, member, member.tick_us)

    def _tick(self, member: Member, at_us: int) -> None:
        if member.tick_us == at_us:
            member.tick_us = None
            if not member.is_dead:
                self._do(member, member.machine.tick(self.now_us // MS))

    def _answer(self, member: Member, ask_id: int, reply: Reply) -> None:
        if not member.is_dead:
            self._do(member, member.machine.answered(ask_id, reply, self.now_us // MS))

    def _connect(self, member: Member, output: Connect) -> None:
        member.line += 1
        self._later(member.way_us * 2, self._connected, member, member.line, output.session_timeout_ms)

    def _connected(self, member: Member, line: int, timeout_ms: int) -> None:
        if line != member.line or member.is_dead or member.is_cut:
            return
        member.has_heard = False
        member.is_up = True
        member.missed.clear()
        if not self.zookeeper.is_alive(member.session_id):
            self._open(member, timeout_ms)
        self._do(member, member.machine.session(SessionState.SYNC_CONNECTED, self.now_us // MS, session_id=member.session_id))

    def _open(self, member: Member, timeout_ms: int) -> int:
        member.session_id = self.zookeeper.open(timeout_ms, server=member.server)
        self._by_session[member.session_id] = member
        return member.session_id

    def _ask(self, member: Member, output: Ask) -> None:
        member.asked[output.ask_id] = output.operation
        if isinstance(output.operation, GetEach):
            self._later(member.way_us, self._arrive_piece, member, member.line, output.ask_id, output.operation, ())
        else:
            self._later(member.way_us, self._arrive, member, member.line, output.ask_id, output.operation)

    def _stop(self, member: Member, output: StopFetchers) -> None:
        self.consuming.stop(member.name, self.now_us)
        self._later(self.chance.randint(*self.costs.stop_us), self._answer, member, output.ask_id, None)

    def _find(self, member: Member, output: FindLeaders) -> None:
        leaders = dict.fromkeys(member.machine.leaderless, BROKER)
        self._later(self.costs.brokers_us, self._answer, member, output.ask_id, leaders)

    def _fetch(self, member: Member, output: Fetch) -> None:
        self.consuming.start(member.name, output.offsets, self.now_us)
        for partition, offset in output.offsets.items():
            member.machine.reset(partition, max(offset, 0) + 1)  # something is consumed before the next rebalance, and is to be committed in it
        self.settled_us = self.now_us

    def _find_manager(self, member: Member, output: FindOffsetManager) -> None:
        self._later(self.costs.brokers_us, self._answer, member, output.ask_id, None)

    def _commit(self, member: Member, output: CommitToKafka) -> None:
        self._kafka.update(output.offsets)
        self._later(self.costs.brokers_us, self._answer, member, output.ask_id, dict.fromkeys(output.offsets, 0))

    def _committed(self, member: Member, output: FetchFromKafka) -> None:
        found = {partition: self._kafka.get(partition, -1) for partition in output.partitions}
        self._later(self.costs.brokers_us, self._answer, member, output.ask_id, found)

    def _disconnect(self, member: Member, output: Disconnect) -> None:
        self._later(member.way_us, self._end, member, output)

    def _end(self, member: Member, output: Asking) -> None:
        if not member.is_cut and self.zookeeper.is_alive(member.session_id):
            self._say(self.zookeeper.close(member.session_id, None, self.now_us))
        self._later(member.way_us, self._answer, member, output.ask_id, None)

    def _began(self, member: Member, output: AttemptBegan) -> None:
        self.reports["attempts"] += 1
        self.reports["rebalances"] += output.attempt == 0

    def _ended(self, member: Member, output: AttemptEnded) -> None:
        self.reports["conflicts"] += output.is_conflict
        self.reports["failed attempts"] += output.error is not None

    def _failed(self, member: Member, output: ConsumerFailure) -> None:
        self.reports["failures"] += 1

    def _closed(self, member: Member, output: ShutdownResult) -> None:
        member.line += 1

    # What ZooKeeper does

    def _arrive(self, member: Member, line: int, ask_id: int, operation: Operation) -> None:
        if line != member.line:
            return
        self._count(operation)
        self._say(self.zookeeper.ask(member.session_id, (ask_id, operation), operation, self.now_us))

    def _arrive_piece(self, member: Member, line: int, ask_id: int, operation: GetEach, read: tuple[Answer, ...]) -> None:
        """Read one piece of a list: it takes as long as its reads one after the other, and the next piece is asked for after it."""
        if line != member.line:
            return
        piece = self._pieces.of(operation, len(read))
        replies = self.zookeeper.ask(member.session_id, None, piece, self.now_us)
        answer = next(one.answer for one in replies if isinstance(one, SessionAnswer))
        self._say(one for one in replies if not isinstance(one, SessionAnswer))
        self._count(piece)
        read = (*read, answer)
        free_us = self._work(member.server, self.costs.of(piece))
        done_us = max(free_us, self.now_us + len(piece.names) * (self.costs.read_us + 2 * member.way_us) - 2 * member.way_us)
        if answer.code is Code.OK and self._pieces.are_left(operation, len(read)):
            at_us = done_us - self.now_us + 2 * member.way_us
            self._later(at_us, self._arrive_piece, member, line, ask_id, operation, read)
        else:
            self._later(done_us - self.now_us + member.way_us, self._reply, member, line, ask_id, self._pieces.joined(read))

    def _count(self, operation: Operation) -> None:
        self.operations["get" if isinstance(operation, GetEach) else type(operation).__name__.lower()] += requests_in(operation)

    def _work(self, server: int, us: int) -> int:
        """Let a server work for so long, after what it has to do before; return when it is done."""
        self._free_us[server] = max(self.now_us, self._free_us[server]) + us
        return self._free_us[server]

    def _say(self, replies: Iterable[Said]) -> None:
        for one in replies:
            if isinstance(one, SessionExpiry) or one.session_id not in self._by_session:
                continue
            member = self._by_session[one.session_id]
            if isinstance(one, WatchFired):
                self.watch_events += 1
                free_us = self._work(member.server, self.costs.event_us)
                self._later(free_us - self.now_us + member.way_us, self._watched, member, member.line, one)
            elif one.token is not None:
                ask_id, operation = cast(tuple[int, Operation], one.token)
                free_us = self._work(member.server, self.costs.of(operation, len(one.answer.children)))
                self._later(free_us - self.now_us + member.way_us, self._reply, member, member.line, ask_id, one.answer)
        self._watch_clock()

    def _watch_clock(self) -> None:
        """Come back when a lagging server or a lost session has something to tell."""
        due = self.zookeeper.next_deadline_us
        if due is not None and (self._deadline_us is None or due < self._deadline_us):
            self._deadline_us = due
            self.heap.at(max(due, self.now_us), self._advance, due)

    def _advance(self, due_us: int) -> None:
        if self._deadline_us == due_us:
            self._deadline_us = None
            self._say(self.zookeeper.advance(self.now_us))

    def _reply(self, member: Member, line: int, ask_id: int, answer: Answer) -> None:
        if line == member.line and member.asked.pop(ask_id, None) is not None:
            self._answer(member, ask_id, answer)

    def _watched(self, member: Member, line: int, fired: WatchFired) -> None:
        """Bring a client an event; one that the connection was lost under comes when the client is back, for it sets its watches again then."""
        if not member.is_dead and (line == member.line or (member.is_up and fired.session_id == member.session_id)):
            self._do(member, member.machine.watched(fired.event, self.now_us // MS))
        else:
            member.missed.append(fired)

    def _cut_line(self, member: Member) -> None:
        member.line += 1
        member.is_up = False
        if self.zookeeper.is_alive(member.session_id) and not member.is_cut:
            self.zookeeper.lost(member.session_id, self.now_us)
            self._watch_clock()

    def _lose(self, member: Member, line: int) -> None:
        """Tell a client that its connection is gone, and with it what it has asked."""
        if line != member.line or member.is_dead:
            return
        self._do(member, member.machine.session(SessionState.DISCONNECTED, self.now_us // MS))
        for ask_id in list(member.asked):
            del member.asked[ask_id]
            self._answer(member, ask_id, Answer(Code.CONNECTION_LOSS))

    def _resume(self, member: Member, line: int) -> None:
        if line != member.line or member.is_dead or member.machine.is_closed:
            return
        if member.has_heard:  # it was cut off again before it had a new session
            self._connected(member, line, member.machine.settings.zookeeper_session_timeout_ms)
            return
        if self.zookeeper.is_alive(member.session_id) and self.zookeeper.is_behind(member.session_id, member.server):
            member.server = 0
        replies = self.zookeeper.resume(member.session_id, server=member.server, now_us=self.now_us)
        if replies is None:
            member.has_heard = True
            self._do(member, member.machine.session(SessionState.EXPIRED, self.now_us // MS))
            return
        member.is_up = True
        self._do(member, member.machine.session(SessionState.SYNC_CONNECTED, self.now_us // MS, session_id=member.session_id))
        self._say(replies)
        while member.missed:
            self._watched(member, member.line, member.missed.pop(0))

    def _create(self, path: str) -> None:
        if path and self.zookeeper.tree().node(path) is None:
            self._create(parent_of(path))
            self._say(self.zookeeper.ask(self._admin, None, Create(path), self.now_us))
