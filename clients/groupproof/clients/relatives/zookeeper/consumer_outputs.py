"""The outputs of a consumer on ZooKeeper, which the driver performs, and its reports. Plain data, as in `clients.outputs`.

An output with an `ask_id` needs `ConsumerMachine.answered(ask_id, reply, now_ms)`. Its docstring names the type of the reply.
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
    """Open a new ZooKeeper session. Feed back `session(SYNC_CONNECTED, now_ms, session_id=…)` and later changes of the session."""

    session_timeout_ms: int


class Ask(NamedTuple):
    """Perform the operation at ZooKeeper. The reply is an `Answer`. After CONNECTION_LOSS or SESSION_EXPIRED the machine asks again in a session."""

    ask_id: int
    operation: Operation


class StopFetchers(NamedTuple):
    """Stop all fetching, and pass no chunk of a running fetch. The reply is None, after the stop."""

    ask_id: int


class FindLeaders(NamedTuple):
    """Request the metadata of these topics from the brokers.

    The reply maps partitions to their leaders, without unknown ones. It is None if no broker answered.
    """

    ask_id: int
    topics: frozenset[str]


class Fetch(NamedTuple):
    """Also fetch these partitions from this leader, from these offsets (-1: by auto.offset.reset). Pass `chunk`s while there is `room`.

    Call `unfetchable` for partitions that the broker no longer serves. Do not fetch them until another Fetch names them.
    """

    leader: Node
    offsets: Mapping[TopicPartition, int]


class FindOffsetManager(NamedTuple):
    """Find the broker that stores the group's offsets (only with offsets.storage=kafka). The reply is None, once there is a connection to it."""

    ask_id: int


class CommitToKafka(NamedTuple):
    """Commit to Kafka. The reply maps partitions to error codes, 0 for success (None: the connection failed)."""

    ask_id: int
    offsets: Mapping[TopicPartition, int]


class FetchFromKafka(NamedTuple):
    """Fetch committed offsets from Kafka. The reply maps partitions to offsets, -1 for none (None: the offsets are not available yet)."""

    ask_id: int
    partitions: tuple[TopicPartition, ...]


class Disconnect(NamedTuple):
    """Close the session, which removes its ephemeral nodes. The reply is None."""

    ask_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeReleasing:
    """Run the application's callback of that name. Ownership is released after it (ConsumerRebalanceListener.beforeReleasingPartitions)."""

    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeStarting:
    """Run the application's callback of that name. Fetchers start after it.

    `assignment` is the one that this member computed: consumer to partition to thread.
    """

    consumer_id: str
    assignment: Mapping[str, Mapping[TopicPartition, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptBegan:
    """An attempt to rebalance began. The first attempt of a rebalance has number 0. `cause` is `start`, `event`, `session` or `topics`."""

    attempt: int
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnded:
    """An attempt ended. `error` says why it failed, None for success. `is_conflict`: another member's owner node existed."""

    attempt: int
    error: str | None = None
    is_conflict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerNodesDeleted:
    """The owner nodes of these partitions were deleted."""

    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerNodesCreated:
    """The owner nodes of all these partitions were created. The topic registry is replaced, and fetchers start."""

    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsStored:
    """Offsets were stored. `store` is `zookeeper` or `kafka`. `offsets` has only those that were written (ZK-57)."""

    offsets: Mapping[TopicPartition, int]
    store: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsReady:
    """The start ended, and the application may read its streams (createMessageStreams returned)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerFailure:
    """A rebalance failed permanently (ConsumerRebalanceFailedException), or the start or a commit failed.

    The application gets the error only at the start; otherwise it is logged.
    """

    error: str
    message: str
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownResult:
    """The shutdown ended."""


Asking = Ask | StopFetchers | FindLeaders | FindOffsetManager | CommitToKafka | FetchFromKafka | Disconnect
Notification = (
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
Output = Connect | Fetch | Asking | Notification
Reply = Answer | Mapping[TopicPartition, Node] | Mapping[TopicPartition, int] | None
