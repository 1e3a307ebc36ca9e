"""What a program brings into the classic group in the place of a consumer's assignors: the same questions of Kafka Connect, Kafka Streams and Faust."""

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
    """What `Joining` asks where it would ask a consumer's own parts."""

    @property
    def protocol_type(self) -> str: ...

    @property
    def names(self) -> tuple[str, ...]:
        """The protocols that it offers, the one it likes best first."""

    @property
    def assigned(self) -> frozenset[TopicPartition]:
        """The partitions that its newest assignment has it read."""

    @property
    def is_cut_off(self) -> bool:
        """Tell whether it has no place in the group."""

    def protocols(self) -> tuple[JoinProtocol, ...]:
        """Return what JoinGroup offers."""

    def joined(self, response: JoinGroupResponse) -> None:
        """Take the members, as their leader; raise `BlobError`."""

    def assignments(self, now_ms: int) -> list[tuple[str, bytes]]:
        """Return each member's assignment for the leader's SyncGroup, nothing for a follower's."""

    def accept(self, blob: bytes, now_ms: int) -> str | None:
        """Take an assignment, and return why the member joins again at once, if it does; raise `BlobError`."""

    def due(self, now_ms: int) -> bool:
        """Tell whether a time that its assignment named has come."""

    def next_ms(self) -> int | None:
        """Return that time."""


def embedded_protocol(core: Core, hand_over: HandOver, leading: TopicWatch) -> EmbeddedProtocol | None:
    """Return what the member's settings bring, nothing of a consumer's."""
    settings = core.settings
    if settings.worker is not None:
        return ConnectWorker(core, settings.worker)
    if settings.thread is not None:
        return StreamsThread(core, settings.thread, hand_over, leading)
    return FaustWorker(core, hand_over, leading) if settings.assignors == (ASSIGNOR,) else None
