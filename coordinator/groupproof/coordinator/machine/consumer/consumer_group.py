"""One consumer group (KIP-848): its epochs, members, owned partitions and target assignment. Only the effects of table rows change it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, Final

from groupproof.coordinator.machine.consumer.consumer_members import ClassicSide, ConsumerMember, partitions_of
from groupproof.coordinator.machine.group import IllegalTransition
from groupproof.coordinator.machine.machine_outputs import GroupProgress, GroupView, MemberView
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState

if TYPE_CHECKING:
    from groupproof.coordinator.machine.choices import Choices
    from groupproof.coordinator.machine.consumer.reconciliation import Step
    from groupproof.coordinator.machine.topics_image import TopicImage, TopicsImage
    from groupproof.protocol.rules.dialect import Dialect

__all__ = ["ConsumerGroup", "Share", "StoredConsumerGroup"]

_EPOCH: Final = attrgetter("epoch")
Share = Mapping[str, tuple[int, ...]]
"""A member's part of the target: partitions by topic id."""


@dataclass(frozen=True, slots=True)
class StoredConsumerGroup:
    """The record of a group in `__consumer_offsets`. Every change of a consumer group writes a record, so the record is the group itself (CGR-22)."""

    group: ConsumerGroup

    @property
    def group_id(self) -> str:
        return self.group.group_id


@dataclass(slots=True, kw_only=True)
class ConsumerGroup:
    """A consumer group. `generation` is the group epoch.

    `owners` are the member ids by partition, for partitions that are assigned or still to be revoked. `settled` are the members that have reached the
    target. `names`, `regexes` and `votes` count the members by subscribed topic, by expression and by named assignor. `topics` are the subscribed
    topics that existed at the last look-up; `is_stale` says that a new look-up is due. `classic` are the members that speak the classic protocol.
    `topics_of_regex` are the topics that each expression matched; `resolved_ms` and `resolved_version` are the time and the topics image of that
    resolution; `resolver` is the client whose request caused it. `unmatched` are the matches of an expression whose last member is gone. Until
    another member changes, Kafka treats them as topics that not all members subscribe to.
    """

    dialect: ClassVar[Dialect] = CONSUMER
    group_id: str
    state: StrEnum = ConsumerState.EMPTY
    generation: int = 0
    protocol_type: str | None = "consumer"
    since_ms: int = 0
    assignment_epoch: int = 0
    assigned_ms: int | None = None  # when the last target was computed; with None the next one is due at once
    assignor: str = ""  # the assignor of the last target
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    members_max: int = 0  # the largest number of members so far
    instances: dict[str, str] = field(default_factory=dict)
    target: dict[str, Share] = field(default_factory=dict)
    owners: dict[tuple[str, int], str] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)
    classic: set[str] = field(default_factory=set)
    names: Counter[str] = field(default_factory=Counter)
    regexes: Counter[str] = field(default_factory=Counter)
    votes: Counter[str] = field(default_factory=Counter)
    topics: dict[str, TopicImage] = field(default_factory=dict)
    is_stale: bool = False
    topics_of_regex: dict[str, frozenset[str]] = field(default_factory=dict)
    unmatched: frozenset[str] = frozenset()
    resolved_ms: int | None = None
    resolved_version: int = -1
    resolver: str = ""

    @classmethod
    def restored(cls, record: StoredConsumerGroup) -> ConsumerGroup:
        """Return the group as a coordinator loads it from the log, in the state that its members imply (CGL-01)."""
        group = record.group.copied()
        group.state = group.inferred_state()
        group.is_stale = True
        return group

    def copied(self, *changing: str) -> ConsumerGroup:
        """Return a copy that shares only immutable values with this group: assignments, shares, topics.

        Where `changing` names members, the other members are shared, too.
        """
        members = self.members.copy()
        group = ConsumerGroup(
            group_id=self.group_id, state=self.state, generation=self.generation, protocol_type=self.protocol_type, since_ms=self.since_ms,
            assignment_epoch=self.assignment_epoch, assigned_ms=self.assigned_ms, assignor=self.assignor, members=members, members_max=self.members_max,
            instances=self.instances.copy(), target=self.target.copy(), owners=self.owners.copy(), settled=self.settled.copy(), classic=self.classic.copy(),
            names=_counted(self.names), regexes=_counted(self.regexes), votes=_counted(self.votes), topics=self.topics.copy(), is_stale=self.is_stale,
            topics_of_regex=self.topics_of_regex.copy(), unmatched=self.unmatched, resolved_ms=self.resolved_ms, resolved_version=self.resolved_version,
            resolver=self.resolver,
        )  # fmt: skip
        for member_id in changing or self.members:
            if (member := members.get(member_id)) is not None:
                members[member_id] = member.copied()
        return group

    def move_to(self, state: StrEnum, now_ms: int) -> None:
        """Move to `state`; raise `IllegalTransition` where the dialect does not allow the transition."""
        if self.state not in self.dialect.valid_previous_states[state]:
            raise IllegalTransition(f"group {self.group_id!r} cannot go from {self.state.value} to {state.value}")
        self.state, self.since_ms = state, now_ms

    def adopted(self, choices: Choices) -> None:
        """Do nothing: the group leaves no choice open."""

    # members

    def holder_of(self, instance_id: str | None) -> ConsumerMember | None:
        """Return the member with the instance id."""
        return None if instance_id is None else self.members.get(self.instances.get(instance_id, ""))

    def add(self, member: ConsumerMember) -> None:
        self.unmatched = frozenset()
        self.members[member.member_id] = member
        self.members_max = max(self.members_max, len(self.members))
        if member.instance_id is not None:
            self.instances[member.instance_id] = member.member_id
        self.speak(member, member.classic)
        self._count_names(member.names, 1)
        self._count_regex(member.regex, 1)
        self._count_vote(member.assignor, 1)

    def vote(self, member: ConsumerMember, assignor: str) -> None:
        """Set the server-side assignor that the member names."""
        self._count_vote(member.assignor, -1)
        member.assignor = assignor
        self._count_vote(assignor, 1)

    def speak(self, member: ConsumerMember, classic: ClassicSide | None) -> None:
        """Set the protocol that the member speaks: the classic one, unless `classic` is None."""
        member.classic = classic
        if classic is None:
            self.classic.discard(member.member_id)
        else:
            self.classic.add(member.member_id)

    def supports_any(self, names: Collection[str]) -> bool:
        """Return whether every classic member supports one of these protocols (`supportsClassicProtocols`)."""
        sides = [side for member_id in self.classic if (side := self.members[member_id].classic) is not None]
        return any(all(any(protocol.name == name for protocol in side.protocols) for side in sides) for name in names)

    def is_waiting(self, member: ConsumerMember) -> bool:
        """Return whether the member waits for a partition that another member still has (`waitingOnUnreleasedPartition`)."""
        target = self.target.get(member.member_id, {})
        return any(
            (topic_id, index) in self.owners and index not in member.assigned.get(topic_id, {})
            for topic_id, indexes in target.items()
            for index in indexes
        )

    def has_target_of_all(self, *, beside: Collection[ConsumerMember] = ()) -> bool:
        """Return whether the target has an entry, possibly empty, for every member not in `beside`."""
        gone = {member.member_id for member in beside}
        return all(member_id in self.target or member_id in gone for member_id in self.members)

    def resubscribe(self, member: ConsumerMember, names: frozenset[str], regex: str) -> None:
        """Set the member's subscription."""
        self.unmatched = frozenset()
        if names != member.names:
            self._count_names(member.names, -1)
            self._count_names(names, 1)
        if regex != member.regex:
            self._count_regex(regex, 1)
            self._count_regex(member.regex, -1)
        member.names, member.regex = names, regex

    def remove(self, member: ConsumerMember) -> None:
        """Remove the member with its share. Its partitions are free at once (CGR-20)."""
        self._take_out(member)
        for instance_id in [instance_id for instance_id, member_id in self.instances.items() if member_id == member.member_id]:
            del self.instances[instance_id]

    def _take_out(self, member: ConsumerMember) -> None:
        del self.members[member.member_id]
        self.target.pop(member.member_id, None)
        self.settled.discard(member.member_id)
        self.classic.discard(member.member_id)
        self._own(member, partitions_of(member.assigned) | partitions_of(member.pending), set())
        self._count_names(member.names, -1)
        self._count_regex(member.regex, -1)
        self._count_vote(member.assignor, -1)

    def replace(self, old: ConsumerMember, new: ConsumerMember) -> None:
        """Give the place of a static member, its share and its partitions to another member id (CGS-18). A previous place of that id is given up."""
        share = self.target.get(old.member_id, {})
        if (earlier := self.members.get(new.member_id)) is not None:
            self._take_out(earlier)
        self._count_regex(new.regex, 1)  # keeps the expression's matches meanwhile
        self.remove(old)
        self.add(new)
        self._count_regex(new.regex, -1)
        self.target[new.member_id] = share  # `replaceMember` writes the share even where it is empty
        self.claim(new)

    def take(self, member: ConsumerMember, step: Step) -> None:
        """Apply the member's step towards its target."""
        before = partitions_of(member.assigned) | partitions_of(member.pending)
        self.unmatched = frozenset()
        # The epoch before the step is the previous epoch, even where the step keeps it (`ConsumerGroupMember.Builder.updateMemberEpoch`).
        member.previous_epoch, member.epoch = member.epoch, step.epoch
        member.progress, member.assigned, member.pending = step.progress, step.assigned, step.pending
        self._own(member, before, partitions_of(step.assigned) | partitions_of(step.pending))
        self.note_progress(member)

    def claim(self, member: ConsumerMember) -> None:
        """Register the member as the owner of its assigned and pending partitions."""
        self._own(member, set(), partitions_of(member.assigned) | partitions_of(member.pending))

    def give(self, member: ConsumerMember, share: Share) -> None:
        """Assign a share to the member, which is settled with it: its assignment in a classic group."""
        self.target[member.member_id] = share
        member.assigned = {topic_id: dict.fromkeys(indexes, member.epoch) for topic_id, indexes in share.items()}
        self._own(member, set(), partitions_of(member.assigned))
        self.note_progress(member)

    def note_progress(self, member: ConsumerMember) -> None:
        """Update whether the member is settled."""
        if member.is_settled(self.assignment_epoch):
            self.settled.add(member.member_id)
        else:
            self.settled.discard(member.member_id)

    def note_all_progress(self) -> None:
        """Find the members that are settled with a new target. Must be fast: while a thousand members join, it runs a thousand times (before 4.4)."""
        epoch = self.assignment_epoch
        reached = compress(self.members.values(), map(epoch.__eq__, map(_EPOCH, self.members.values())))
        self.settled = {member.member_id for member in reached if member.is_settled(epoch)}

    def free_pending(self, member: ConsumerMember) -> None:
        """Free the partitions that the member had to revoke (CGR-21)."""
        self._own(member, partitions_of(member.pending), set())
        member.pending = {}

    def _own(self, member: ConsumerMember, before: set[tuple[str, int]], after: set[tuple[str, int]]) -> None:
        for partition in before - after:
            if self.owners.get(partition) == member.member_id:
                del self.owners[partition]
        for partition in after - before:
            self.owners[partition] = member.member_id

    def _count_names(self, names: frozenset[str], by: int) -> None:
        for name in names:
            self.names[name] += by
            if not self.names[name]:
                del self.names[name]

    def _count_vote(self, assignor: str | None, by: int) -> None:
        if assignor is not None:
            self.votes[assignor] += by
            if not self.votes[assignor]:
                del self.votes[assignor]

    def _count_regex(self, regex: str, by: int) -> None:
        """Count the members that subscribe by the expression. Its matches are dropped with the last of them."""
        if not regex:
            return
        self.regexes[regex] += by
        if not self.regexes[regex]:
            del self.regexes[regex]
            self.unmatched |= self.topics_of_regex.pop(regex, frozenset())

    # subscriptions

    def subscribed_names(self) -> set[str]:
        """Return the names that any member subscribes to, by name or by regular expression."""
        return {*self.names, *(name for regex in self.regexes for name in self.topics_of_regex.get(regex, ()))}

    def names_of(self, member: ConsumerMember) -> frozenset[str]:
        """Return the names that the member subscribes to, by name or by expression."""
        return self.names_matched(member.names, member.regex)

    def names_matched(self, names: frozenset[str], regex: str) -> frozenset[str]:
        """Return the names of a subscription with these names and this expression."""
        return names | self.topics_of_regex.get(regex, frozenset()) if regex else names

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.names or any(topic in self.topics_of_regex.get(regex, ()) for regex in self.regexes)

    def subscribed_topics(self) -> frozenset[str]:
        return frozenset(self.subscribed_names())

    def notify_topics_changed(self, names: frozenset[str]) -> None:
        """Schedule a look-up of the topics at the next heartbeat, if the group subscribes to one of `names` (CGX-15, CGX-16)."""
        self.is_stale = self.is_stale or any(self.is_subscribed_to(name) for name in names)

    def look_at(self, image: TopicsImage) -> bool:
        """Look up the topics that the group subscribes to; return whether they changed."""
        self.is_stale = False
        topics = {name: topic for name in self.subscribed_names() if (topic := image.by_name.get(name)) is not None}
        is_changed = topics != self.topics
        self.topics = topics
        return is_changed

    # state

    def inferred_state(self) -> ConsumerState:
        """Return the state that members and epochs imply (Kafka's `ConsumerGroup.maybeUpdateGroupState`)."""
        if not self.members:
            return ConsumerState.EMPTY
        if self.generation > self.assignment_epoch:
            return ConsumerState.ASSIGNING
        return ConsumerState.STABLE if len(self.settled) == len(self.members) else ConsumerState.RECONCILING

    def check(self) -> None:
        """Assert the group's invariants, each in O(1)."""
        assert self.assignment_epoch <= self.generation, (
            f"{self.group_id}: target {self.assignment_epoch} above the group's {self.generation} (CGI-05)"
        )
        assert len(self.classic) <= len(self.members), f"{self.group_id}: {len(self.classic)} of {len(self.members)} members are classic"
        assert len(self.settled) <= len(self.members), f"{self.group_id}: {len(self.settled)} of {len(self.members)} members are settled"
        assert self.state is self.inferred_state() or self.state is ConsumerState.DEAD, (
            f"{self.group_id} is {self.state}, and not {self.inferred_state()}"
        )

    def member_ids(self) -> tuple[str, ...]:
        """Return the ids of the members, in joining order."""
        return tuple(self.members)

    def parked(self) -> list[Hashable]:
        """Return nothing: every request is answered at once."""
        return []

    def progress(self) -> GroupProgress:
        absent = tuple(member.client_id for member in self._unsettled())
        return GroupProgress(state=self.state, generation=self.generation, leader=None, absent=absent, pending=())

    def _unsettled(self) -> Iterator[ConsumerMember]:
        return (member for member in self.members.values() if member.member_id not in self.settled)

    def view(self) -> GroupView:
        """Return a snapshot of the group, for tests, traces and the frame filter."""
        members = tuple(
            MemberView(
                member_id=member.member_id, client_id=member.client_id, client_host=member.client_host, group_instance_id=member.instance_id,
                is_leader=False, parked=None, session_timeout_ms=-1, rebalance_timeout_ms=member.rebalance_timeout_ms, assignment=b"",
            )
            for member in self.members.values()
        )  # fmt: skip
        return GroupView(
            group_id=self.group_id, state=self.state, generation=self.generation, protocol_type=self.protocol_type, protocol_name=self.assignor or None,
            leader=None, members=members, pending=(),
        )  # fmt: skip


def _counted(counts: Counter[str]) -> Counter[str]:
    """Return a copy. `Counter.copy` would count again."""
    copy: Counter[str] = Counter()
    dict.update(copy, counts)
    return copy
