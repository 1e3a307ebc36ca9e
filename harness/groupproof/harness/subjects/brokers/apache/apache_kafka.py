"""Apache Kafka itself as the subject, in any release, by Docker's official image or out of Maven artifacts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trio
from packaging.version import Version

from groupproof.clients.registry.install_cache import Say
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.apache.broker_releases import releases
from groupproof.harness.subjects.brokers.apache.docker_kafka import Image, provision_docker
from groupproof.harness.subjects.brokers.apache.kafka_cluster import RunningKafka
from groupproof.harness.subjects.brokers.apache.layout import CONTROLLER_ID, KafkaNode, Layout
from groupproof.harness.subjects.brokers.apache.maven_kafka import Jars, is_fetched, provision_maven
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.readiness import create_topics
from groupproof.harness.subjects.brokers.reported_settings import unmet_by
from groupproof.harness.subjects.brokers.slow_disk import provision_library
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.ports import LOOPBACK, reserve_port
from groupproof.harness.subjects.processes.folders import Folders, folders
from groupproof.protocol.rules.profiles import profile_of

__all__ = ["Advertise", "ApacheKafka"]

_FINISH_S = 90.0

Advertise = Callable[[int, Address], Awaitable[Address]]
"""Takes a broker's node id and its own address, before it is started, and returns the one that clients are to get."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApacheKafka:
    """One release, with its new coordinator where `is_new`. `provider` is "docker" or "maven" where the user wants one of them; `logs` is where
    logs go, else under the cache.

    `extra` are broker settings that the kit itself adds. With `advertise` brokers tell clients the address that it returns for theirs, as
    behind a proxy; among themselves they are not disturbed.
    """

    release: str
    is_new: bool = False
    cache: Path
    say: Say
    spec: str = ""
    asked_profile: str | None = None
    provider: str | None = None
    logs: Path | None = None
    extra: Mapping[str, str] = field(default_factory=dict)
    advertise: Advertise | None = None
    has_slow_disk: bool = False
    name: str = "apache-kafka"
    is_virtual: bool = False

    @property
    def version(self) -> str | None:
        return self.release

    @property
    def profile(self) -> str:
        return self.asked_profile or profile_of(Version(self.release).release, optional=self.is_new)

    @property
    def elects(self) -> bool:
        return releases().elections.contains(self.release)

    @asynccontextmanager
    async def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AsyncIterator[RunningCluster]:
        """Start the brokers; raise `BrokenEnvironment` with their last words where they do not come up."""
        distribution = await trio.to_thread.run_sync(self._provision)
        if self.has_slow_disk:
            distribution = replace(distribution, slowing=await trio.to_thread.run_sync(provision_library, self.cache, self.say))
        if isinstance(distribution, Jars) and not distribution.is_trained:
            await self._train(distribution)
        with folders(f"kafka-{self.release}", cache=self.cache, logs=self.logs) as own:
            running = RunningKafka(distribution, await self._advertised(self._layout(own, settings, brokers)), own, elects=self.elects)
            try:
                await running.start()
                await create_topics(running.connect, running.addresses[0], topics, replicas=brokers)
                running.unmet = await unmet_by(running.connect, running.addresses[0], settings)
                yield running
            finally:
                await running.end()

    def _provision(self) -> Image | Jars:
        """Return what runs the release: the image where there is one to be had, else its jars."""
        if self.provider != "maven" and releases().images.contains(self.release):
            image = provision_docker(self.release, self.say, pulls=self.provider == "docker" or not is_fetched(self.release, self.cache))
            if image is not None:
                return image
        if self.provider == "docker":
            raise BrokenEnvironment(
                f"apache-kafka {self.release} has no image here: start a container engine that can pull it, or build one with `make images`"
            )
        return provision_maven(self.release, self.cache, self.say)

    async def _train(self, jars: Jars) -> None:
        """Start a broker once and let its JVM keep the classes that it loaded. What goes wrong here is reported by the start that follows."""
        self.say(f"starting apache-kafka {self.release} once, for every later start to be faster")
        with folders(f"kafka-{self.release}-training", cache=self.cache, logs=None) as own:
            running = RunningKafka(replace(jars, trains=True), self._layout(own, {}, 1), own)
            try:
                await running.start()
                if await running.finish(_FINISH_S):
                    jars.keep_archive()
            except BrokenEnvironment as error:
                self.say(f"that did not work: {error}")
            finally:
                await running.end()

    async def _advertised(self, layout: Layout) -> Layout:
        if self.advertise is None:
            return layout
        addresses = {node.node_id: await self.advertise(node.node_id, (LOOPBACK, node.port)) for node in layout.brokers}
        fronted = (replace(node, advertised=addresses[node.node_id], inner_port=reserve_port()) if node.port else node for node in layout.nodes)
        return replace(layout, nodes=tuple(fronted))

    def _layout(self, own: Folders, settings: Mapping[str, Any], brokers: int) -> Layout:
        needs = releases().needs_of(self.release)
        is_alone = brokers == 1
        nodes = [
            KafkaNode(
                node_id=node_id,
                data=own.data / f"broker-{node_id}",
                port=reserve_port(),
                controller_port=reserve_port() if is_alone and not needs.zookeeper else 0,
            )
            for node_id in range(brokers)
        ]
        if not is_alone and not needs.zookeeper:
            nodes.insert(0, KafkaNode(node_id=CONTROLLER_ID, data=own.data / "controller", controller_port=reserve_port()))
        several = {} if is_alone else releases().several
        fixed = {**releases().settings, **several, **needs.settings, **(releases().new.settings if self.is_new else {}), **self.extra}
        return Layout(nodes=tuple(nodes), zookeeper_port=reserve_port() if needs.zookeeper else 0, fixed=fixed, asked=settings)
