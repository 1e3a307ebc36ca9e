"""Adapts any running cluster to a plan: the tap injects faults on frames; the cluster itself moves coordinators and breaks brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import trio

from groupproof.chaos.wire.move_coordinator import move_group
from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster import MovableCluster, RunningCluster
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.brokers.readiness import create_topics
from groupproof.harness.subjects.brokers.topic_admin import configure_group, fill_topics, grow_topic
from groupproof.harness.subjects.networks.request_connection import asking
from groupproof.harness.subjects.tap.topic_names import TopicNames
from groupproof.harness.subjects.tap.upstream import topics_of
from groupproof.protocol.faults import Fault, Move

__all__ = ["TappedCluster"]

_ASKED_S: Final = 0.02
"""The pause before the brokers are asked again for a new topic."""


class TappedCluster:
    """A `DrivenCluster`; `groups` are the plan's, by their real names; `topics` are those that it created; `names` are topic names by id. KIP-848's
    frames have only ids, perhaps before any member asks for the names."""

    def __init__(
        self, running: RunningCluster, where: ClusterMap, interception: Interception, *, groups: Sequence[str], topics: Sequence[str],
        names: TopicNames | None = None,
    ) -> None:  # fmt: skip
        self._running = running
        self._where = where
        self._interception = interception
        self._groups = groups
        self.topics = list(topics)
        self._names = names

    def arm(self, fault: Fault) -> None:
        self._interception.arm(fault)

    def release(self, name: str) -> None:
        self._interception.release(name)

    def heal(self, name: str) -> None:
        self._interception.heal(name)

    async def move(self, move: Move) -> None:
        for group in self._groups:
            await self.move_group(group, move)

    async def move_group(self, group: str, move: Move) -> None:
        await move_group(self._running, self._where, group, move)

    async def learn_topics(self, until: str | None = None) -> None:
        """Ask the brokers for their topics' names; with `until`, repeat until they know that topic."""
        if self._names is None:
            return
        async with asking(await self._running.connect(*self._running.addresses[0])) as asker:
            while (topics := await topics_of(asker)) is not None:
                self._names.begin(topics)
                if until is None or until in topics:
                    return
                await trio.sleep(_ASKED_S)

    async def _create(self, topic: str, partitions: int) -> None:
        """Create a topic. Ask for its name meanwhile: a group may have its id before every broker has the topic."""
        async with trio.open_nursery() as beside:
            beside.start_soon(self.learn_topics, topic)
            await create_topics(self._running.connect, self._running.addresses[0], {topic: partitions}, replicas=len(self._where.nodes))

    async def grow(self, topic: str, partitions: int) -> None:
        if topic not in self.topics:
            self.topics.append(topic)
            await self._create(topic, partitions)
        elif isinstance(self._running, MovableCluster):
            self._running.grow(topic, partitions)
        else:
            await grow_topic(self._running.connect, self._running.addresses[0], topic, partitions)

    async def configure_group(self, group: str, configs: Mapping[str, str]) -> None:
        await configure_group(self._running.connect, self._running.addresses[0], group, configs)

    async def append(self, topic: str, partitions: int, records: int) -> None:
        await fill_topics(self._running.connect, self._running.addresses[0], {topic: partitions}, records)

    async def coordinator_of(self, group: str) -> int:
        return (await self._where.coordinator_of(group)).node_id

    async def break_broker(self, node: int, how: str) -> None:
        await self._running.break_broker(node, how)

    async def mend_broker(self, node: int) -> None:
        await self._running.mend_broker(node)
        if deaths := self._running.deaths():
            raise BrokenEnvironment("; ".join(deaths))
