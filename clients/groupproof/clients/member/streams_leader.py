"""The leader of a group of Kafka Streams: it assigns tasks to members (Kafka: StreamsPartitionAssignor.assign, KIP-429, KIP-441).

A member is a thread. Threads of one process share its state. Tasks stay with their owner as far as the balance allows. A task that moves stays
unassigned until its owner has revoked it. Its next owner gets an assignment that schedules a rebalance at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from groupproof.clients.member.policy import Policy
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.embedded.streams_protocol import (
    INCOMPLETE_SOURCE_TOPICS,
    NO_ERROR,
    NO_REBALANCE_MS,
    SHUTDOWN_REQUESTED,
    AssignmentInfo,
    SubscriptionInfo,
    Task,
)

__all__ = ["AT_ONCE_MS", "Dealer", "StreamsClient", "task_of"]

AT_ONCE_MS = 0
"""The time of the next rebalance if it is due at once."""

Deal = tuple[tuple[TopicPartition, ...], AssignmentInfo]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsClient:
    """A member in the leader's view: its user data and its owned partitions."""

    info: SubscriptionInfo
    owned: frozenset[TopicPartition]


def task_of(partition: TopicPartition, topics: Sequence[str]) -> Task:
    """Return the task of a partition. Each topic is a subtopology, numbered in the order of `topics`."""
    return Task(topics.index(partition[0]), partition[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Dealer:
    """Assigns the tasks of one generation. `latest` is the newest version that the leader knows."""

    policy: Policy
    topics: Sequence[str]
    latest: int
    standbys: int

    def deal(self, members: Mapping[str, StreamsClient], counts: Mapping[str, int]) -> dict[str, Deal]:
        """Return the partitions and the user data for each member."""
        if (error := self._error(members, counts)) != NO_ERROR:
            failed = AssignmentInfo(version=self.latest, commonly=self.latest, error=error)
            return {name: ((), failed) for name in members}
        used, commonly = self._versions(members)
        partitions = [(topic, number) for topic in self.topics for number in range(counts.get(topic, 0))]
        owners = self._owners(partitions, members)
        standbys = self._standby_tasks(owners, members)
        return {name: self._deal_of(name, owners, standbys[name], members, used, commonly) for name in members}

    def _error(self, members: Mapping[str, StreamsClient], counts: Mapping[str, int]) -> int:
        wants_the_end = any(client.info.error == SHUTDOWN_REQUESTED for client in members.values())
        if wants_the_end and self.policy.streams != "leads-on-after-shutdown":
            return SHUTDOWN_REQUESTED
        is_missing = any(not counts.get(topic) for topic in self.topics)
        return INCOMPLETE_SOURCE_TOPICS if is_missing and self.policy.streams != "assigns-without-topics" else NO_ERROR

    def _versions(self, members: Mapping[str, StreamsClient]) -> tuple[int, int]:
        """Return the lowest version in use, and the lowest of the newest versions that the members know (KIP-268)."""
        if self.policy.streams == "assigns-in-its-own-version":
            return self.latest, self.latest
        used = min(self.latest, *(client.info.version for client in members.values()))
        versions = (client.info.latest if client.info.latest > 0 else client.info.version for client in members.values())
        return used, used if self.policy.streams == "forgets-the-common-version" else min(self.latest, *versions)

    def _owners(self, partitions: Sequence[TopicPartition], members: Mapping[str, StreamsClient]) -> dict[TopicPartition, str]:
        """Assign each partition: to its owner up to the owner's share, otherwise to the member with the fewest."""
        share = -(-len(partitions) // len(members))
        owners: dict[TopicPartition, str] = {}
        for name in sorted(members):
            kept = [partition for partition in partitions if partition in members[name].owned and partition not in owners]
            owners.update(dict.fromkeys(kept[:share], name))
        for partition in partitions:
            if partition not in owners:
                counts = {name: sum(owner == name for owner in owners.values()) for name in members}
                owners[partition] = min(sorted(members), key=counts.__getitem__)
        return owners

    def _standby_tasks(self, owners: Mapping[TopicPartition, str], members: Mapping[str, StreamsClient]) -> dict[str, set[TopicPartition]]:
        """Assign each task as a standby to members other than its owner."""
        kept: dict[str, set[TopicPartition]] = {name: set() for name in members}
        if self.policy.streams == "gives-no-standbys":
            return kept
        for partition, owner in owners.items():
            for name in self._others(owner, members, kept)[: self.standbys]:
                kept[name].add(partition)
        return kept

    def _others(self, owner: str, members: Mapping[str, StreamsClient], kept: Mapping[str, set[TopicPartition]]) -> list[str]:
        """Return the members that may have a standby of a task of `owner`, the best first."""
        if self.policy.streams == "standbys-at-the-owner":
            return sorted(members, key=lambda name: (name != owner, name))
        process = members[owner].info.process
        if self.policy.streams == "standbys-in-the-process":
            others = sorted((name for name in members if name != owner), key=lambda name: (members[name].info.process != process, name))
        else:
            others = sorted(name for name in members if members[name].info.process != process)
            others.sort(key=lambda name: len(kept[name]))
        return others

    def _deal_of(
        self,
        name: str,
        owners: Mapping[TopicPartition, str],
        standbys: Iterable[TopicPartition],
        members: Mapping[str, StreamsClient],
        used: int,
        commonly: int,
    ) -> Deal:
        mine = sorted(partition for partition, owner in owners.items() if owner == name)
        held = frozenset[TopicPartition]().union(*(client.owned for other, client in members.items() if other != name))
        waiting = [] if self.policy.streams == "gives-what-is-owned" else [partition for partition in mine if partition in held]
        now = self._deviant([partition for partition in mine if partition not in waiting], owners)
        tasks = [task_of(partition, self.topics) for partition in now]
        info = AssignmentInfo(
            version=used,
            commonly=commonly,
            active=tuple(reversed(tasks)) if self.policy.streams == "muddles-its-tasks" else tuple(tasks),
            standby=tuple((task_of(partition, self.topics), (partition,)) for partition in sorted(standbys)),
            next_rebalance_ms=AT_ONCE_MS if waiting and self.policy.streams != "calls-nobody-back" else NO_REBALANCE_MS,
        )
        return tuple(now), info

    def _deviant(self, now: list[TopicPartition], owners: Mapping[TopicPartition, str]) -> list[TopicPartition]:
        if self.policy.streams == "drops-a-task":
            return [partition for partition in now if partition != max(owners)]
        return sorted(owners) if self.policy.streams == "gives-all-to-all" else now
