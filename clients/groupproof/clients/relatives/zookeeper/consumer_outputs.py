"""The outputs of a consumer on ZooKeeper, for the code that drives it, and its reports. Plain data, as in `clients.outputs`.

What carries an `ask_id` is answered by `ConsumerMachine.answered(ask_id, reply, now_ms)`; the type of the reply stands with each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from groupproof.clients.outputs import Node
from groupproof.protocol.relatives.zookeeper_messages import Answer, Operation
from groupproof.protocol.vocabulary import TopicPartition

__all__ = [
    "Ask", "Asking", "AttemptBegan", "AttemptEnded", "BeforeReleasing", "BeforeStarting", "CommitToKafka", "Connect", "ConsumerFailure", "Disconnect",
    "Fetch", "FetchFromKafka", "FindLeaders", "FindOffsetManager", "OffsetsStored", "Output", "OwnerNodesCreated", "OwnerNodesDeleted", "Reply",
    "ShutdownResult", "StopFetchers", "StreamsReady",
]  # fmt: skip


class Connect(NamedTuple):
    """Open a new session at ZooKeeper; feed back `session(SYNC_CONNECTED, now_ms, session_id=…)`, and what happens to the session later."""

    session_timeout_ms: int


class Ask(NamedTuple):
    """Do it at ZooKeeper. The reply is an `Answer`; it may be CONNECTION_LOSS or SESSION_EXPIRED, and is asked again when there is a session."""

    ask_id: int
    operation: Operation


class StopFetchers(NamedTuple):
    """Stop fetching, all of it, and hand in no chunk that was under way. The reply is None, when it is done."""

    ask_id: int


class FindLeaders(NamedTuple):
    """Ask the brokers for the metadata of these topics. The reply maps partitions to their leaders; the unknown are left out (None: no broker answered)."""

    ask_id: int
    topics: frozenset[str]


class Fetch(NamedTuple):
    """Fetch these partitions from this leader too, from these offsets (-1: by auto.offset.reset); hand in `chunk`s while there is `room`.

    Tell `unfetchable` of partitions that the broker no longer serves, and do not fetch them until they come by another Fetch.
    """

    leader: Node
    offsets: Mapping[TopicPartition, int]


class FindOffsetManager(NamedTuple):
    """Find the broker that keeps the group's offsets (only with offsets.storage=kafka). The reply is None, when there is a connection to it."""

    ask_id: int


class CommitToKafka(NamedTuple):
    """Commit to Kafka. The reply maps partitions to error codes, 0 for success (None: the connection failed)."""

    ask_id: int
    offsets: Mapping[TopicPartition, int]


class FetchFromKafka(NamedTuple):
    """Fetch committed offsets from Kafka. The reply maps partitions to offsets, -1 for none (None: the offsets cannot be had yet)."""

    ask_id: int
    partitions: tuple[TopicPartition, ...]


class Disconnect(NamedTuple):
    """Close the session, and its ephemeral nodes go. The reply is None."""

    ask_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeReleasing:
    """Run the application's callback of that name; ownership is released after it (ConsumerRebalanceListener.beforeReleasingPartitions)."""

    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeStarting:
    """Run the application's callback of that name; fetchers start after it. `assignment` is what this member has computed: consumer to partition to thread."""

    consumer_id: str
    assignment: Mapping[str, Mapping[TopicPartition, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptBegan:
    """An attempt to rebalance has begun, the first of a rebalance is number 0. `cause` is what set the rebalance off: `start`, `event` or `session`."""

    attempt: int
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnded:
    """An attempt is over; `error` says why it failed, None for success. `is_conflict` where another member's owner node was in the way."""

    attempt: int
    error: str | None = None
    is_conflict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerNodesDeleted:
    """The owner nodes of these partitions are deleted."""

    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerNodesCreated:
    """These partitions' owner nodes are all created: the topic registry is replaced, and fetchers start."""

    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsStored:
    """Offsets were stored; `store` is `zookeeper` or `kafka`. Only those that were written are named (ZK-57)."""

    offsets: Mapping[TopicPartition, int]
    store: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsReady:
    """The start is over, and the application may take from its streams (createMessageStreams has returned)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerFailure:
    """A rebalance was given up (ConsumerRebalanceFailedException), or the start failed. The application is told only at the start; else it is logged."""

    error: str
    message: str
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownResult:
    """The shutdown is over."""


Asking = Ask | StopFetchers | FindLeaders | FindOffsetManager | CommitToKafka | FetchFromKafka | Disconnect
Telling = (
    BeforeReleasing
    | BeforeStarting
    | AttemptBegan
    | AttemptEnded
    | OwnerNodesDeleted
    | OwnerNodesCreated
    | OffsetsStored
    | StreamsReady
    | ConsumerFailure
    | ShutdownResult
)
Output = Connect | Fetch | Asking | Telling
Reply = Answer | Mapping[TopicPartition, Node] | Mapping[TopicPartition, int] | None
