"""The outputs of a member, for the code that drives it. Plain data: the member itself touches no connection, clock or callback.

`Send`, which is most of it, is a named tuple: a frozen dataclass takes twice as long to be made.
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
    """A broker as FindCoordinator names it."""

    node_id: int
    host: str
    port: int


class Send(NamedTuple):
    """Send `message` to `to` (None: any broker); `lane` names the connection to that node. Feed back `response` or `disconnected`."""

    request_id: int
    message: GroupRequest
    to: Node | None
    lane: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Close the group's connections to `to` (None: the one that lookups use); what is in flight there is forgotten already."""

    to: Node | None


class CallbackKind(Enum):
    """The three callbacks of Kafka's ConsumerRebalanceListener."""

    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """Run the application's callback, then call `callback_done`, or `callback_failed`; there is never more than one at a time."""

    kind: CallbackKind
    partitions: frozenset[TopicPartition]
    member_id: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitResult:
    """A commit ended; `error` is Kafka's name of the code or lapse, None for success. `mode` is sync, async or auto."""

    token: Hashable
    mode: str
    offsets: Mapping[TopicPartition, int]
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResult:
    """An OffsetFetch ended; an offset of -1 means that none is committed (CLIENT-79)."""

    token: Hashable
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedMetadata:
    """Feed back `metadata` that covers `topics`; the leader's SyncGroup waits for it."""

    topics: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """Tell the application. After a fatal one the member takes part in nothing more; `close` still works."""

    error: str
    message: str
    fatal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseResult:
    """The goodbye is over: after `closed` the member is done for, else it may subscribe again."""

    closed: bool


Output = Send | Drop | Callback | CommitResult | OffsetFetchResult | NeedMetadata | Fail | CloseResult


def is_more_than_sent(outputs: list[Output]) -> bool:
    """Tell whether there is something among the outputs after which the parts of a member may go on: a request that was sent moves none of them."""
    for output in outputs:  # noqa: SIM110  # the hottest loop of a member: `any` costs more than it looks at
        if type(output) is not Send:
            return True
    return False
