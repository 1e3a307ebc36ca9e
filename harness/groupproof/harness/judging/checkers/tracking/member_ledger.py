"""The members of a group by its frames, in any dialect. The readers of frames write it; the tracker and its users read it. Pure.

A dialect counts its members by generations or by epochs, and assigns in one answer or step by step. The ledger holds both, and has no rules of its
own about frames.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.checkers.checker import Newest
from groupproof.harness.judging.checkers.tracking.membership import GENERATIONS_KEPT, Assignment, AssignmentHistory, MemberLives
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import MemberState, TopicPartition

__all__ = ["NEVER", "MemberLedger", "Membership"]

NEVER: Final = -1
_TOPIC_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(slots=True)
class Membership:
    """The state of one client by its frames.

    `generation` is -1 where it has none. `assignment` is None until its generation's SyncGroup is answered. `epoch` is the tracker's at its
    JoinGroup response. `synced_seq` is its SyncGroup request in this generation, `beat_seq` the last Heartbeat since that was answered without an
    error. `owned` is what it owns as far as it knows. A dialect with epochs uses `member_epoch` in place of the generation; -1 means no member.
    `target` is the latest assignment, or None before the first. Partitions in `target` but not in `owned` are not acknowledged yet; those in
    `owned` but not in `target` are not released yet.
    """

    member: str = ""
    generation: int = -1
    is_cooperative: bool = False
    epoch: int = 0
    assignment: Assignment | None = None
    state: MemberState = MemberState.UNJOINED
    is_leader: bool = False
    owned: frozenset[TopicPartition] = frozenset()
    synced_seq: int = NEVER
    beat_seq: int = NEVER
    member_epoch: int = -1
    target: frozenset[TopicPartition] | None = None

    def end_generation(self) -> None:
        """Forget the generation and its owned partitions. The member id is kept (CLIENT-47)."""
        self.generation, self.assignment, self.state, self.owned = -1, None, MemberState.UNJOINED, frozenset()

    @property
    def is_member(self) -> bool:
        return self.generation >= 0 or self.member_epoch >= 0


@dataclass(slots=True)
class MemberLedger:
    """The members of one group. `generation` is the group's newest counter. `epoch` counts how often the group was created again: generation
    numbers are compared within one epoch. `topics` are those with an assigned partition. `unreadable` are the clients with an assignment that the
    kit cannot read: of another protocol type, or not in the format of the consumer protocol.
    """

    lives: MemberLives = field(default_factory=MemberLives)
    members: dict[str, Membership] = field(default_factory=dict)
    assigned: dict[str, AssignmentHistory] = field(default_factory=dict)
    topics: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    epoch: int = 0
    generation: int = -1
    _owners: Newest[int, dict[TopicPartition, set[str]]] = field(default_factory=lambda: Newest(GENERATIONS_KEPT))
    _newest_generation: int = -1

    def of(self, client: str) -> Membership:
        """Return the state of a client; create it if there is none."""
        return self.members.setdefault(client, Membership())

    def enter(self, client: str, membership: Membership) -> None:
        """Replace the membership of a client."""
        self.members[client] = membership

    def end(self, client: str) -> None:
        """Record that a client is no longer a member."""
        self.members[client] = Membership()

    def reach(self, generation: int) -> None:
        """Record a generation from an answer. A lower one means that the group was created again, even without a transition."""
        if 0 <= generation < self._newest_generation:
            self.begin_anew()
        self._newest_generation = max(generation, self._newest_generation)
        self.generation = max(generation, self.generation)

    def assign(self, client: str, answer: Observation) -> Assignment:
        """Record what an answer assigned to a client, in the generation that the answer names. Return it."""
        assigned = self.assigned.setdefault(client, AssignmentHistory())
        assignment = assigned.follow(answer)
        self.topics.update(topic for topic, _ in answer.partitions)
        if answer.generation is not None and self.of(client).epoch == self.epoch:  # else it was on its way when the group was created again
            owners = self._owners.get(answer.generation) or {}
            for partition in answer.partitions:
                owners.setdefault(partition, set()).add(client)
            self._owners.set(answer.generation, owners)
        return assignment

    def begin_anew(self) -> None:
        """Forget the generations, because their numbers come again."""
        self.epoch += 1
        self.lives.begin_anew()
        self._owners = Newest(GENERATIONS_KEPT)
        self.generation = self._newest_generation = -1

    def is_member(self, client: str) -> bool:
        return client in self.members and self.members[client].is_member

    def owned(self, client: str) -> frozenset[TopicPartition]:
        """Return what a client owns as far as it knows, by the frames alone."""
        mine = self.members.get(client)
        return frozenset() if mine is None else mine.owned

    def was_never_assigned(self, client: str, partition: TopicPartition) -> bool:
        """Return whether it is certain that no answer ever gave the client this partition.

        It is not, if an answer gave it partitions of a topic that is known by its id alone: the partition may be one of those.
        """
        assigned = self.assigned.get(client)
        if client in self.unreadable or assigned is None:
            return client not in self.unreadable
        return partition not in assigned.latest and (_is_id(partition[0]) or not any(_is_id(topic) for topic, _ in assigned.latest))

    def others_in(self, generation: int | None, partition: TopicPartition, client: str) -> set[str]:
        """Return the other clients to whom answers of this generation gave the partition."""
        owners = {} if generation is None else self._owners.get(generation) or {}
        return owners.get(partition, set()) - {client}

    def other_owners(self, partition: TopicPartition, client: str) -> set[str]:
        """Return the other clients that own a partition now as far as they know."""
        return {name for name, member in self.members.items() if name != client and partition in member.owned}


def _is_id(topic: str) -> bool:
    """Return whether a trace has a topic by its id, because the recorder never saw the name (KIP-516)."""
    return _TOPIC_ID.fullmatch(topic) is not None
