"""The consumer on ZooKeeper: one process of Kafka 0.9.0.1's high-level consumer (ZookeeperConsumerConnector) as a pure machine.

Its inputs are time (`now_ms`) and ZooKeeper's answers and events as data. Its results are `Output`s, to be performed in order.
The threads of the process (the application's, ZkClient's event thread, the watcher executor, the auto-commit task, the leader finder)
run side by side here too: several asks may be under way at once. The driver

    machine = ConsumerMachine(ConsumerSettings(group="g", topics={"t": 2}), consumer_id=consumer_id("g", "host", now_ms, random_bits))
    outputs = machine.start(now_ms)                                  # [Connect(6000)]: open a session, then report it:
    outputs = machine.session(SessionState.SYNC_CONNECTED, now_ms, session_id=7)
    outputs = machine.answered(ask_id, reply, now_ms)                # the reply to each Ask, StopFetchers, FindLeaders …
    outputs = machine.watched(WatchEvent(EventKind.CHILDREN_CHANGED, path), now_ms)     # one-shot watches, as the operations requested them
    outputs = machine.session(SessionState.DISCONNECTED, now_ms)     # then SYNC_CONNECTED again, or EXPIRED, which causes a new Connect
    outputs = machine.tick(now_ms)                                   # when machine.next_deadline_ms is reached

fetches, and lets the application consume and leave:

    machine.room(partition), machine.fetch_offset(partition)         # after a Fetch: whether there is room for a chunk, and its offset
    outputs = machine.chunk(partition, records, now_ms)              # the fetched records, as (offset, value)
    machine.take(machine.streams[topic][thread])                     # the next record of a stream, or None; it then counts as consumed
    machine.reset(partition, offset)                                 # the actual start by auto.offset.reset, if the offset is -1 or out of range
    outputs = machine.unfetchable(partitions, now_ms)                # the leader is gone or has changed: look it up again
    outputs = machine.commit(now_ms)                                 # commitOffsets
    outputs = machine.close(now_ms)                                  # shutdown; ends with ShutdownResult

Operations on a lost connection are answered CONNECTION_LOSS, on an ended session SESSION_EXPIRED. The machine repeats both later,
as ZkClient's retryUntilConnected does. Report the session's new state before these answers. Inputs never raise because of ZooKeeper or a broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from groupproof.clients.relatives.zookeeper.consumer_outputs import Connect, ConsumerFailure, Disconnect, Output, Reply, ShutdownResult, StreamsReady
from groupproof.clients.relatives.zookeeper.consumer_process import Process
from groupproof.clients.relatives.zookeeper.consumer_streams import Fetched, Record, Stream
from groupproof.clients.relatives.zookeeper.consumer_threads import Acquire, Body, Steps
from groupproof.clients.relatives.zookeeper.group_settings import ConsumerSettings
from groupproof.clients.relatives.zookeeper.offset_nodes import Offsets
from groupproof.clients.relatives.zookeeper.partition_leaders import FINDER, Fetchers
from groupproof.clients.relatives.zookeeper.paths import TOPICS, topic_path
from groupproof.clients.relatives.zookeeper.rebalancing import EXECUTOR, RebalanceFailed, Rebalancing
from groupproof.clients.relatives.zookeeper.zkclient import EVENT_THREAD, NodeTrouble
from groupproof.protocol.relatives.zookeeper_messages import Create, SessionState, WatchEvent
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["ConsumerMachine"]

_STARTING: Final = "createMessageStreams"
_USER: Final = "user"
_COMMITS: Final = "kafka-consumer-autocommit"


class ConsumerMachine:
    """One consumer process. Every input returns the outputs it caused."""

    def __init__(self, settings: ConsumerSettings, *, consumer_id: str) -> None:
        self._process = Process(settings, consumer_id)
        self._offsets = Offsets(self._process)
        self._fetchers = Fetchers(self._process)
        self._rebalancing = Rebalancing(self._process, self._offsets, self._fetchers)
        self._topics: tuple[str, ...] = ()
        self._is_started = False
        self.is_closed = False

    # The consumer's properties

    @property
    def settings(self) -> ConsumerSettings:
        return self._process.settings

    @property
    def consumer_id(self) -> str:
        return self._process.consumer_id

    @property
    def owned(self) -> frozenset[TopicPartition]:
        """The partitions of the topic registry, which the consumer believes to own."""
        return frozenset(self._process.owned)

    @property
    def streams(self) -> Mapping[str, tuple[Stream, ...]]:
        """The result of createMessageStreams: the streams by topic, or by the pattern of a white list."""
        return self._process.streams

    @property
    def leaderless(self) -> frozenset[TopicPartition]:
        """Owned partitions that wait for the leader finder."""
        return frozenset(self._fetchers.leaderless)

    @property
    def threads(self) -> frozenset[str]:
        """The names of the threads that have not ended."""
        return self._process.threads.names

    @property
    def is_rebalancing(self) -> bool:
        return self._rebalancing.is_running or self._rebalancing.is_pending

    @property
    def is_closing(self) -> bool:
        """Return whether the consumer was closed, even if the shutdown still runs."""
        return self._process.is_shutting_down

    @property
    def is_idle(self) -> bool:
        """Return whether no rebalance runs or waits, and no event that may cause one is being handled."""
        return not self.is_rebalancing and self._process.client.is_idle

    @property
    def next_deadline_ms(self) -> int | None:
        """The time of the next `tick`, unless another input comes before."""
        return self._process.threads.deadline_ms(is_bare_counted=True)

    @property
    def next_work_ms(self) -> int | None:
        """The time of the next `tick` with an effect: `next_deadline_ms` without the executor's checks of the shutdown flag."""
        return self._process.threads.deadline_ms(is_bare_counted=self._process.is_shutting_down)

    # Inputs from ZooKeeper, the brokers and the clock

    def start(self, now_ms: int) -> list[Output]:
        """Connect, register, watch and rebalance (createMessageStreams; ZK-12, ZK-39). A consumer starts once."""
        assert not self._is_started, "a consumer creates its streams at most once"
        self._is_started = True
        process = self._process
        process.emit(Connect(process.settings.zookeeper_session_timeout_ms))
        process.threads.start(EVENT_THREAD, process.client.run_events())
        process.threads.start(_STARTING, self._start())
        return process.threads.run(now_ms)

    def session(self, state: SessionState, now_ms: int, *, session_id: int = 0) -> list[Output]:
        """Handle a change of the session. Call this before the answers to operations that the change ended."""
        process = self._process
        if state is SessionState.SYNC_CONNECTED:
            process.client.connected(session_id)
        elif state is SessionState.DISCONNECTED:
            process.client.disconnected()
        elif not self.is_closed:
            process.emit(Connect(process.settings.zookeeper_session_timeout_ms))
            process.client.expired()
        return process.threads.run(now_ms)

    def watched(self, event: WatchEvent, now_ms: int) -> list[Output]:
        """Handle a watch's event."""
        self._process.client.watched(event)
        return self._process.threads.run(now_ms)

    def answered(self, ask_id: int, reply: Reply, now_ms: int) -> list[Output]:
        """Handle the reply to an ask. Ignore it if no thread waits for it."""
        self._process.threads.answer(ask_id, reply)
        return self._process.threads.run(now_ms)

    def tick(self, now_ms: int) -> list[Output]:
        """Run the threads that are due."""
        return self._process.threads.run(now_ms)

    # Inputs from fetchers

    def room(self, partition: TopicPartition) -> bool:
        """Return whether an owned partition has room for a chunk."""
        owned = self._process.owned.get(partition)
        return owned is not None and owned.has_room()

    def fetch_offset(self, partition: TopicPartition) -> int | None:
        """Return the next offset to fetch, or None if the partition is not owned."""
        owned = self._process.owned.get(partition)
        return None if owned is None else owned.fetched

    def consumed_offset(self, partition: TopicPartition) -> int | None:
        """Return the offset that a commit would store now, or None if the partition is not owned."""
        owned = self._process.owned.get(partition)
        return None if owned is None else owned.consumed

    def reset(self, partition: TopicPartition, offset: int) -> None:
        """Set the start offset of a partition, according to auto.offset.reset."""
        owned = self._process.owned.get(partition)
        if owned is not None:
            owned.reset(offset)

    def chunk(self, partition: TopicPartition, records: Sequence[Fetched], now_ms: int) -> list[Output]:
        """Queue fetched records of an owned partition with room. Records of other partitions are dropped."""
        owned = self._process.owned.get(partition)
        if owned is not None and owned.stream is not None and records:
            owned.put(records)
        return self._process.threads.run(now_ms)

    def unfetchable(self, partitions: Iterable[TopicPartition], now_ms: int) -> list[Output]:
        """Handle partitions that the broker no longer serves (ConsumerFetcherManager.addPartitionsWithError)."""
        self._fetchers.unfetchable(partitions)
        return self._process.threads.run(now_ms)

    # Inputs from the application

    def take(self, stream: Stream) -> Record | None:
        """Return a stream's next record, or None. The record then counts as consumed (ConsumerIterator.next)."""
        return stream.take()

    def commit(self, now_ms: int, *, retries: int = 0) -> list[Output]:
        """Commit the consumed offsets (commitOffsets). A failed commit to Kafka is repeated up to `retries` times."""
        self._process.threads.start(_USER, self._commit(retries))
        return self._process.threads.run(now_ms)

    def close(self, now_ms: int) -> list[Output]:
        """Stop, auto-commit, and close the session (shutdown). Ends with `ShutdownResult`. A second call does nothing."""
        process = self._process
        if not process.is_shutting_down:
            process.is_shutting_down = True
            process.threads.cancel(_COMMITS)
            process.threads.start(_USER, self._shut_down())
        return process.threads.run(now_ms)

    # The application's thread

    def _start(self) -> Body:
        process = self._process
        try:
            yield from self._offsets.find_manager()
            if process.settings.auto_commit_enable:
                process.threads.start(_COMMITS, self._offsets.commit_by_interval())
            topics = yield from self._first_topics()
            yield from self._register()
            process.client.on_new_session(self._new_session)
            yield from self._initialize(topics, "start")
            if process.registration.is_by_pattern:
                yield from self._watch_topics()
        except (NodeTrouble, RebalanceFailed) as error:
            name = "ConsumerRebalanceFailedException" if isinstance(error, RebalanceFailed) else "ZkException"
            process.emit(ConsumerFailure(error=name, message=str(error), cause="start"))
            return
        process.emit(StreamsReady())

    def _first_topics(self) -> Steps[dict[str, int]]:
        if not self._process.registration.is_by_pattern:
            return self._filtered(())
        return self._filtered((yield from self._process.client.children_if_any(TOPICS)))

    def _filtered(self, topics: tuple[str, ...]) -> dict[str, int]:
        return self._process.registration.threads(topics, is_internal_excluded=self._process.settings.exclude_internal_topics)

    def _register(self) -> Steps[None]:
        process = self._process
        data = process.registration.to_data(process.threads.now_ms)
        yield from process.client.register(process.paths.id_of(process.consumer_id), data)

    def _initialize(self, topics: dict[str, int], cause: str) -> Steps[None]:
        """Connect streams, subscribe, and rebalance explicitly (reinitializeConsumer; ZK-30, ZK-31)."""
        process = self._process
        if EXECUTOR not in process.threads.names:
            process.threads.start(EXECUTOR, self._rebalancing.execute())
        self._topics = tuple(topics)
        process.make_feeds(topics)
        yield from process.client.subscribe_children(process.paths.ids, self._rebalancing.on_children)
        for topic in topics:
            yield from process.client.subscribe_data(topic_path(topic), self._rebalancing.trigger)
        yield from self._rebalancing.rebalance(cause)

    def _commit(self, retries: int) -> Body:
        try:
            yield from self._offsets.commit(retries=retries)
        except NodeTrouble as trouble:
            self._process.emit(ConsumerFailure(error="ZkException", message=str(trouble), cause="commit"))

    def _shut_down(self) -> Body:
        process = self._process
        yield Acquire(process.rebalance_lock)
        yield from self._fetchers.stop()
        process.clear_queues(None)
        if process.settings.auto_commit_enable:
            yield from self._commit(retries=0)
        yield Disconnect(process.threads.new_ask())
        self.is_closed = True
        process.threads.release(process.rebalance_lock)
        for name in (EVENT_THREAD, FINDER, _STARTING):
            process.threads.cancel(name)
        process.emit(ShutdownResult())

    # The event thread

    def _new_session(self) -> Body:
        """Clear the owned partitions, register again, rebalance: the old session's ephemeral nodes are gone (ZKSessionExpireListener, ZK-32)."""
        self._process.owned.clear()
        try:
            yield from self._register()
        except NodeTrouble as trouble:
            self._process.emit(ConsumerFailure(error="ZkException", message=str(trouble), cause="session"))
            return
        yield from self._rebalancing.rebalance_or_report("session")

    def _watch_topics(self) -> Steps[None]:
        """Watch for topics that match a pattern (ZookeeperTopicEventWatcher)."""
        process = self._process
        if not (yield from process.client.exists(TOPICS)):
            yield from process.client.do(Create(TOPICS))
        process.client.on_new_session(self._watch_topics_anew)
        yield from process.client.subscribe_children(TOPICS, self._topics_changed)
        yield from self._topics_changed()

    def _watch_topics_anew(self) -> Body:
        yield from self._process.client.subscribe_children(TOPICS, self._topics_changed)

    def _topics_changed(self) -> Body:
        topics = self._filtered((yield from self._process.client.children_if_any(TOPICS)))
        if set(topics) == set(self._topics):
            return
        try:
            yield from self._initialize(topics, "topics")
        except RebalanceFailed as failed:
            self._process.emit(ConsumerFailure(error="ConsumerRebalanceFailedException", message=str(failed), cause="topics"))
