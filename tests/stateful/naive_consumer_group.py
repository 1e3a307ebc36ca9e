"""A consumer group once more, naive and slow, to be read beside KIP-848: sets and plain conditions, everything worked out anew at every step.

It has what members that subscribe by name can do. What no rule fixes it is told: which of the possible targets the assignor chose, and how votes for assignors that are level are
counted. `legal_target` says which targets are possible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest

__all__ = ["AWAY", "LEFT", "NaiveConsumerGroup", "NaiveMember", "Partition", "Release", "Target", "owned_in"]

Partition = tuple[str, int]
Target = Mapping[str, frozenset[Partition]]
Release = tuple[int, int]

LEFT: Final = -1
AWAY: Final = -2
NONE: Final = ErrorCode.NONE
SESSION_MS: Final = 45_000
ASSIGNMENT_INTERVAL_MS: Final = 1_000


def owned_in(request: ConsumerGroupHeartbeatRequest) -> set[Partition] | None:
    """Return what the member says that it owns; None where it says nothing of it."""
    topics = request.topic_partitions
    return None if topics is None else {(topic.topic_id, index) for topic in topics for index in topic.partitions}


@dataclass(slots=True, kw_only=True)
class NaiveMember:
    """A member. `owned` are its partitions, each with the epoch at which it got it; `giving` those that it is to revoke.

    `lacks` says that it waits for partitions of others; `ordered` is its epoch when it was last told to revoke, `revoke_by_ms` until when it has to. `heard_ms` is its last heartbeat.
    """

    member_id: str
    instance_id: str | None = None
    names: frozenset[str] = frozenset()
    assignor: str | None = None
    timeout_ms: int = -1
    epoch: int = 0
    previous: int = 0
    owned: dict[Partition, int] = field(default_factory=dict)
    giving: dict[Partition, int] = field(default_factory=dict)
    lacks: bool = False
    ordered: int | None = None
    revoke_by_ms: int | None = None
    heard_ms: int = 0


@dataclass(slots=True)
class NaiveConsumerGroup:
    """The group of a release; `topics` are the ids and the partitions of those that there are, `looked` those of them that the group subscribed to when it last looked."""

    release: Release
    members_max: int = 1_000
    topics: dict[str, tuple[str, int]] = field(default_factory=dict)
    members: dict[str, NaiveMember] = field(default_factory=dict)
    instances: dict[str, NaiveMember] = field(default_factory=dict)
    exists: bool = False
    epoch: int = 0
    target_epoch: int = 0
    target: dict[str, frozenset[Partition]] = field(default_factory=dict)
    assigned_ms: int | None = None
    looked: dict[str, tuple[str, int]] = field(default_factory=dict)

    # What anybody may ask

    @property
    def state(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch > self.target_epoch:
            return "Assigning"
        return "Stable" if all(self.is_settled(member) for member in self.members.values()) else "Reconciling"

    def is_settled(self, member: NaiveMember) -> bool:
        return member.epoch == self.target_epoch and not member.giving and not member.lacks

    def holder_of(self, instance_id: str | None) -> NaiveMember | None:
        """Return whose the instance id is; up to 4.3 also one that the member had before it came with another."""
        return None if instance_id is None else self.instances.get(instance_id)

    def subscribed(self) -> dict[str, tuple[str, int]]:
        names = {name for member in self.members.values() for name in member.names}
        return {name: topic for name, topic in self.topics.items() if name in names}

    def partitions_of(self, names: frozenset[str]) -> set[Partition]:
        return {(self.topics[name][0], index) for name in names if name in self.topics for index in range(self.topics[name][1])}

    def assignors(self) -> set[str]:
        """Return the assignors with most votes; without any vote the broker's first."""
        votes = Counter(member.assignor for member in self.members.values() if member.assignor is not None)
        return {name for name, count in votes.items() if count == max(votes.values())} or {"uniform"}

    def preferred(self, first: str) -> str:
        """Return the assignor that the group goes by; of several with most votes `first`, if it is among them."""
        level = self.assignors()
        return first if first in level else max(level)

    def legal_target(self, target: Target) -> bool:
        """Tell whether every partition of a subscribed topic goes to one member that subscribes to it, and nobody is given anything else."""
        counts = Counter(partition for share in target.values() for partition in share)
        wanted = self.partitions_of(frozenset(self.looked))
        return (
            set(counts) == wanted and set(counts.values()) <= {1}
            and all(share <= self.partitions_of(self.members[name].names) for name, share in target.items())
        )  # fmt: skip

    # A heartbeat

    def refusal(self, request: ConsumerGroupHeartbeatRequest) -> ErrorCode:
        """Check in Kafka's order: the request's shape, then whether there is a group, then who asks and at which epoch."""
        epoch, name, instance = request.member_epoch, request.member_id, request.instance_id
        if self.is_malformed(request):
            return ErrorCode.INVALID_REQUEST
        if request.server_assignor not in (None, "uniform", "range"):
            return ErrorCode.UNSUPPORTED_ASSIGNOR
        if not self.exists:
            return NONE if epoch == 0 else ErrorCode.GROUP_ID_NOT_FOUND
        holder, member = self.holder_of(instance), self.members.get(name)
        if epoch >= 0 and member is None and len(self.members) >= self.members_max and (holder is None or self.release < (4, 4)):
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        if epoch != 0 and instance is None and member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if epoch == 0 and holder is not None and holder.epoch != AWAY:
            return ErrorCode.UNRELEASED_INSTANCE_ID
        if epoch != 0 and instance is not None and holder is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if epoch != 0 and holder is not None and holder.member_id != name:
            return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.FENCED_MEMBER_EPOCH if epoch >= 0 and member is not None and self.is_fenced(member, request) else NONE

    @staticmethod
    def is_malformed(request: ConsumerGroupHeartbeatRequest) -> bool:
        epoch = request.member_epoch
        lacks_subscription = request.subscribed_topic_names is None and request.subscribed_topic_regex is None
        is_bad_join = epoch == 0 and (request.rebalance_timeout_ms == -1 or request.topic_partitions != () or lacks_subscription)
        is_bad_leave = epoch < AWAY or (epoch == AWAY and request.instance_id is None)
        return not request.member_id or request.instance_id == "" or request.rack_id == "" or is_bad_join or is_bad_leave

    def is_fenced(self, member: NaiveMember, request: ConsumerGroupHeartbeatRequest) -> bool:
        """The epoch before the present one will do, for a member that lost an answer: if it claims nothing that it was not given."""
        epoch, owned = request.member_epoch, owned_in(request)
        if epoch == 0 and (self.release >= (4, 2) or request.instance_id is not None):
            return False
        if epoch >= member.epoch:
            return epoch > member.epoch
        return epoch != member.previous or owned is None or not owned <= set(member.owned)

    def beat(self, request: ConsumerGroupHeartbeatRequest, now_ms: int, target: Target) -> tuple[NaiveMember, bool]:
        """Take a heartbeat that is refused for nothing; return the member, and whether its answer has an assignment. `told` is the target that the assignor would choose."""
        if not self.exists:
            self.exists = True
            self.epoch = self.target_epoch = 1 if self.release >= (4, 3) else 0
        member = self.coming(request)
        owned_before = dict(member.owned)
        is_resubscribed = self.bump(member, request)
        self.assign(now_ms, target)
        self.reconcile(member, owned_in(request), now_ms, enforces=is_resubscribed and self.release >= (4, 2))
        member.heard_ms = now_ms
        is_full = request.rebalance_timeout_ms != -1 and request.subscribed_topic_names is not None and request.topic_partitions is not None
        return member, request.member_epoch == 0 or is_full or member.owned != owned_before

    def coming(self, request: ConsumerGroupHeartbeatRequest) -> NaiveMember:
        """Find the member, or add it. Who comes back as an instance takes over what the instance had, at epoch 0."""
        name, holder = request.member_id, self.holder_of(request.instance_id)
        if request.member_epoch == 0 and holder is not None:
            del self.members[holder.member_id]
            share = self.target.pop(holder.member_id, None)
            if share is not None:
                self.target[name] = share
            if holder.member_id != name:
                self.forget(holder)
                self.instances[holder.instance_id or ""] = holder
                holder.ordered, holder.revoke_by_ms = None, None
            holder.member_id, holder.epoch, holder.previous = name, 0, 0
            self.members[name] = holder
        member = self.members.setdefault(name, NaiveMember(member_id=name))
        if request.instance_id is not None and request.instance_id != member.instance_id:
            if self.release >= (4, 4):
                self.instances.pop(member.instance_id or "", None)
            member.instance_id = request.instance_id
            self.instances[member.instance_id] = member
        if request.rebalance_timeout_ms != -1:
            member.timeout_ms = request.rebalance_timeout_ms
        return member

    def bump(self, member: NaiveMember, request: ConsumerGroupHeartbeatRequest) -> bool:
        """Count the group epoch up by one for whatever changed; return whether the member subscribes to something else now."""
        bumps = self.epoch == 0
        if request.server_assignor is not None:
            was, before = member.assignor, self.preferred("uniform")
            member.assignor = request.server_assignor
            bumps = bumps or (self.release >= (4, 4) and member.assignor != was and self.preferred(member.assignor) != before)
        names = member.names if request.subscribed_topic_names is None else frozenset(request.subscribed_topic_names)
        is_resubscribed, member.names = names != member.names, names
        topics = self.subscribed()
        if bumps or is_resubscribed or topics != self.looked:
            self.epoch += 1
        self.looked = topics
        return is_resubscribed

    def assign(self, now_ms: int, target: Target) -> None:
        """Take a new target over where the group is ahead of the old one; from 4.3 on not sooner than an interval after it (KIP-1263)."""
        waits = self.release >= (4, 3) and self.assigned_ms is not None and now_ms < self.assigned_ms + ASSIGNMENT_INTERVAL_MS
        if self.epoch > self.target_epoch and not waits:
            self.target = {name: target.get(name, frozenset()) for name in self.members}
            assert self.legal_target(self.target), f"no assignor may choose {self.target} of {self.looked}"
            self.target_epoch, self.assigned_ms = self.epoch, now_ms

    # Reconciliation

    def reconcile(self, member: NaiveMember, says: set[Partition] | None, now_ms: int, *, enforces: bool) -> None:
        """Lead the member to its target: it revokes first, says so, and is then given what nobody else has."""
        is_at_rest = self.is_settled(member)
        revokes = {partition for partition in member.giving if says is None or partition in says}
        if is_at_rest or revokes:
            if enforces:
                self.shrink(member, says, now_ms)
            return
        epoch = member.epoch + 1 if member.giving and self.release < (4, 2) else member.epoch
        own_is_free = bool(member.giving) and self.release != (4, 1)
        target = set(self.target.get(member.member_id, ()))
        if self.release >= (4, 2):
            target &= self.partitions_of(member.names)
        kept = {partition: since for partition, since in member.owned.items() if partition in target}
        lost = {partition: since for partition, since in member.owned.items() if partition not in target}
        occupied = {partition for other in self.members.values() for partition in (*other.owned, *other.giving)}
        free = target - occupied | (target & set(member.giving) if own_is_free else set())
        if lost and (says is None or says & set(lost)):
            self.move(member, epoch, kept, lost, lacks=False, now_ms=now_ms)
            return
        owned = kept | dict.fromkeys(free, self.target_epoch)
        self.move(member, self.target_epoch, owned, {}, lacks=set(owned) != target, now_ms=now_ms)

    def shrink(self, member: NaiveMember, says: set[Partition] | None, now_ms: int) -> None:
        """Take the topics away that the member has just dropped, ahead of the next target."""
        allowed = {self.topics[name][0] for name in member.names if name in self.topics}
        lost = {partition: since for partition, since in member.owned.items() if partition[0] not in allowed}
        if not lost:
            return
        kept = {partition: since for partition, since in member.owned.items() if partition not in lost}
        giving = member.giving | lost
        if says is not None and not says & set(giving):
            giving = member.giving
        self.move(member, member.epoch, kept, giving, lacks=member.lacks and not giving, now_ms=now_ms)

    def move(self, member: NaiveMember, epoch: int, owned: dict[Partition, int], giving: dict[Partition, int], *, lacks: bool, now_ms: int) -> None:
        member.previous, member.epoch = member.epoch, epoch
        member.owned, member.giving, member.lacks = owned, giving, lacks
        member.ordered = member.epoch if giving else None
        member.revoke_by_ms = now_ms + member.timeout_ms if giving else None

    # Who goes

    def leave(self, request: ConsumerGroupHeartbeatRequest) -> None:
        """Let a static member go for now, with its place kept; anybody else for good."""
        member = self.holder_of(request.instance_id) or self.members[request.member_id]
        if request.member_epoch == AWAY:
            member.epoch, member.giving = AWAY, {}
        else:
            self.remove(member)

    def remove(self, member: NaiveMember) -> None:
        del self.members[member.member_id]
        self.forget(member)
        self.target.pop(member.member_id, None)
        self.looked = self.subscribed()
        self.epoch += 1
        if not self.members and self.release >= (4, 4):
            self.assigned_ms, self.target_epoch = None, self.epoch

    def forget(self, member: NaiveMember) -> None:
        self.instances = {name: holder for name, holder in self.instances.items() if holder is not member}

    def due(self) -> list[tuple[int, NaiveMember, bool]]:
        """Return when whose session ends, or time to revoke."""
        sessions = [(member.heard_ms + SESSION_MS, member, False) for member in self.members.values()]
        return sessions + [(member.revoke_by_ms, member, True) for member in self.members.values() if member.revoke_by_ms is not None]

    def advance(self, now_ms: int) -> None:
        """Remove whoever has run out of time."""
        while due := [item for item in self.due() if item[0] <= now_ms]:
            _, member, is_revocation = min(due, key=lambda item: item[0])
            if not is_revocation or member.ordered == member.epoch:
                self.remove(member)
            else:
                member.revoke_by_ms = None

    # Commits

    def commit_error(self, member_id: str, epoch: int, partitions: set[Partition]) -> ErrorCode:
        """A commit by the present epoch is taken; by an older one since KIP-1251 if each partition was the member's by then."""
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        had = {partition: member.owned.get(partition, member.giving.get(partition)) for partition in partitions}
        is_kept = self.release >= (4, 3) and epoch < member.epoch and all(since is not None and since <= epoch for since in had.values())
        return NONE if epoch == member.epoch or is_kept else ErrorCode.STALE_MEMBER_EPOCH
