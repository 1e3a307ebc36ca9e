"""Which memberships the JoinGroup answers gave to each client, as far as checkers need to know. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from groupproof.harness.judging.checkers.checker import Newest, Numbers
from groupproof.harness.judging.checkers.frame_facts import MembershipGrant, gives, instance_of, membership_grant
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["GENERATIONS_KEPT", "Assignment", "AssignmentHistory", "MemberLives", "MembershipGrant", "MembershipHistory", "joins_of"]

GENERATIONS_KEPT = 8
"""How many generations back it is known who led and what was assigned, client by client; who names an older one is not judged by it."""


_JOIN, _SYNC = Api.JOIN_GROUP.title, Api.SYNC_GROUP.title


def joins_of(obs: Observation) -> MembershipGrant | None:
    """Return what an observation gave to its client, if it is a JoinGroup answer that gave something."""
    return membership_grant(obs) if obs.kind == "response" and obs.api == _JOIN and obs.client is not None and gives(obs) else None


@dataclass(slots=True)
class MembershipHistory:
    """The newest memberships of one client, by member id and generation."""

    newest: Newest[tuple[str, int], MembershipGrant] = field(default_factory=lambda: Newest(GENERATIONS_KEPT))

    def follow(self, grant: MembershipGrant) -> None:
        self.newest.set((grant.member, grant.generation), grant)

    def origin(self, sync: Observation) -> MembershipGrant | None:
        """Return the answer that a SyncGroup request follows: same member and generation."""
        return self.newest.get((sync.member or "", -1 if sync.generation is None else sync.generation))


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one answer assigned."""

    seq: int
    at_ms: float
    generation: int | None
    partitions: frozenset[TopicPartition]


@dataclass(slots=True)
class AssignmentHistory:
    """What answers assigned to one client, by generation; `latest` holds the newest answer that gave it each partition."""

    by_generation: Newest[int | None, list[Assignment]] = field(default_factory=lambda: Newest(GENERATIONS_KEPT))
    latest: dict[TopicPartition, Assignment] = field(default_factory=dict)
    newest: Assignment | None = None

    def follow(self, obs: Observation) -> Assignment:
        """Take note of an answer that assigns; return what it assigned."""
        assignments = self.by_generation.get(obs.generation) or []
        answer = Assignment(obs.seq, obs.at_ms, obs.generation, frozenset(obs.partitions))
        self.by_generation.set(obs.generation, [*assignments[-3:], answer])
        self.newest = answer
        for partition in obs.partitions:
            self.latest[partition] = answer
        return answer

    def at(self, request: Observation, slack_ms: float) -> frozenset[TopicPartition] | None:
        """Return what the client knew at `request` to be assigned in the generation that it names; None where that is forgotten."""
        assignments = self.by_generation.get(request.generation)
        if assignments is None:
            return None if self.by_generation.has_forgotten else frozenset()
        received = [
            assignment.partitions for assignment in assignments if assignment.seq < request.seq or assignment.at_ms - request.at_ms <= slack_ms
        ]
        return frozenset().union(*received)


@dataclass(slots=True)
class MemberLives:
    """Which clients were in which generation of the group since it was made, and by which instance ids each joined."""

    instances: dict[str, set[str]] = field(default_factory=dict)
    _generations: dict[str, Numbers] = field(default_factory=dict)

    def asks(self, join: Observation, client: str) -> None:
        if (instance := instance_of(join)) is not None:
            self.instances.setdefault(client, set()).add(instance)

    def enters(self, client: str, generation: int) -> None:
        self._generations.setdefault(client, Numbers()).add(generation)

    def begin_anew(self) -> None:
        """Forget the generations: their numbers come again."""
        self._generations.clear()

    def was_in(self, client: str, generation: int | None) -> bool:
        return generation in self._generations.get(client, ())

    def are_twins(self, one: str, other: str) -> bool:
        return bool(self.instances.get(one, set()) & self.instances.get(other, set()))
