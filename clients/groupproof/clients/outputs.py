"""The outputs of a member, which the driver performs. They are plain data: the member itself uses no connection, clock or callback.

`Send`, the most frequent output, is a named tuple: a frozen dataclass takes twice as long to create.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from groupproof.protocol.vocabulary import TopicPartition
    from groupproof.protocol.wire.messages import GroupRequest

__all__ = [
    "Callback", "CallbackKind", "CloseResult", "CommitResult", "Drop", "Fail", "NeedMetadata", "Node", "OffsetFetchResult", "Output", "Send", "is_more_than_sent",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A broker as FindCoordinator describes it."""

    node_id: int
    host: str
    port: int


class Send(NamedTuple):
    """Send `message` to the broker `to` (None: any broker). `lane` names the connection to it. Feed back `response` or `disconnected`."""

    request_id: int
    message: GroupRequest
    to: Node | None
    lane: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Close the group's connections to `to` (None: the connection for lookups). The member has already forgotten its requests in flight there."""

    to: Node | None


class CallbackKind(Enum):
    """The three callbacks of Kafka's ConsumerRebalanceListener."""

    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """Run the application's callback, then call `callback_done` or `callback_failed`. At most one callback runs at a time."""

    kind: CallbackKind
    partitions: frozenset[TopicPartition]
    member_id: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitResult:
    """A commit ended. `error` is the name of Kafka's error code or of the lapse, None for success. `mode` is sync, async or auto."""

    token: Hashable
    mode: str
    offsets: Mapping[TopicPartition, int]
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResult:
    """An OffsetFetch ended. Offset -1 means that no offset is committed (CLIENT-79)."""

    token: Hashable
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedMetadata:
    """Feed back `metadata` that covers `topics`. The leader's SyncGroup waits for it."""

    topics: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """Report an error to the application. After a fatal error the member only accepts `close`."""

    error: str
    message: str
    fatal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseResult:
    """The clean close ended. If `closed`, the member is finished; otherwise it may subscribe again."""

    closed: bool


Output = Send | Drop | Callback | CommitResult | OffsetFetchResult | NeedMetadata | Fail | CloseResult


def is_more_than_sent(outputs: list[Output]) -> bool:
    """Return whether an output other than `Send` is present. Only such an output can let the parts of a member continue."""
    for output in outputs:  # noqa: SIM110  # the hottest loop of a member: `any` costs more than it looks at
        if type(output) is not Send:
            return True
    return False
