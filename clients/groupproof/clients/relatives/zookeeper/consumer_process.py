"""The state that the threads of one consumer process share: the fields of ZookeeperConsumerConnector."""

from __future__ import annotations

from groupproof.clients.relatives.zookeeper.consumer_outputs import Output
from groupproof.clients.relatives.zookeeper.consumer_streams import OwnedPartition, Stream, by_topic_and_thread, streams_of
from groupproof.clients.relatives.zookeeper.consumer_threads import Lock, Threads
from groupproof.clients.relatives.zookeeper.group_settings import ConsumerSettings
from groupproof.clients.relatives.zookeeper.paths import GroupPaths
from groupproof.clients.relatives.zookeeper.registration import Registration
from groupproof.clients.relatives.zookeeper.zkclient import ZkClient
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["Process"]


class Process:
    """The shared state.

    `owned` is the topic registry, `checkpointed` the offsets known to be in ZooKeeper, `feeds` the stream of each topic's threads.
    """

    def __init__(self, settings: ConsumerSettings, consumer_id: str) -> None:
        self.settings = settings
        self.consumer_id = consumer_id
        self.paths = GroupPaths(settings.group)
        self.registration = Registration.of(settings.topics)
        self.threads = Threads()
        self.client = ZkClient(self.threads)
        self.rebalance_lock = Lock()
        self.is_shutting_down = False
        self.owned: dict[TopicPartition, OwnedPartition] = {}
        self.checkpointed: dict[TopicPartition, int] = {}
        self.streams = streams_of(self.registration, settings.queued_max_message_chunks)
        self.feeds: dict[tuple[str, str], Stream] = {}

    def emit(self, output: Output) -> None:
        self.threads.outputs.append(output)

    def make_feeds(self, topics: dict[str, int]) -> None:
        """Connect threads with streams, by topic. Existing connections stay (ZK-59)."""
        self.feeds |= by_topic_and_thread(self.consumer_id, self.registration, self.streams, topics)

    def clear_queues(self, topics: frozenset[str] | None) -> None:
        """Clear the queues of these topics (None: all), and the current chunk of every iterator."""
        for (topic, _), stream in self.feeds.items():
            if topics is None or topic in topics:
                stream.clear()
        for streams in self.streams.values():
            for stream in streams:
                stream.clear_current()
