"""The cluster for queries on Spark's Kafka source: the reference coordinator on a port, or any brokers behind a tap; with a growing topic."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import trio

from groupproof.coordinator.broker.interception import Interception
from groupproof.coordinator.broker.served_cluster import ServingCluster, serve
from groupproof.harness.subjects.brokers.cluster import BrokerSubject
from groupproof.harness.subjects.brokers.topic_admin import fill_topics
from groupproof.harness.subjects.networks.broker_address import Address, bootstrap_of
from groupproof.harness.subjects.networks.request_connection import CLIENT_ID, Connect
from groupproof.harness.subjects.tap.hub import Hub, TcpDoors
from groupproof.harness.subjects.tap.upstream import meet_upstream
from groupproof.protocol.trace import Observation, Recorder, Trace

__all__ = ["StreamingCluster", "Topic", "opened"]

_SETTINGS: Final = {"group.initial.rebalance.delay.ms": 0}
_PRODUCE_S: Final = 0.4


@dataclass(slots=True)
class Topic:
    """A topic that grows equally in each partition while it `flows`; `produced` counts the records of one partition."""

    name: str
    partitions: int
    connect: Connect
    bootstrap: Address
    rate: int
    produced: int = 0
    flows: bool = True
    _at_rest: trio.Condition = field(default_factory=trio.Condition)

    async def grow(self) -> None:
        """Append records until cancelled; raise `BrokenEnvironment` where that fails."""
        while True:
            async with self._at_rest:
                if self.flows:
                    await fill_topics(self.connect, self.bootstrap, {self.name: self.partitions}, self.rate, at_ms=round(time.time() * 1e3))
                    self.produced += self.rate
            await trio.sleep(_PRODUCE_S)

    async def stop(self) -> dict[int, int]:
        """Stop the growth, and return each partition's number of records."""
        self.flows = False
        async with self._at_rest:
            return dict.fromkeys(range(self.partitions), self.produced)

    def go_on(self) -> None:
        self.flows = True


@dataclass(slots=True, kw_only=True)
class StreamingCluster:
    """The bootstrap address for queries, their trace, and their faults; `began_s` is the wall clock's time at instant 0 of the trace."""

    bootstrap: str
    topic: Topic
    interception: Interception
    trace: Trace
    began_s: float

    def delivered(self, fault: str) -> int:
        """Return how often a fault took effect."""
        return sum(obs.kind == "fault" and obs.fault == fault and obs.detail == "delivered" for obs in self.trace)


@asynccontextmanager
async def opened(
    brokers: BrokerSubject | None, *, profile: str, seed: int, topic: str, partitions: int, rate: int
) -> AsyncIterator[StreamingCluster]:
    """Yield the cluster, with its topic flowing; `brokers` None is the reference. Raise `BrokenEnvironment` where a part does not come up."""
    began, began_s = time.monotonic(), time.time()
    trace: Trace = []
    recorder = Recorder(lambda: round((time.monotonic() - began) * 1e9), keeps=False, run="spark", seed=seed)
    recorder.listen(lambda obs: None if _is_ours(obs) else trace.append(obs))
    parts = _reference(recorder, profile, {topic: partitions}, seed) if brokers is None else _tapped(brokers, recorder, {topic: partitions})
    async with parts as (addresses, interception, connect, direct), trio.open_nursery() as nursery:
        growing = Topic(topic, partitions, connect, direct, rate)
        nursery.start_soon(growing.grow)
        yield StreamingCluster(bootstrap=bootstrap_of(addresses), topic=growing, interception=interception, trace=trace, began_s=began_s)
        nursery.cancel_scope.cancel()


def _is_ours(obs: Observation) -> bool:
    """Return whether an observation is of the kit's own requests, which fill the topic."""
    return obs.client == CLIENT_ID


_Parts = tuple[list[Address], Interception, Connect, Address]


@asynccontextmanager
async def _reference(recorder: Recorder, profile: str, topics: dict[str, int], seed: int) -> AsyncIterator[_Parts]:
    async with trio.open_nursery() as nursery:
        serving: ServingCluster = await nursery.start(
            partial(serve, ports=(0, 0), profile=profile, settings=_SETTINGS, topics=topics, seed=seed, recorder=recorder)
        )
        yield list(serving.addresses), serving.cluster.interception, trio.open_tcp_stream, serving.addresses[0]
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def _tapped(brokers: BrokerSubject, recorder: Recorder, topics: dict[str, int]) -> AsyncIterator[_Parts]:
    async with brokers.cluster(settings=_SETTINGS, brokers=1, topics=topics) as cluster, trio.open_nursery() as nursery:
        interception = Interception(recorder)
        hub = Hub(recorder=recorder, connect=cluster.connect, doors=TcpDoors(nursery=nursery), interception=interception, is_quiet=True)
        upstream = await meet_upstream(cluster.connect, cluster.addresses, profile=None)
        hub.topics.begin(upstream.topics or {})
        recorder.record("event", who="kit", body=upstream.to_json())
        routes = [await hub.route_to(address) for address in cluster.addresses]
        for named in upstream.brokers:
            await hub.route_to(named.address, named.node)
        yield [route.local for route in routes], interception, cluster.connect, cluster.addresses[0]
        nursery.cancel_scope.cancel()
