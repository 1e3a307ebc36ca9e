"""A worker of Faust: a consumer whose assignor adds its own user data (faust-streaming: PartitionAssignor). It has no tables and so no standbys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from groupproof.clients.assignors.assignment import Assignment, GroupMember
from groupproof.clients.assignors.faust import copartitioned_groups, faust_assign
from groupproof.clients.member.member_core import Core
from groupproof.clients.member.partition_handover import HandOver
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.embedded.faust_metadata import (
    ASSIGNOR,
    METADATA_VERSION,
    FaustMetadata,
    decode_faust_assignment,
    decode_faust_subscription,
    encode_faust_assignment,
    encode_faust_subscription,
)
from groupproof.protocol.wire.messages import JoinGroupResponse, JoinMember, JoinProtocol
from groupproof.protocol.wire.subscription import Assignment as Blob
from groupproof.protocol.wire.subscription import decode_assignment, decode_subscription, encode_assignment

__all__ = ["FaustWorker"]


class _TopicWatch(Protocol):
    """Watches the topics that a leader has assigned."""

    def joined(self, response: JoinGroupResponse) -> None: ...

    def watch(self) -> None: ...


class FaustWorker:
    """One worker. `assigned` are the partitions of its newest assignment."""

    protocol_type: Final = "consumer"
    names: Final = (ASSIGNOR,)
    is_cut_off: Final = False

    def __init__(self, core: Core, hand_over: HandOver, leading: _TopicWatch) -> None:
        self._core, self._hand_over, self._leading = core, hand_over, leading
        self._members: dict[str, GroupMember] = {}
        self._urls: dict[str, str] = {}
        self.assigned: frozenset[TopicPartition] = frozenset()

    def protocols(self) -> tuple[JoinProtocol, ...]:
        """Return the protocols for JoinGroup: the user data has the worker's URL and its last assignment."""
        metadata = FaustMetadata(url=f"http://{self._core.member_id or 'new'}.invalid:6066", actives=self.assigned)
        return (JoinProtocol(name=ASSIGNOR, metadata=self._hand_over.subscription(ASSIGNOR, encode_faust_subscription(metadata))),)

    def joined(self, response: JoinGroupResponse) -> None:
        """Store the members, if this worker is the leader. Raise `BlobError`."""
        self._leading.joined(response)
        is_leader = response.leader == response.member_id
        read = [_read(member) for member in response.members] if is_leader else []
        self._members = {member.member_id: member for member, _ in read}
        self._urls = {member.member_id: metadata.url for member, metadata in read}

    def assignments(self, now_ms: int) -> list[tuple[str, bytes]]:
        """Return each member's assignment for the leader's SyncGroup, or nothing for a follower's."""
        del now_ms
        if not self._members:
            return []
        self._leading.watch()
        cluster, members = self._core.cluster, list(self._members.values())
        dealt = faust_assign(members, cluster)
        groups = {topic: number for number, topics in enumerate(copartitioned_groups(members, cluster)) for topic in topics}
        return [(member_id, self._blob(member_id, dealt, groups)) for member_id in sorted(dealt)]

    def _blob(self, member_id: str, dealt: Assignment, groups: Mapping[str, int]) -> bytes:
        metadata = FaustMetadata(
            url=self._urls[member_id],
            actives=frozenset(dealt[member_id]),
            owners={self._urls[name]: frozenset(partitions) for name, partitions in dealt.items()},
            topic_groups=dict(groups),
        )
        return encode_assignment(
            Blob(partitions=tuple(sorted(dealt[member_id])), user_data=encode_faust_assignment(metadata), version=METADATA_VERSION)
        )

    def accept(self, blob: bytes, now_ms: int) -> str | None:
        """Apply an assignment. Faust never joins again because of one. Raise `BlobError`."""
        del now_ms
        read = decode_assignment(blob)
        if blob:  # an empty blob is an empty assignment
            decode_faust_assignment(read.user_data or b"")
        self.assigned = frozenset(read.partitions)
        return None

    def due(self, now_ms: int) -> bool:
        """Return False: no assignment schedules a rebalance."""
        del now_ms
        return False

    def next_ms(self) -> int | None:
        return None


def _read(member: JoinMember) -> tuple[GroupMember, FaustMetadata]:
    """Decode a member's metadata. Faust reads the owned partitions only from the user data."""
    wanted = decode_subscription(member.metadata)
    metadata = decode_faust_subscription(wanted.user_data or b"")
    owned = tuple(sorted(metadata.actives))
    return GroupMember(member_id=member.member_id, instance_id=member.group_instance_id, topics=wanted.topics, owned=owned), metadata
