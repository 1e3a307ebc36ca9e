"""The members of one group, in joining order: parked requests, the leader, the shared protocols and the subscribed topics."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from groupproof.protocol.wire.messages import JoinMember

if TYPE_CHECKING:
    from groupproof.protocol.wire.messages import JoinProtocol

__all__ = [
    "Member",
    "Members",
    "ParkedRequest",
    "breaks_the_reader",
    "chosen_metadata",
    "first_of",
    "leading_protocols",
    "possible_protocols",
    "topics_of",
]


def first_of(names: Sequence[str], possible: Sequence[str] = ()) -> str:
    """Make an open choice in the simplest way: the first name."""
    return names[0]


class ParkedRequest(NamedTuple):
    """A request that waits for its answer: its token, and its API version, which decides the answer's form."""

    token: Hashable
    api_version: int


@dataclass(slots=True, kw_only=True)
class Member:
    """One member. `is_new` holds from admission to the end of its first join phase (NEWM-01). Times are in ms."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[JoinProtocol, ...]
    assignment: bytes = b""
    is_new: bool = False
    join: ParkedRequest | None = None
    sync: ParkedRequest | None = None

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    def supports(self, protocol_name: str | None) -> bool:
        return any(protocol.name == protocol_name for protocol in self.protocols)

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return the member's metadata for the protocol, unmodified (JOIN-15), or none where it does not support it."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        return b""


@dataclass(slots=True)
class Members:
    """The members by id, the instances and the pending ids (KIP-394). Counters spare the checks a loop over the members."""

    by_id: dict[str, Member] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)
    pending: dict[str, None] = field(default_factory=dict)
    unsynced: dict[str, None] = field(default_factory=dict)
    evicted: dict[str, None] = field(default_factory=dict)  # ids that are no longer members, but whose session timers still run (KAFKA-7196)
    leader: str | None = None
    joined: int = 0  # members with a parked JoinGroup
    syncing: int = 0  # members with a parked SyncGroup
    elect: Callable[[Sequence[str]], str] = first_of
    _support: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self.by_id)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.by_id.values())

    def __contains__(self, member_id: str) -> bool:
        return member_id in self.by_id

    def get(self, member_id: str) -> Member | None:
        return self.by_id.get(member_id)

    def add(self, member: Member) -> None:
        """Add a member. It becomes the leader where there is none (JOIN-05)."""
        assert member.member_id not in self.by_id, f"{member.member_id} is a member already"
        assert member.group_instance_id not in self.instances, f"instance {member.group_instance_id} is there already (JOIN-36)"
        self.by_id[member.member_id] = member
        if member.group_instance_id is not None:
            self.instances[member.group_instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id
        self._count(member, 1)
        self.pending.pop(member.member_id, None)

    def remove(self, member_id: str) -> Member | None:
        """Remove a member or a pending id. `elect` names a removed leader's successor: by default the longest-standing member (JOIN-07)."""
        self.pending.pop(member_id, None)
        self.unsynced.pop(member_id, None)
        member = self.by_id.pop(member_id, None)
        if member is None:
            return None
        self.park_join(member, None)
        self.park_sync(member, None)
        self._count(member, -1)
        self.instances.pop(member.group_instance_id or "", None)  # removed even if another member has the instance now, as in Kafka
        if self.leader == member_id:
            self.leader = self.elect(tuple(self.by_id)) if self.by_id else None
        return member

    def rename(self, member: Member, member_id: str) -> None:
        """Give a static member a new id (STATIC-06), and leadership if it leads. It moves to the end of the joining order.

        A SyncGroup that the old id owes stays with the old id, as in Kafka.
        """
        assert member.group_instance_id is not None, "only a static member is renamed"
        if self.leader == member.member_id:
            self.leader = member_id
        del self.by_id[member.member_id]
        member.member_id = member_id
        self.by_id[member_id] = member
        self.instances[member.group_instance_id] = member_id

    def set_protocols(self, member: Member, protocols: tuple[JoinProtocol, ...]) -> None:
        self._count(member, -1)
        member.protocols = protocols
        self._count(member, 1)

    def park_join(self, member: Member, parked: ParkedRequest | None) -> ParkedRequest | None:
        """Set the member's parked JoinGroup and return the previous one."""
        before, member.join = member.join, parked
        self.joined += (parked is not None) - (before is not None)
        return before

    def park_sync(self, member: Member, parked: ParkedRequest | None) -> ParkedRequest | None:
        """Set the member's parked SyncGroup and return the previous one."""
        before, member.sync = member.sync, parked
        self.syncing += (parked is not None) - (before is not None)
        return before

    @property
    def rebalance_timeout_ms(self) -> int:
        """Return the longest rebalance timeout (DJOIN-01), 0 without members."""
        return max([member.rebalance_timeout_ms for member in self.by_id.values()], default=0)

    @property
    def all_joined(self) -> bool:
        """Return whether every member's JoinGroup is parked and no id is pending (DJOIN-51)."""
        return self.joined == len(self.by_id) and not self.pending

    @property
    def unjoined(self) -> list[str]:
        """Return the ids of the dynamic members that have no JoinGroup parked."""
        return [member.member_id for member in self.by_id.values() if member.join is None and not member.is_static]

    @property
    def staying(self) -> list[Member]:
        """Return the members of the next generation if the join phase ends now."""
        return [member for member in self.by_id.values() if member.join is not None or member.is_static]

    @property
    def ballots(self) -> list[tuple[JoinProtocol, ...]]:
        """Return the protocols of each member."""
        return [member.protocols for member in self.by_id.values()]

    def metadata(self, protocol_name: str | None) -> tuple[bytes, ...]:
        """Return each member's metadata for the protocol."""
        return tuple([member.metadata(protocol_name) for member in self.by_id.values()])

    def supports_any(self, names: Iterable[str]) -> bool:
        """Return whether every member supports one of `names` (JOIN-09, JOIN-33)."""
        return len(self.by_id) in [self._support[name] for name in names]

    def elect_joined(self) -> None:
        """Move leadership to a member that joined if the leader did not (STATIC-12)."""
        if self.leader is not None and self.by_id[self.leader].join is None:
            joined = tuple(member.member_id for member in self if member.join is not None)
            self.leader = self.elect(joined) if joined else self.leader

    def listed(self, protocol_name: str | None) -> tuple[JoinMember, ...]:
        """Return the leader's list: every member with its metadata for the protocol (JOIN-14)."""
        return tuple(
            JoinMember(member_id=member.member_id, group_instance_id=member.group_instance_id, metadata=member.metadata(protocol_name))
            for member in self
        )

    def _count(self, member: Member, by: int) -> None:
        for name in {protocol.name for protocol in member.protocols}:
            self._support[name] += by
            if not self._support[name]:
                del self._support[name]


def chosen_metadata(members: Sequence[Member]) -> list[bytes]:
    """Return the metadata of `members` for the protocol with the most votes among them. In a tie, the first protocol voted for wins."""
    chosen = leading_protocols([member.protocols for member in members])[0]
    return [member.metadata(chosen) for member in members]


def leading_protocols(ballots: Iterable[tuple[JoinProtocol, ...]]) -> list[str]:
    """Return the protocols with the most votes, in the order of their first votes.

    A ballot votes for its first protocol that all ballots name (JOIN-32).
    """
    lists = Counter(tuple([protocol.name for protocol in ballot]) for ballot in ballots)  # most members of a large group have the same list
    candidates = set(next(iter(lists))).intersection(*lists)
    votes: Counter[str] = Counter()
    for names, members in lists.items():
        votes[next(name for name in names if name in candidates)] += members
    most = max(votes.values())
    return [name for name, count in votes.items() if count == most]


def possible_protocols(ballots: Iterable[tuple[JoinProtocol, ...]]) -> list[str]:
    """Return the protocols that all ballots name, without those to which every ballot prefers the same other one.

    The wiki's "Kafka Client-side Assignment Proposal" binds a coordinator only where the members agree; otherwise one "is chosen randomly".
    """
    lists = list(dict.fromkeys(tuple([protocol.name for protocol in ballot]) for ballot in ballots))
    common = [name for name in lists[0] if all(name in names for names in lists)]
    return [name for name in common if not any(all(names.index(other) < names.index(name) for names in lists) for other in common if other != name)]


# What Kafka's coordinator reads from a subscription


class _CutShort(Exception):
    """The bytes end before a fixed-size field."""


class _MalformedSubscription(Exception):
    """A length is negative or longer than the remaining bytes."""


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def integer(self, form: str) -> int:
        size = struct.calcsize(form)
        if self._at + size > len(self._data):
            raise _CutShort
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += size
        return int(value)

    def text(self, length: int) -> bytes:
        if length < 0 or length > self.left:
            raise _MalformedSubscription
        self._at += length
        return self._data[self._at - length : self._at]

    @property
    def left(self) -> int:
        return len(self._data) - self._at


def breaks_the_reader(metadata: bytes) -> bool:
    """Return whether a join phase never completes with these bytes of a `consumer` subscription.

    Since 2.4 the coordinator reads the topics from every member's bytes when a join phase ends (KIP-496, `computeSubscribedTopics`). Kafka catches
    the SchemaException of bytes that end before a fixed-size field. Nothing catches the exception of a length that is negative or longer than the
    remaining bytes, and the phase stays open. Measured on 4.1.0 and read in the generated reader of version 0.
    """
    try:
        _topics(metadata)
    except _CutShort:
        return False
    except _MalformedSubscription:
        return True
    return False


def topics_of(metadata: bytes) -> frozenset[str] | None:
    """Return the topics of a subscription, None where its bytes cannot be read."""
    try:
        return frozenset(_topics(metadata))
    except (_CutShort, _MalformedSubscription):
        return None


def _topics(metadata: bytes) -> list[str]:
    """Read the part that every version begins with, as version 0 does."""
    reader = _Reader(metadata)
    reader.integer(">h")
    count = reader.integer(">i")
    if not 0 <= count <= reader.left:
        raise _MalformedSubscription
    topics = [reader.text(reader.integer(">h")) for _ in range(count)]
    reader.text(max(reader.integer(">i"), 0))  # user data
    return [topic.decode(errors="replace") for topic in topics]
