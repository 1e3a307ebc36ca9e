"""The memberships and assignments that answers gave to each client, as far as checkers need them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.checkers.checker import Newest, Numbers
from groupproof.harness.judging.checkers.frame_facts import MembershipGrant, gives, instance_of, membership_grant
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["GENERATIONS_KEPT", "Assignment", "AssignmentHistory", "MemberLives", "MembershipGrant", "MembershipHistory", "joins_of"]

GENERATIONS_KEPT = 8
"""The number of generations for which leaders and assignments are kept. Requests of older generations are not judged."""


_JOIN, _SYNC = Api.JOIN_GROUP.title, Api.SYNC_GROUP.title


def joins_of(obs: Observation) -> MembershipGrant | None:
    """Return what a JoinGroup response gave to its client. Return None for any other observation, and where it gave nothing."""
    if obs.kind != "response" or obs.api != _JOIN or obs.client is None or not gives(obs):
        return None
    newest = _NEWEST[0]
    if newest is None or newest.answer is not obs:
        newest = _NEWEST[0] = membership_grant(obs)
    return newest


_NEWEST: Final[list[MembershipGrant | None]] = [None]
"""The grant of the newest answer. A dozen readers ask for it, one after the other."""


@dataclass(slots=True)
class MembershipHistory:
    """The newest memberships of one client, by member id and generation."""

    newest: Newest[tuple[str, int], MembershipGrant] = field(default_factory=lambda: Newest(GENERATIONS_KEPT))

    def follow(self, grant: MembershipGrant) -> None:
        self.newest.set((grant.member, grant.generation), grant)

    def origin(self, sync: Observation) -> MembershipGrant | None:
        """Return the JoinGroup response that a SyncGroup request follows: same member and generation."""
        return self.newest.get((sync.member or "", -1 if sync.generation is None else sync.generation))


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one answer assigned to a member."""

    member: str
    seq: int
    at_ms: float
    generation: int | None
    partitions: frozenset[TopicPartition]


@dataclass(slots=True)
class AssignmentHistory:
    """What answers assigned to one client, by generation. `latest` holds for each partition the newest answer that gave it."""

    by_generation: Newest[int | None, list[Assignment]] = field(default_factory=lambda: Newest(GENERATIONS_KEPT))
    latest: dict[TopicPartition, Assignment] = field(default_factory=dict)
    newest: Assignment | None = None

    def follow(self, obs: Observation) -> Assignment:
        """Record an answer that assigns. Return its assignment."""
        assignments = self.by_generation.get(obs.generation) or []
        answer = Assignment(obs.member or "", obs.seq, obs.at_ms, obs.generation, frozenset(obs.partitions))
        self.by_generation.set(obs.generation, [*assignments[-3:], answer])
        self.newest = answer
        for partition in obs.partitions:
            self.latest[partition] = answer
        return answer

    def before(self, request: Observation) -> Assignment | None:
        """Return the member's last assignment of a generation before that of `request`. Return None where it has none."""
        numbers = [number for number in self.by_generation.entries if number is not None and number < (request.generation or 0)]
        answers = (self.by_generation.get(max(numbers)) or []) if numbers else []
        return answers[-1] if answers and answers[-1].member == request.member else None

    def at(self, request: Observation, slack_ms: float) -> frozenset[TopicPartition] | None:
        """Return the client's assigned partitions in the generation of `request`, as far as it knew them. Return None where they are forgotten."""
        assignments = self.by_generation.get(request.generation)
        if assignments is None:
            return None if self.by_generation.has_forgotten else frozenset()
        received = [
            assignment.partitions for assignment in assignments if assignment.seq < request.seq or assignment.at_ms - request.at_ms <= slack_ms
        ]
        return frozenset().union(*received)


@dataclass(slots=True)
class MemberLives:
    """Which clients were in which generations of the group since it was made, and the instance ids with which each joined."""

    instances: dict[str, set[str]] = field(default_factory=dict)
    _generations: dict[str, Numbers] = field(default_factory=dict)

    def asks(self, join: Observation, client: str) -> None:
        if (instance := instance_of(join)) is not None:
            self.instances.setdefault(client, set()).add(instance)

    def enters(self, client: str, generation: int) -> None:
        self._generations.setdefault(client, Numbers()).add(generation)

    def begin_anew(self) -> None:
        """Forget the generations, because their numbers come again."""
        self._generations.clear()

    def was_in(self, client: str, generation: int | None) -> bool:
        return generation in self._generations.get(client, ())

    def are_twins(self, one: str, other: str) -> bool:
        return bool(self.instances.get(one, set()) & self.instances.get(other, set()))
