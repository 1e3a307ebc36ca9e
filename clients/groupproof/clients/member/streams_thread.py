"""A thread of Kafka Streams: its user data in JoinGroup, and its handling of assignments (Kafka: StreamsPartitionAssignor, StreamThread).

It is a consumer whose assignor adds user data. It processes nothing: a task is the partition that it reads.
"""

from __future__ import annotations

from typing import Final, Protocol

from groupproof.clients.member.member_core import Core
from groupproof.clients.member.partition_handover import HandOver
from groupproof.clients.member.streams_leader import Dealer, StreamsClient, task_of
from groupproof.clients.member.streams_settings import ThreadSettings
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.embedded.streams_protocol import (
    ASSIGNOR,
    LATEST_OFFSET,
    NO_ERROR,
    PROBEABLE_SINCE,
    SHUTDOWN_REQUESTED,
    VERSION_PROBING,
    AssignmentInfo,
    SubscriptionInfo,
    Task,
    decode_assignment_info,
    decode_subscription_info,
    encode_assignment_info,
    encode_subscription_info,
)
from groupproof.protocol.wire.messages import JoinGroupResponse, JoinProtocol
from groupproof.protocol.wire.subscription import Assignment, decode_assignment, decode_subscription, encode_assignment

__all__ = ["StreamsThread", "TopicWatch"]

_UNIQUE_MAX: Final = 128
_SOON_MS: Final = 500


class TopicWatch(Protocol):
    """Watches the topics that a leader has assigned, and lets the member join again when they grow."""

    def joined(self, response: JoinGroupResponse) -> None: ...

    def watch(self) -> None: ...


class StreamsThread:
    """One thread. `assigned` are the partitions of its newest assignment."""

    protocol_type: Final = "consumer"
    names: Final = (ASSIGNOR,)
    is_cut_off: Final = False

    def __init__(self, core: Core, settings: ThreadSettings, hand_over: HandOver, leading: TopicWatch) -> None:
        self._core, self._settings, self._hand_over, self._leading = core, settings, hand_over, leading
        self._used = (settings.first or settings.latest) - (core.policy.streams == "begins-with-an-older-version")
        self._unique = 0
        self._standby: tuple[Task, ...] = ()
        self._members: dict[str, StreamsClient] = {}
        self._rejoin_ms: int | None = None
        self._error = settings.error
        self.assigned: frozenset[TopicPartition] = frozenset()

    def protocols(self) -> tuple[JoinProtocol, ...]:
        """Return the protocols for JoinGroup: one assignor, with different user data in each JoinGroup."""
        self._rejoin_ms = None
        if self._core.policy.streams != "repeats-its-user-data":
            self._unique = (self._unique + 1) % _UNIQUE_MAX  # so that the broker rebalances (KAFKA-10455)
        return (JoinProtocol(name=ASSIGNOR, metadata=self._hand_over.subscription(ASSIGNOR, encode_subscription_info(self._info()))),)

    def joined(self, response: JoinGroupResponse) -> None:
        """Store the members, if this thread is the leader. Raise `BlobError`."""
        self._leading.joined(response)
        is_leader = response.leader == response.member_id
        self._members = {member.member_id: _client(member.metadata) for member in response.members} if is_leader else {}

    def assignments(self, now_ms: int) -> list[tuple[str, bytes]]:
        """Return each member's assignment for the leader's SyncGroup, or nothing for a follower's."""
        del now_ms
        if not self._members:
            return []
        self._leading.watch()
        dealer = Dealer(policy=self._core.policy, topics=self._core.topics, latest=self._settings.latest, standbys=self._standbys)
        dealt = dealer.deal(self._members, self._core.cluster.partitions)
        return [
            (name, encode_assignment(Assignment(partitions=partitions, user_data=encode_assignment_info(info))))
            for name, (partitions, info) in sorted(dealt.items())
        ]

    def accept(self, blob: bytes, now_ms: int) -> str | None:
        """Apply an assignment. Return the reason to join again at once, or None. Raise `BlobError`."""
        policy = self._core.policy
        read = decode_assignment(blob)
        info = decode_assignment_info(read.user_data or b"")
        self.assigned = frozenset(read.partitions)
        if info.error not in (NO_ERROR, VERSION_PROBING):
            self._end(info.error)
        if info.error != NO_ERROR:
            return None
        self._standby = tuple(task for task, _ in info.standby)
        if self._takes_version(info):
            return "the group agreed on another version" if policy.streams != "stays-quiet-after-probing" else None
        self._rejoin_ms = info.next_rebalance_ms if policy.streams != "forgets-the-next-rebalance" else None
        if policy.streams == "rejoins-without-need":
            self._rejoin_ms = now_ms + _SOON_MS
        return None

    def due(self, now_ms: int) -> bool:
        """Return whether the scheduled rebalance is due, or the application has just failed."""
        return self._fails() or (self._rejoin_ms is not None and now_ms >= self._rejoin_ms)

    def next_ms(self) -> int | None:
        return self._rejoin_ms

    @property
    def _standbys(self) -> int:
        return self._settings.standbys if self._settings.is_stateful else 0

    def _info(self) -> SubscriptionInfo:
        policy, settings = self._core.policy, self._settings
        version = settings.latest if policy.streams == "keeps-its-version" else self._used
        return SubscriptionInfo(
            version=version,
            latest=version if policy.streams == "forgets-what-it-knows" else settings.latest,
            process=f"{self._unique:032x}" if policy.streams == "changes-its-process" else settings.process,
            offset_sums=self._offset_sums(),
            unique=self._unique,
            error=self._error,
        )

    def _fails(self) -> bool:
        """Let the application fail once it has read past `fails_at`. It requests a shutdown of all, as `SHUTDOWN_APPLICATION` does (KIP-671)."""
        at = self._settings.fails_at
        if at is None or self._error != NO_ERROR or not any(offset > at for offset in self._core.positions.values()):
            return False
        self._error = SHUTDOWN_REQUESTED
        if self._core.policy.streams != "ends-alone":
            return True
        self._core.fail("SHUTDOWN_REQUESTED", f"the application failed at offset {at}")
        return False

    def _offset_sums(self) -> tuple[tuple[Task, int], ...]:
        policy = self._core.policy
        if not self._settings.is_stateful or policy.streams == "forgets-its-tasks":
            return ()
        topics = self._core.topics
        active = [task_of(partition, topics) for partition in sorted(self._core.owned) if partition[0] in topics]
        standby = [] if policy.streams == "forgets-its-standbys" else [task for task in self._standby if task not in active]
        return tuple((task, LATEST_OFFSET) for task in active) + tuple((task, 0) for task in standby)

    def _takes_version(self, info: AssignmentInfo) -> bool:
        """Switch to another version if the assignment says so. Return whether it does (StreamsPartitionAssignor.maybeUpdateSubscriptionVersion)."""
        is_another = info.version >= PROBEABLE_SINCE and (info.commonly > self._used or info.version < self._used)
        if is_another and not (self._core.policy.streams == "never-upgrades" and info.commonly > self._used):
            self._used = info.commonly
        return is_another

    def _end(self, error: int) -> None:
        """Fail like an application that cannot continue. It sends no leave; the session timeout removes it from the group."""
        if self._core.policy.streams != "goes-on-after-errors" and not (
            self._core.policy.streams == "ignores-shutdown" and error == SHUTDOWN_REQUESTED
        ):
            self._core.fail(_ERRORS.get(error, f"ASSIGNOR_ERROR_{error}"), f"the leader answered with error {error}")


def _client(metadata: bytes) -> StreamsClient:
    subscription = decode_subscription(metadata)
    return StreamsClient(info=decode_subscription_info(subscription.user_data or b""), owned=frozenset(subscription.owned))


_ERRORS: Final = {1: "INCOMPLETE_SOURCE_TOPIC_METADATA", 3: "ASSIGNMENT_ERROR", SHUTDOWN_REQUESTED: "SHUTDOWN_REQUESTED"}
