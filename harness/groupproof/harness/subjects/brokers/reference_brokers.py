"""The kit's own cluster as the subject: in this process, over streams in memory, so that a run can use virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trio

from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.coordinator.machine.coordinator_settings import Settings, UnknownSetting
from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.coordinator.planted.variants import UnknownVariant, variant_named
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.subjects.brokers.cluster import BrokerSubject, CannotStop, KnownSetting, RunningCluster
from groupproof.harness.subjects.brokers.known_settings import BY_HAND, differing
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.network import MemoryNetwork
from groupproof.harness.subjects.reference_control import ReferenceMachines
from groupproof.protocol.faults import Move
from groupproof.protocol.kit_release import release
from groupproof.protocol.trace import Recorder

__all__ = ["ReferenceBrokers", "as_variant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceBrokers:
    """A cluster of this project in `profile`, or a `variant` of it; `seed` is that of its member ids.

    `own` are settings that it always has, as a running broker has.
    """

    profile: str
    seed: int = 0
    variant: Variant = REFERENCE
    own: Mapping[str, int | str] = field(default_factory=dict)
    name: str = "groupproof"
    spec: str = "groupproof"
    release: str | None = None
    is_virtual: bool = True

    @property
    def version(self) -> str | None:
        return release()

    @asynccontextmanager
    async def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AsyncIterator[RunningCluster]:
        """Raise `UnknownProfile`."""
        unmet = {name: why for name, value in settings.items() if (why := _why_not(name, value, self.profile))}
        by_hand = {name: KnownSetting(value, BY_HAND) for name, value in self.own.items()}
        unmet |= differing(settings, by_hand)
        supported = {**{name: value for name, value in settings.items() if name not in unmet}, **self.own}
        recorder = Recorder(lambda: round(trio.current_time() * 1e9), keeps=False)
        cluster = Cluster(
            profile=self.profile, settings=supported, brokers=brokers, topics=topics, seed=self.seed, recorder=recorder, variant=self.variant
        )
        running = _Running(cluster, unmet, by_hand)
        async with trio.open_nursery() as nursery:
            await nursery.start(cluster.run)
            async with running.network.opened(running) as addresses:
                running.opened = addresses
                yield running
            nursery.cancel_scope.cancel()


def as_variant(subject: BrokerSubject, name: str) -> ReferenceBrokers:
    """Return the reference as the variant called `name`; raise `WrongUsage` for another subject, or with the nearest names of variants."""
    if not isinstance(subject, ReferenceBrokers):
        raise WrongUsage(f"--variant plants a bug in the reference coordinator, groupproof; {subject.name} is not ours to change")
    try:
        return replace(subject, variant=variant_named(name), name=f"{subject.name}:{name}")
    except UnknownVariant as error:
        raise WrongUsage(str(error)) from error


def _why_not(name: str, value: Any, profile: str) -> str | None:
    if name == "socket.request.max.bytes":
        return None
    try:
        Settings.of({name: value}, profile)
    except UnknownSetting as error:
        return str(error)
    return None


class _Running(ReferenceMachines):
    """Connects the network with the cluster, and can stop a broker for good."""

    provided_by = "in process"

    def __init__(self, cluster: Cluster, unmet: Mapping[str, str], by_hand: Mapping[str, KnownSetting]) -> None:
        super().__init__(cluster)
        self.network = MemoryNetwork()
        self.unmet = unmet
        self.known_settings = by_hand
        self.opened: list[Address] = []
        self._stopped: set[int] = set()
        self._node_of: dict[Address, int] = {}

    @property
    def addresses(self) -> list[Address]:
        return [address for address in self.opened if self._node_of[address] not in self._stopped]

    @property
    def nodes(self) -> Sequence[int]:
        return self._cluster.nodes

    def advertise(self, node_id: int, host: str, port: int) -> None:
        self._node_of[host, port] = node_id
        self._cluster.advertise(node_id, host, port)

    def is_up(self, node_id: int) -> bool:
        return self._cluster.is_up(node_id)

    async def turned(self, node_id: int) -> None:
        await self._cluster.turned(node_id)

    async def serve_connection(self, node_id: int, stream: trio.abc.Stream, peer: str) -> None:
        await self._cluster.serve_connection(node_id, stream, peer)

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        return await self.network.connect(host, port)

    async def stop(self, node_id: int) -> None:
        """Move the broker's groups to another, and end its connections without a message; raise `CannotStop`."""
        others = [node for node in self._cluster.nodes if node != node_id and self.is_up(node)]
        if node_id not in self._cluster.nodes or node_id in self._stopped:
            raise CannotStop(f"no broker {node_id} is running here")
        if not others:
            raise CannotStop(f"broker {node_id} is the last one")
        self._stopped.add(node_id)
        self._cluster.kill(node_id)
        await trio.lowlevel.checkpoint()

    def move_group(self, group: str, move: Move) -> None:
        """Move one group's coordinator; raise `BrokenEnvironment` where it cannot move."""
        try:
            self._cluster.move(move, group)
        except ValueError as error:
            raise BrokenEnvironment(str(error)) from error

    def grow(self, topic: str, partitions: int) -> None:
        self._cluster.grow(topic, partitions)

    def delete_topic(self, topic: str) -> None:
        self._cluster.delete_topic(topic)

    def used(self, groups: Iterable[str]) -> None:
        """Do nothing: the groups end with the cluster."""

    def deaths(self) -> list[str]:
        return []

    def logs(self) -> list[Path]:
        return []
