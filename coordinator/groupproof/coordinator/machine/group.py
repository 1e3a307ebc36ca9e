"""One classic group: its state, generation, protocol, members and invariants. Only the effects of table rows change it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from groupproof.coordinator.machine.machine_outputs import GroupProgress, GroupView, MemberView
from groupproof.coordinator.machine.members import Members, first_of, leading_protocols, possible_protocols, topics_of
from groupproof.coordinator.machine.storage import StoredGroup, StoredMember
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_states import COMPLETING, DEAD, EMPTY, PREPARING, STABLE
from groupproof.protocol.wire.messages import JoinGroupResponse

if TYPE_CHECKING:
    from groupproof.coordinator.machine.choices import Choices
    from groupproof.protocol.rules.dialect import Dialect
    from groupproof.protocol.wire.messages import JoinMember

__all__ = ["Group", "IllegalTransition"]

CONSUMER: Final = "consumer"


class IllegalTransition(AssertionError):
    """The machine tried a transition that INV-01 does not allow. This is a bug of the kit, never of a peer."""


@dataclass(slots=True, kw_only=True)
class Group:
    """A classic group.

    `before` is the previous state. `delay_ms` is the initial rebalance delay that runs; `budget_ms` is the time by which it can still be extended.
    """

    dialect: ClassVar[Dialect] = CLASSIC
    group_id: str
    state: StrEnum = EMPTY
    before: StrEnum = DEAD
    generation: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    members: Members = field(default_factory=Members)
    newcomer_came: bool = False
    delay_ms: int = 0
    budget_ms: int = 0
    since_ms: int = 0  # when it entered its state
    subscriptions: tuple[bytes, ...] | None = None  # the metadata of the last generation's members for its protocol; None before the first generation

    @classmethod
    def restored(cls, record: StoredGroup) -> Group:
        """Return the group as a coordinator loads it from the log."""
        group = cls(
            group_id=record.group_id, generation=record.generation, protocol_type=record.protocol_type, protocol_name=record.protocol_name,
            state=STABLE if record.members else EMPTY, since_ms=record.since_ms,
        )  # fmt: skip
        group.subscriptions = tuple(member.subscription for member in record.members)
        for member in record.members:
            group.members.add(member.restore(record.protocol_type or "", record.protocol_name or ""))
        if record.leader is not None and record.leader in group.members:
            group.members.leader = record.leader
        return group

    def stored(self, assignment: Mapping[str, bytes]) -> StoredGroup:
        """Return the record of the group. A member without an entry in `assignment` gets an empty one."""
        name = self.protocol_name
        return StoredGroup(
            group_id=self.group_id, generation=self.generation, protocol_type=self.protocol_type, protocol_name=name,
            leader=self.members.leader, since_ms=self.since_ms,
            members=tuple([StoredMember.of(member, name, assignment.get(member.member_id, b"")) for member in self.members]),
        )  # fmt: skip

    def move_to(self, state: StrEnum, now_ms: int) -> None:
        """Move to `state`; raise `IllegalTransition` where INV-01 does not allow the transition."""
        if self.state not in self.dialect.valid_previous_states[state]:
            raise IllegalTransition(f"group {self.group_id!r} cannot go from {self.state.value} to {state.value}")
        self.before, self.state, self.since_ms = self.state, state, now_ms

    def adopted(self, choices: Choices) -> None:
        """Let `choices` elect the leader."""
        self.members.elect = partial(choices.leader, self.group_id)

    def next_generation(self, number: int, choose: Callable[[Sequence[str], Sequence[str]], str] = first_of) -> None:
        """Begin the generation of this number and choose its protocol.

        `choose` picks one of the protocols with the most votes, or of all that are possible without agreement (JOIN-32).
        """
        self.generation = number
        ballots = self.members.ballots
        possible = possible_protocols(ballots) if ballots else []
        self.protocol_name = choose(leading_protocols(ballots), possible) if len(possible) > 1 else next(iter(possible), None)
        self.subscriptions = self.members.metadata(self.protocol_name)
        self.members.unsynced.clear()
        self.newcomer_came = False

    @property
    def is_consumer(self) -> bool:
        return self.protocol_type == CONSUMER

    def subscribed_topics(self) -> frozenset[str] | None:
        """Return the topics that the last generation subscribed to, None where they cannot be known (KIP-496)."""
        if not self.is_consumer or self.subscriptions is None:
            return None
        read = [topics_of(subscription) for subscription in set(self.subscriptions)]
        subscriptions = [topics for topics in read if topics is not None]
        return frozenset[str]().union(*subscriptions) if len(subscriptions) == len(read) else None

    def join_answer(self, member_id: str, members: tuple[JoinMember, ...] = ()) -> JoinGroupResponse:
        """Return the current generation for `member_id`, with this member list."""
        return JoinGroupResponse(
            generation_id=self.generation, protocol_type=self.protocol_type, protocol_name=self.protocol_name,
            leader=self.members.leader or "", member_id=member_id, members=members,
        )  # fmt: skip

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether a member subscribes to `topic`. In a `consumer` group with unknown topics, every topic counts as subscribed."""
        topics = self.subscribed_topics()
        return self.is_consumer if topics is None else topic in topics

    def check(self) -> None:
        """Assert INV-05, INV-06 and INV-11, each in O(1)."""
        members, state = self.members, self.state
        leader, by_id = members.leader, members.by_id
        assert (leader is None) == (not by_id), f"{self.group_id}: leader {leader} of {len(by_id)} members (INV-05)"
        assert leader is None or leader in by_id, f"{self.group_id}: leader {leader} is no member (INV-05)"
        assert not members.joined or state is PREPARING, f"{self.group_id}: {members.joined} JoinGroups parked in {state.value} (INV-06)"
        assert not members.syncing or state is COMPLETING, f"{self.group_id}: {members.syncing} SyncGroups parked in {state.value} (INV-06)"
        assert state is not EMPTY or not by_id, f"{self.group_id}: {len(by_id)} members of an Empty group (INV-11)"

    def member_ids(self) -> tuple[str, ...]:
        """Return the ids of the members, in joining order."""
        return tuple(self.members.by_id)

    def parked(self) -> list[Hashable]:
        """Return the tokens of the parked requests."""
        return [parked_request.token for member in self.members for parked_request in (member.join, member.sync) if parked_request is not None]

    def progress(self) -> GroupProgress:
        """Return a summary of the group's progress. It is much smaller and cheaper than `view`."""
        absent = tuple(member.client_id for member in self.members if member.join is None and member.sync is None)
        leader, pending = self.members.leader, tuple(self.members.pending)
        return GroupProgress(state=self.state, generation=self.generation, leader=leader, absent=absent, pending=pending)

    def view(self) -> GroupView:
        """Return a snapshot of the group, for tests, traces and the frame filter."""
        members = tuple(
            MemberView(
                member_id=member.member_id, client_id=member.client_id, client_host=member.client_host, group_instance_id=member.group_instance_id,
                is_leader=member.member_id == self.members.leader,
                parked="JoinGroup" if member.join else "SyncGroup" if member.sync else None,
                session_timeout_ms=member.session_timeout_ms, rebalance_timeout_ms=member.rebalance_timeout_ms, assignment=member.assignment,
            )
            for member in self.members
        )  # fmt: skip
        return GroupView(
            group_id=self.group_id, state=self.state, generation=self.generation, protocol_type=self.protocol_type,
            protocol_name=self.protocol_name, leader=self.members.leader, members=members, pending=tuple(self.members.pending),
        )  # fmt: skip
