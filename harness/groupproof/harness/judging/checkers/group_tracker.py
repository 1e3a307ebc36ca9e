"""The one tracker of a group as its trace shows it: who is a member, in which generation, what SyncGroup answers assigned, and what callbacks say. Pure.

Frames come first. What an application says is kept beside them (`hands`), for a shim may tell a nice story. Each decision rests on a requirement:

* An eager assignment replaces what a member owned, a cooperative one adds to it (CLIENT-62; KIP-429).
* An application is heard as `shim` and as `member`: Spark's loads and the simulator write the latter.
* JoinGroup's NONE makes a member (JOIN-13), MEMBER_ID_REQUIRED does not (KIP-394).
* 25 and 82 end the membership that the refused request named, as an accepted LeaveGroup does; 22 ends its generation, and the id goes on
  (CLIENT-47, CLIENT-48, CLIENT-57). The refusal of an older membership's request says nothing of the newer one (CLIENT-64).
* A client's own state is that of Kafka's `AbstractCoordinator`: its JoinGroup begins a rebalance, one that fails leaves it UNJOINED (CLIENT-64).
* By the wire a client owns what SyncGroup gave it, until an eager one joins again (CLIENT-62), or the membership ends. Nobody tells a member whose
  session expired: until it hears, it believes.
* A group that is made anew counts its generations from 1 again: what was assigned before says nothing any more (INV-04). One that goes on elsewhere
  from before a generation that was not stored counts that one's number again (EMIG-05).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.checkers.checker import Newest
from groupproof.harness.judging.checkers.frame_facts import SLACK_MS, error_of
from groupproof.harness.judging.checkers.membership import GENERATIONS_KEPT, Assigned, Assignment, MemberLives, MembershipGrant, joins_of
from groupproof.harness.judging.checkers.ownership_tracker import REPORTERS, REPORTING_MS, Holding, OwnershipTracker
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import COOPERATIVE, MEMBERSHIP_ENDS, Api, ErrorCode, GroupState, MemberState, TopicPartition
from groupproof.protocol.wire.subscription import SubscriptionError, decode_assignment

__all__ = ["LATE_LINES_MS_MAX", "GroupTracker", "Membership"]

LATE_LINES_MS_MAX: Final = 5_000.0
"""No more than this is allowed to lines that are late."""

_SYNC, _JOIN, _LEAVE, _BEAT = Api.SYNC_GROUP.title, Api.JOIN_GROUP.title, Api.LEAVE_GROUP.title, Api.HEARTBEAT.title
_OUT: Final = MEMBERSHIP_ENDS - {ErrorCode.ILLEGAL_GENERATION}
_WITH_GENERATION: Final = frozenset(api.title for api in (Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT))
_NAMES_A_MEMBER: Final = _WITH_GENERATION | {_JOIN}
_NOBODY: Final = frozenset({GroupState.EMPTY.value, GroupState.DEAD.value})
_NEVER: Final = -1


@dataclass(slots=True)
class Membership:
    """What the frames say of one client. `generation` is -1 where it has none; `assignment` is None until its generation's SyncGroup is answered; `epoch`
    is the tracker's at its JoinGroup answer. `synced_seq` is its SyncGroup request in this generation, `beat_seq` the last Heartbeat that was answered
    without an error since, `owned` what it owns as far as it knows."""

    member: str = ""
    generation: int = -1
    is_cooperative: bool = False
    epoch: int = 0
    assignment: Assignment | None = None
    state: MemberState = MemberState.UNJOINED
    is_leader: bool = False
    owned: frozenset[TopicPartition] = frozenset()
    synced_seq: int = _NEVER
    beat_seq: int = _NEVER

    def end_generation(self) -> None:
        """Forget the generation and what was owned in it; the member id is kept (CLIENT-47)."""
        self.generation, self.assignment, self.state, self.owned = -1, None, MemberState.UNJOINED, frozenset()

    @property
    def is_member(self) -> bool:
        return self.generation >= 0


@dataclass(slots=True)
class GroupTracker:
    """Follows one group. `driven` are the clients whose applications the kit commands: each of their client ids is one process, which reads what its
    group assigns and nothing by hand. `state` is the group's by the coordinator's transitions, `generation` its newest. `epoch` counts how often the group
    was made anew: a generation's number is compared within one. `topics` are those of which somebody was assigned a partition, `unreadable` the clients
    with an assignment that says nothing to the kit: of another protocol type, or no bytes of the consumer protocol."""

    hands: OwnershipTracker = field(default_factory=OwnershipTracker)
    lives: MemberLives = field(default_factory=MemberLives)
    members: dict[str, Membership] = field(default_factory=dict)
    assigned: dict[str, Assigned] = field(default_factory=dict)
    driven: set[str] = field(default_factory=set)
    topics: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    epoch: int = 0
    state: str | None = None
    generation: int = -1
    _owners: Newest[int, dict[TopicPartition, set[str]]] = field(default_factory=lambda: Newest(GENERATIONS_KEPT))
    _newest_generation: int = -1
    _late_ms: dict[str, float] = field(default_factory=dict)

    def follow(self, obs: Observation) -> tuple[list[Holding], list[Holding]]:
        """Take the next observation; return the holdings that begin with it, and those that end, by the callbacks."""
        if obs.kind == "transition":
            self._moved(obs)
        elif obs.client is None:
            pass
        elif obs.kind == "event":
            self._event(obs, obs.client)
        elif obs.kind == "request":
            self._asked(obs, obs.client)
        elif obs.kind == "response":
            self._answered(obs, obs.client)
        return self.hands.follow(obs)

    def _moved(self, obs: Observation) -> None:
        falls = obs.generation is not None and obs.generation < self._newest_generation
        if obs.state_before is None or falls:
            self._begin_anew()
        self.state = obs.state_after
        self.generation = max(self.generation, -1 if obs.generation is None else obs.generation)
        if obs.state_after in _NOBODY:
            for member in self.members.values():
                member.generation, member.assignment = -1, None

    def _event(self, obs: Observation, client: str) -> None:
        name = obs.body.get("name")
        if obs.who == "kit" and name == "command" and obs.body.get("command") == "subscribe":
            self.driven.add(client)
        elif obs.who == "kit" and name in ("kill", "exit"):
            self.members[client] = Membership()
        elif obs.who in REPORTERS and name == "partitions_assigned":
            newest = self._newest_answer(client)
            if newest is not None:
                late_ms = min(obs.at_ms - newest.at_ms, LATE_LINES_MS_MAX)
                self._late_ms[client] = min(late_ms, self._late_ms.get(client, late_ms))

    def _newest_answer(self, client: str) -> Assignment | None:
        mine = self.members.get(client)
        return None if mine is None else mine.assignment

    def _asked(self, obs: Observation, client: str) -> None:
        if (mine := self.members.get(client)) is None and obs.api != _JOIN:
            return
        mine = mine or self.members.setdefault(client, Membership())
        if obs.api == _JOIN:
            self.lives.asks(obs, client)
            mine.state = MemberState.PREPARING_REBALANCE
            mine.owned = mine.owned if mine.is_cooperative else frozenset()
        elif obs.api == _SYNC and obs.generation == mine.generation:
            mine.synced_seq = obs.seq
        elif obs.api == _LEAVE:
            mine.state = MemberState.UNJOINED

    def _answered(self, obs: Observation, client: str) -> None:
        mine = self.members.setdefault(client, Membership())
        error = error_of(obs)
        if error in _OUT and obs.api in _NAMES_A_MEMBER and obs.member == mine.member:
            self.members[client] = Membership()
        elif error == ErrorCode.ILLEGAL_GENERATION and obs.api in _WITH_GENERATION and (obs.member, obs.generation) == (mine.member, mine.generation):
            mine.end_generation()
        elif obs.api == _BEAT and obs.generation == mine.generation:
            mine.beat_seq = _NEVER if error or mine.assignment is None else obs.seq
        elif obs.api == _LEAVE and not error:
            self.members[client] = Membership()
        elif (grant := joins_of(obs)) is not None:
            if 0 <= grant.generation < self._newest_generation:
                self._begin_anew()  # behind a tap nobody tells that the group was made anew
            self._newest_generation = max(grant.generation, self._newest_generation)
            self.generation = max(grant.generation, self.generation)
            self.lives.enters(client, grant.generation)
            self._join(grant, client, mine)
        elif obs.api == _SYNC and not error:
            self._assign(obs, client, mine)
        elif error and obs.api in (_JOIN, _SYNC):
            mine.state = MemberState.UNJOINED

    def _join(self, grant: MembershipGrant, client: str, before: Membership) -> None:
        is_whole, is_cooperative = grant.generation >= 0, grant.protocol in COOPERATIVE
        self.members[client] = Membership(
            grant.member, grant.generation, is_cooperative, self.epoch, is_leader=grant.is_leader,
            state=MemberState.COMPLETING_REBALANCE if is_whole else MemberState.UNJOINED, owned=before.owned,
        )  # fmt: skip

    def _assign(self, obs: Observation, client: str, mine: Membership) -> None:
        assigned = self.assigned.setdefault(client, Assigned())
        assigned.follow(obs)
        mine.assignment, mine.owned = assigned.newest, frozenset(obs.partitions)
        mine.state = MemberState.STABLE
        if not obs.partitions and _has_content(obs):
            self.unreadable.add(client)
        self.topics.update(topic for topic, _ in obs.partitions)
        if obs.generation is not None and mine.epoch == self.epoch:  # else it was on its way when the group was made anew
            owners = self._owners.get(obs.generation) or {}
            for partition in obs.partitions:
                owners.setdefault(partition, set()).add(client)
            self._owners.set(obs.generation, owners)

    def _begin_anew(self) -> None:
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
        """Tell whether it is certain that no SyncGroup answer ever gave the client this partition."""
        assigned = self.assigned.get(client)
        return client not in self.unreadable and (assigned is None or partition not in assigned.latest)

    def others_in(self, generation: int | None, partition: TopicPartition, client: str) -> set[str]:
        """Return the other clients to whom SyncGroup answers of this generation gave the partition."""
        owners = {} if generation is None else self._owners.get(generation) or {}
        return owners.get(partition, set()) - {client}

    def may_be_late(self, client: str) -> bool:
        """Tell whether the lines of this client are known to be late, or not known to be in time."""
        return self._late_ms.get(client, LATE_LINES_MS_MAX) > SLACK_MS

    def late_ms(self, client: str) -> float:
        """Return how late the lines of this client are, by the quickest `partitions_assigned` after its SyncGroup answer, and what any line is allowed.

        A shim whose lines come two seconds late is slow at writing, and no worse at keeping partitions apart.
        """
        return REPORTING_MS + self._late_ms.get(client, 0.0)


def _has_content(answer: Observation) -> bool:
    """Tell whether a SyncGroup answer that was read as an empty assignment has bytes that say something else."""
    try:
        return bool(decode_assignment(answer.body.get("assignment") or b"").partitions)
    except SubscriptionError:
        return True
