"""The interface that replaces a consumer's assignors: Kafka Connect, Kafka Streams and Faust embed their own protocol in the classic group."""

from __future__ import annotations

from typing import Protocol

from groupproof.clients.member.connect_worker import ConnectWorker
from groupproof.clients.member.faust_worker import FaustWorker
from groupproof.clients.member.member_core import Core
from groupproof.clients.member.partition_handover import HandOver
from groupproof.clients.member.streams_thread import StreamsThread, TopicWatch
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.embedded.faust_metadata import ASSIGNOR
from groupproof.protocol.wire.messages import JoinGroupResponse, JoinProtocol

__all__ = ["EmbeddedProtocol", "embedded_protocol"]


class EmbeddedProtocol(Protocol):
    """The methods that `Joining` calls in place of a consumer's own parts."""

    @property
    def protocol_type(self) -> str: ...

    @property
    def names(self) -> tuple[str, ...]:
        """The offered protocols, the preferred one first."""

    @property
    def assigned(self) -> frozenset[TopicPartition]:
        """The partitions to read according to the newest assignment."""

    @property
    def is_cut_off(self) -> bool:
        """Return whether the member has no place in the group."""

    def protocols(self) -> tuple[JoinProtocol, ...]:
        """Return the protocols for JoinGroup."""

    def joined(self, response: JoinGroupResponse) -> None:
        """Store the members, if this member is the leader. Raise `BlobError`."""

    def assignments(self, now_ms: int) -> list[tuple[str, bytes]]:
        """Return each member's assignment for the leader's SyncGroup, or nothing for a follower's."""

    def accept(self, blob: bytes, now_ms: int) -> str | None:
        """Apply an assignment. Return the reason to join again at once, or None. Raise `BlobError`."""

    def due(self, now_ms: int) -> bool:
        """Return whether the scheduled time of the next rebalance has come."""

    def next_ms(self) -> int | None:
        """Return the scheduled time of the next rebalance in ms, or None."""


def embedded_protocol(core: Core, hand_over: HandOver, leading: TopicWatch) -> EmbeddedProtocol | None:
    """Return the embedded protocol that the settings ask for, or None for a plain consumer."""
    settings = core.settings
    if settings.worker is not None:
        return ConnectWorker(core, settings.worker)
    if settings.thread is not None:
        return StreamsThread(core, settings.thread, hand_over, leading)
    return FaustWorker(core, hand_over, leading) if settings.assignors == (ASSIGNOR,) else None
