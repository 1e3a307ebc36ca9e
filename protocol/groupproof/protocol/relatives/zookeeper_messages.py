"""ZooKeeper's messages: requests, answers and watch events. The simulated clients and servers exchange these.

Only what Kafka's clients of 0.9 use is here: no access lists, no sequential nodes, no transactions of several operations.
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
    """How an operation ended, by the names of ZooKeeper's KeeperException."""

    OK = "ok"
    NO_NODE = "no node"
    NODE_EXISTS = "node exists"
    NOT_EMPTY = "not empty"
    BAD_VERSION = "bad version"
    NO_CHILDREN_FOR_EPHEMERALS = "no children for ephemerals"
    CONNECTION_LOSS = "connection loss"
    SESSION_EXPIRED = "session expired"


class Create(NamedTuple):
    """Create a node; its parent has to be there. An ephemeral one goes with the session that created it."""

    path: str
    data: bytes = b""
    is_ephemeral: bool = False


class Delete(NamedTuple):
    """Delete a node without children, of that version."""

    path: str
    version: int = ANY_VERSION


class Get(NamedTuple):
    """Read a node's data; a watch fires once, when the data change or the node goes."""

    path: str
    is_watched: bool = False


class GetEach(NamedTuple):
    """Read children's data without watches, one request after the other; the first that fails is the last. It stands for as many requests as names."""

    parent: str
    names: tuple[str, ...]


class Set(NamedTuple):
    """Write a node's data, of that version."""

    path: str
    data: bytes
    version: int = ANY_VERSION


class Exists(NamedTuple):
    """Ask whether a node is there; a watch fires once, when the node comes, goes, or its data change."""

    path: str
    is_watched: bool = False


class Children(NamedTuple):
    """List a node's children; a watch fires once, when a child comes or goes, or the node itself goes."""

    path: str
    is_watched: bool = False


Operation = Create | Delete | Get | GetEach | Set | Exists | Children


class Answer(NamedTuple):
    """What came of an operation.

    `data` and `version` are of Get (and `version` of Set and Exists), `children` of Children, `values` of GetEach: those that were read, all of them
    when the code is OK. `owner` is the session of an ephemeral node, 0 for others. CONNECTION_LOSS and SESSION_EXPIRED leave open whether it was done.
    """

    code: Code
    data: bytes = b""
    version: int = 0
    owner: int = 0
    children: tuple[str, ...] = ()
    values: tuple[bytes, ...] = ()


OK = Answer(Code.OK)


class EventKind(Enum):
    """What a watch tells."""

    CREATED = "created"
    DELETED = "deleted"
    DATA_CHANGED = "data changed"
    CHILDREN_CHANGED = "children changed"


class WatchEvent(NamedTuple):
    """A watch has fired, and is gone by that."""

    kind: EventKind
    path: str


class SessionState(Enum):
    """What a client knows of its session, by the names of ZooKeeper's KeeperState."""

    SYNC_CONNECTED = "SyncConnected"
    DISCONNECTED = "Disconnected"
    EXPIRED = "Expired"


def requests_in(operation: Operation) -> int:
    """Return how many requests of ZooKeeper an operation stands for."""
    return len(operation.names) if isinstance(operation, GetEach) else 1
