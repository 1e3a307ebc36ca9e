"""The content of `__consumer_offsets`: for each partition the last stored generation and the offsets of each group. It outlives a coordinator."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupproof.coordinator.machine.members import Member
from groupproof.coordinator.machine.offsets import Offsets
from groupproof.protocol.java_hash import java_hash
from groupproof.protocol.wire.messages import JoinProtocol

if TYPE_CHECKING:
    from groupproof.coordinator.machine.offsets import CommittedOffset
    from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["PartitionState", "StoredGroup", "StoredGroups", "StoredMember", "StoredOffsets", "partition_of"]


class StoredMember(NamedTuple):
    """One member of a stored generation, with its metadata for the chosen protocol only.

    A named tuple, because a generation of n members makes n at once.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    subscription: bytes
    assignment: bytes

    @classmethod
    def of(cls, member: Member, protocol_name: str | None, assignment: bytes) -> StoredMember:
        """Return the record of `member` with its assignment."""
        return cls(
            member.member_id, member.group_instance_id, member.client_id, member.client_host, member.session_timeout_ms, member.rebalance_timeout_ms,
            member.metadata(protocol_name), assignment,
        )  # fmt: skip

    def restore(self, protocol_type: str, protocol_name: str) -> Member:
        """Return the member as a coordinator loads it."""
        return Member(
            member_id=self.member_id, group_instance_id=self.group_instance_id, client_id=self.client_id, client_host=self.client_host,
            session_timeout_ms=self.session_timeout_ms, rebalance_timeout_ms=self.rebalance_timeout_ms, protocol_type=protocol_type,
            protocols=(JoinProtocol(name=protocol_name, metadata=self.subscription),), assignment=self.assignment,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGroup:
    """The last stored generation of a classic group. With members it is loaded as Stable, without members as Empty (EMIG-03)."""

    group_id: str
    generation: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str | None
    since_ms: int
    members: tuple[StoredMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOffsets:
    """The offsets of one group: committed ones, and pending ones by producer id."""

    group_id: str
    committed: tuple[tuple[TopicPartition, CommittedOffset], ...]
    pending: tuple[tuple[int, tuple[tuple[TopicPartition, CommittedOffset], ...]], ...] = ()

    @classmethod
    def of(cls, group_id: str, offsets: Offsets) -> StoredOffsets:
        pending = ((producer_id, tuple(value.items())) for producer_id, value in offsets.pending.items())
        return cls(group_id=group_id, committed=tuple(offsets.by_partition.items()), pending=tuple(pending))

    def restore(self) -> Offsets:
        pending = {producer_id: dict(offsets) for producer_id, offsets in self.pending}
        every = (committed.record for offsets in (dict(self.committed), *pending.values()) for committed in offsets.values())
        return Offsets(dict(self.committed), pending, records=max(every, default=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGroups:
    """A snapshot of one partition's records, which another coordinator can load. `transactions` are the producer ids with an open transaction."""

    groups: tuple[Any, ...] = ()  # each has a `group_id`; its type shows its dialect
    offsets: tuple[StoredOffsets, ...] = ()
    transactions: frozenset[int] = frozenset()


@dataclass(slots=True)
class PartitionState:
    """The leader's state of one partition of `__consumer_offsets`."""

    groups: dict[str, Any] = field(default_factory=dict)  # as in `StoredGroups.groups`
    offsets: dict[str, Offsets] = field(default_factory=dict)
    transactions: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, stored: StoredGroups) -> PartitionState:
        groups, offsets = {group.group_id: group for group in stored.groups}, {offsets.group_id: offsets.restore() for offsets in stored.offsets}
        return cls(groups, offsets, set(stored.transactions))

    def snapshot(self) -> StoredGroups:
        offsets = (StoredOffsets.of(group_id, offsets) for group_id, offsets in self.offsets.items() if offsets)
        return StoredGroups(groups=tuple(self.groups.values()), offsets=tuple(offsets), transactions=frozenset(self.transactions))

    def forget(self, group_id: str) -> None:
        """Write the group's tombstones."""
        self.groups.pop(group_id, None)
        self.offsets.pop(group_id, None)


_MAX: Final = 0x7FFFFFFF


@lru_cache(maxsize=10_000)
def partition_of(group_id: str, partitions: int) -> int:
    """Return the partition of `__consumer_offsets` that holds the group: the absolute value of Java's string hash, modulo (FIND-02).

    The absolute value is that of Kafka's `Utils.abs`: `Math.abs`, and 0 for the least integer. Measured on brokers of 1.1.0 to 4.1.0; the catalogue
    clears the sign bit instead.
    """
    magnitude = abs(java_hash(group_id))
    return 0 if magnitude > _MAX else magnitude % partitions
