"""ZooKeeper's messages between the simulated clients and servers: requests, answers and watch events.

It has only the operations that Kafka's clients of 0.9 use: no access lists, no sequential nodes, no transactions of several operations.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

__all__ = [
    "ANY_VERSION", "OK", "Answer", "Children", "Code", "Create", "Delete", "EventKind", "Exists", "Get", "GetEach", "Operation", "SessionState",
    "Set", "WatchEvent", "requests_in",
]  # fmt: skip

ANY_VERSION = -1


class Code(Enum):
    """The result of an operation, by the names in ZooKeeper's KeeperException."""

    OK = "ok"
    NO_NODE = "no node"
    NODE_EXISTS = "node exists"
    NOT_EMPTY = "not empty"
    BAD_VERSION = "bad version"
    NO_CHILDREN_FOR_EPHEMERALS = "no children for ephemerals"
    CONNECTION_LOSS = "connection loss"
    SESSION_EXPIRED = "session expired"


class Create(NamedTuple):
    """Create a node, whose parent must exist. An ephemeral node ends with the session that created it."""

    path: str
    data: bytes = b""
    is_ephemeral: bool = False


class Delete(NamedTuple):
    """Delete a node without children, if it has this version."""

    path: str
    version: int = ANY_VERSION


class Get(NamedTuple):
    """Read a node's data. A watch fires once, when the data change or the node is deleted."""

    path: str
    is_watched: bool = False


class GetEach(NamedTuple):
    """Read children's data without watches, one request after the other, up to the first that fails. It stands for as many requests as names."""

    parent: str
    names: tuple[str, ...]


class Set(NamedTuple):
    """Write a node's data, if it has this version."""

    path: str
    data: bytes
    version: int = ANY_VERSION


class Exists(NamedTuple):
    """Check whether a node exists. A watch fires once, when the node is created or deleted, or its data change."""

    path: str
    is_watched: bool = False


class Children(NamedTuple):
    """List a node's children. A watch fires once, when a child is created or deleted, or the node itself is deleted."""

    path: str
    is_watched: bool = False


Operation = Create | Delete | Get | GetEach | Set | Exists | Children


class Answer(NamedTuple):
    """The result of an operation.

    `data` and `version` are of Get (and `version` of Set and Exists), `children` of Children. `values` are those that GetEach read, all of them where
    the code is OK. `owner` is the session of an ephemeral node, 0 for others. After CONNECTION_LOSS and SESSION_EXPIRED the operation may or may not
    have been applied.
    """

    code: Code
    data: bytes = b""
    version: int = 0
    owner: int = 0
    children: tuple[str, ...] = ()
    values: tuple[bytes, ...] = ()


OK = Answer(Code.OK)


class EventKind(Enum):
    """The reason for which a watch fired."""

    CREATED = "created"
    DELETED = "deleted"
    DATA_CHANGED = "data changed"
    CHILDREN_CHANGED = "children changed"


class WatchEvent(NamedTuple):
    """A watch has fired and no longer exists."""

    kind: EventKind
    path: str


class SessionState(Enum):
    """A client's view of its session, by the names in ZooKeeper's KeeperState."""

    SYNC_CONNECTED = "SyncConnected"
    DISCONNECTED = "Disconnected"
    EXPIRED = "Expired"


def requests_in(operation: Operation) -> int:
    """Return the number of ZooKeeper requests that an operation stands for."""
    return len(operation.names) if isinstance(operation, GetEach) else 1
