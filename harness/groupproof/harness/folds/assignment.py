"""What a leader assigns: everyone listed, each partition once, to a member that wants it; and what a follower leaves to the leader."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator

from groupproof.harness.folds.claim import Claim
from groupproof.harness.folds.fold import Fold, Waiting
from groupproof.harness.folds.membership import Joined, joins_of
from groupproof.harness.folds.reading import SLACK_MS, Given, assignments_of, members_of, subscriptions_of
from groupproof.harness.verdicts import Finding
from groupproof.protocol.subscription import Subscription
from groupproof.protocol.trace import Observation, Partitions
from groupproof.protocol.vocabulary import Api

__all__ = ["FollowersAssignNothing", "LeadersAssignSoundly"]


class _Syncs(Fold):
    """Looks at each SyncGroup request beside the JoinGroup answer that it follows."""

    def __init__(self) -> None:
        self._joined: dict[str, Joined] = {}
        self._waiting: Waiting[tuple[Observation, Given | None]] = Waiting(SLACK_MS)

    def step(self, seen: Observation) -> Iterator[Finding]:
        for sync, join in self._waiting.due(seen.at_ms):
            yield from self._look(sync, join)
        if seen.client is None:
            return
        if (given := joins_of(seen)) is not None:
            self._joined.setdefault(seen.client, Joined()).follow(given)
        elif seen.kind == "request" and seen.api == Api.SYNC_GROUP.title:
            self._waiting.add(seen.at_ms, (seen, self._origin(seen)))

    def end(self) -> Iterator[Finding]:
        for sync, join in self._waiting.rest():
            yield from self._look(sync, join)

    def _origin(self, sync: Observation) -> Given | None:
        joined = self._joined.get(sync.client or "")
        return None if joined is None else joined.origin(sync)

    def _look(self, sync: Observation, join: Given | None) -> Iterator[Finding]:
        join = join or self._origin(sync)
        return iter(()) if join is None else self._judge(sync, join)

    @abstractmethod
    def _judge(self, sync: Observation, join: Given) -> Iterator[Finding]: ...


class LeadersAssignSoundly(_Syncs):
    """No partition goes to two members (ASSIGN-09), to a stranger, or to a member that does not want its topic; nobody is forgotten (CLIENT-12)."""

    def _judge(self, sync: Observation, join: Given) -> Iterator[Finding]:
        if not join.is_leader or join.skip_assignment:
            return
        assigned, members, wanted = assignments_of(sync), members_of(join.seen), subscriptions_of(join.seen)
        once = Claim(requirement="ASSIGN-09", expected="The leader assigns each partition to one member that subscribes to its topic.")
        counts = Counter(partition for partitions in assigned.values() for partition in partitions)
        if any(count > 1 for count in counts.values()):
            yield once.failed("The leader assigned a partition twice.", sync, detail=str(sorted(p for p, count in counts.items() if count > 1)))
        if any(member not in members and partitions for member, partitions in assigned.items()):
            yield once.failed("The leader assigned partitions to a member that is not in the group.", sync)
        if any(_unwanted(partitions, wanted.get(member)) for member, partitions in assigned.items()):
            yield once.failed("The leader assigned partitions of a topic that the member does not subscribe to.", sync)
        if members - set(assigned):
            everyone = Claim(requirement="CLIENT-12", expected="The leader's SyncGroup has an assignment for every member of the group.")
            yield everyone.tolerated("The leader left a member out of its SyncGroup.", sync)


def _unwanted(partitions: Partitions, subscription: Subscription | None) -> bool:
    return subscription is not None and any(topic not in subscription.topics for topic, _ in partitions)


class FollowersAssignNothing(_Syncs):
    """A follower's SyncGroup carries no assignment; the coordinator ignores one, so this costs no more than bytes (CLIENT-12)."""

    def _judge(self, sync: Observation, join: Given) -> Iterator[Finding]:
        if not join.is_leader and sync.body.get("assignments"):
            claim = Claim(requirement="CLIENT-12", expected="A follower's SyncGroup carries no assignments.")
            yield claim.tolerated("A follower's SyncGroup carried assignments.", sync)
