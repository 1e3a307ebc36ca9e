"""Checks a leader's assignment: each listed member, each partition once, only subscribed topics. Checks that a follower assigns nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from groupproof.harness.judging.checkers.checker import Newest, Waiting
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import (
    SLACK_MS,
    MembershipGrant,
    assignments_of,
    members_of,
    subscriptions_of,
    truncated_assignments,
)
from groupproof.harness.judging.checkers.listening_checker import ListeningChecker
from groupproof.harness.judging.checkers.tracking.membership import MembershipHistory, joins_of
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation, Partitions
from groupproof.protocol.vocabulary import COOPERATIVE, Api, TopicPartition
from groupproof.protocol.wire.subscription import Subscription

__all__ = ["FollowersAssignNothing", "LeadersAssignSoundly", "partitions_moved_from_owners"]

_GENERATION_SINCE: Final = 2
_GENERATION_BYTES: Final = 4
_LEFT_OUT_KEPT: Final = 200
_EAGER_TIMES: Final = 2
_COOPERATIVE_TIMES: Final = 3
"""After so many consecutive generations it is no accident that a member was left out."""


class _Syncs(ListeningChecker):
    """Checks each SyncGroup request together with the JoinGroup response before it."""

    listens = frozenset({("response", Api.JOIN_GROUP.title), ("request", Api.SYNC_GROUP.title)})

    def __init__(self) -> None:
        self._joined: dict[str, MembershipHistory] = {}
        self._waiting: Waiting[tuple[Observation, MembershipGrant | None]] = Waiting(SLACK_MS)

    def queues(self) -> tuple[Waiting[Any], ...]:
        return (self._waiting,)

    def due(self, at_ms: float) -> Iterator[Finding]:
        for sync, join in self._waiting.due(at_ms):
            yield from self._look(sync, join)

    def look(self, obs: Observation) -> Iterable[Finding]:
        if obs.client is None:
            return ()
        if (grant := joins_of(obs)) is not None:
            self._joined.setdefault(obs.client, MembershipHistory()).follow(grant)
        elif obs.kind == "request" and obs.api == Api.SYNC_GROUP.title:
            self._waiting.add(obs.at_ms, (obs, self._origin(obs)))
        return ()

    def end(self) -> Iterator[Finding]:
        for sync, join in self._waiting.rest():
            yield from self._look(sync, join)

    def _origin(self, sync: Observation) -> MembershipGrant | None:
        joined = self._joined.get(sync.client or "")
        return None if joined is None else joined.origin(sync)

    def _look(self, sync: Observation, join: MembershipGrant | None) -> Iterator[Finding]:
        join = join or self._origin(sync)
        return iter(()) if join is None else self._judge(sync, join)

    @abstractmethod
    def _judge(self, sync: Observation, join: MembershipGrant) -> Iterator[Finding]: ...


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """The number of consecutive generations up to `generation` in which a member was left out and so lost a share."""

    generation: int
    count: int


class LeadersAssignSoundly(_Syncs):
    """The leader assigns each partition to one member (ASSIGN-09): never to a stranger, to a member that does not want its topic, or to another
    while its cooperative owner still has it (KIP-429). It leaves no member out, and each member can read its assignment (CLIENT-12).
    """

    def __init__(self) -> None:
        super().__init__()
        self._left_out: Newest[str, _LeftOut] = Newest(_LEFT_OUT_KEPT)

    def _judge(self, sync: Observation, join: MembershipGrant) -> Iterator[Finding]:
        if not join.is_leader or join.skip_assignment:
            return
        assigned, members, wanted = assignments_of(sync), members_of(join.answer), subscriptions_of(join.answer)
        once = Claim(requirement="ASSIGN-09", expected="The leader assigns each partition to one member that subscribes to its topic.")
        counts = Counter(partition for partitions in assigned.values() for partition in partitions)
        if any(count > 1 for count in counts.values()):
            yield once.failed("The leader assigned a partition twice.", sync, detail=str(sorted(p for p, count in counts.items() if count > 1)))
        if any(member not in members and partitions for member, partitions in assigned.items()):
            yield once.failed("The leader assigned partitions to a member that is not in the group.", sync)
        if any(_unwanted(partitions, wanted.get(member)) for member, partitions in assigned.items()):
            yield once.failed("The leader assigned partitions of a topic that the member does not subscribe to.", sync)
        if join.protocol in COOPERATIVE and (moved := partitions_moved_from_owners(sync, join)):
            yield once.failed("The leader gave a partition away that its owner still held.", sync, detail=str(moved))
        if set(truncated_assignments(sync)) - {sync.member}:
            # ConsumerProtocol.deserializeAssignment throws a SchemaException. The leader reads its own assignment as it wrote it.
            readable = Claim(requirement="CLIENT-12", expected="The leader's SyncGroup has an assignment that each member can read.")
            yield readable.failed("An assignment ends before its user data: a member of the Java client cannot read it.", sync)
        if missing := members - set(assigned):
            everyone = Claim(requirement="CLIENT-12", expected="The leader's SyncGroup has an assignment for every member of the group.")
            yield everyone.tolerated("The leader left a member out of its SyncGroup.", sync)
            if any([self._is_left_out_again(member, join, assigned, wanted.get(member)) for member in sorted(missing)]):
                yield everyone.failed("The leader left a member out in generation after generation.", sync, detail=str(sorted(missing)))

    def _is_left_out_again(self, member: str, join: MembershipGrant, assigned: Mapping[str, Partitions], subscription: Subscription | None) -> bool:
        """Return whether the member got nothing too often while another had its share.

        A member with two partitions of one topic has one too many if another member wants the topic and has none of it: every assignor of Kafka
        distributes a topic evenly, or all topics together. A cooperative new member waits a generation for the partitions that are handed over.
        """
        shares = (Counter(topic for topic, _ in partitions) for partitions in assigned.values())
        has_lost_share = any(
            count > 1 and (subscription is None or topic in subscription.topics) for share in shares for topic, count in share.items()
        )
        before = self._left_out.get(member)
        follows = before is not None and before.generation < join.generation <= before.generation + 1
        count = (before.count if before is not None and follows else 0) + 1 if has_lost_share else 0
        self._left_out.set(member, _LeftOut(join.generation, count))
        return count == (_COOPERATIVE_TIMES if join.protocol in COOPERATIVE else _EAGER_TIMES)


def partitions_moved_from_owners(sync: Observation, join: MembershipGrant) -> list[TopicPartition]:
    """Return the partitions that a leader's SyncGroup gives to another member than the owner according to its subscription."""
    owners = _owners(join)
    given_to = {partition: member for member, partitions in assignments_of(sync).items() for partition in partitions}
    return sorted(partition for partition, member in given_to.items() if owners.get(partition, member) != member)


def _owners(join: MembershipGrant) -> dict[TopicPartition, str]:
    """Return the owners by the subscriptions. A claim from an older generation, or by two members, does not count (AbstractStickyAssignor)."""
    subscriptions = subscriptions_of(join.answer)
    generations = {member: _generation_of(subscription) for member, subscription in subscriptions.items()}
    newest = max((generation for generation in generations.values() if generation is not None), default=-1)
    claims = Counter(
        partition for member, subscription in subscriptions.items() if _binds(generations[member], newest) for partition in subscription.owned
    )
    return {
        partition: member
        for member, subscription in subscriptions.items()
        if _binds(generations[member], newest)
        for partition in subscription.owned
        if claims[partition] == 1
    }


def _binds(generation: int | None, newest: int) -> bool:
    return generation is None or generation == newest


def _generation_of(subscription: Subscription) -> int | None:
    """Return the generation of a claim: a field since version 2 (KIP-792), before that the cooperative assignor's user data. Return None where it
    names none; such a claim always counts.
    """
    if subscription.version >= _GENERATION_SINCE and subscription.ends_before not in ("owned partitions", "generation"):
        return subscription.generation
    data = subscription.user_data
    return int.from_bytes(data, "big", signed=True) if data is not None and len(data) == _GENERATION_BYTES else None


def _unwanted(partitions: Partitions, subscription: Subscription | None) -> bool:
    return subscription is not None and any(topic not in subscription.topics for topic, _ in partitions)


class FollowersAssignNothing(_Syncs):
    """A follower's SyncGroup carries no assignment. The coordinator ignores one, so it only costs bytes (CLIENT-12)."""

    def _judge(self, sync: Observation, join: MembershipGrant) -> Iterator[Finding]:
        if not join.is_leader and sync.body.get("assignments"):
            claim = Claim(requirement="CLIENT-12", expected="A follower's SyncGroup carries no assignments.")
            yield claim.tolerated("A follower's SyncGroup carried assignments.", sync)
