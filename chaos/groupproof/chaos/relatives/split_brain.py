"""Split brain, from a seed: some members reach the coordinator or ZooKeeper late or not at all, while all of them reach the log.

ZooKeeper keeps the group in one design, and the group's coordinator in the other. The same faults act on the same members at the same
moments, in a Toxiproxy that only these members use.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

import trio

from groupproof.chaos.wire.toxiproxy import Proxy, Toxiproxy
from groupproof.clients.consumer.consumer import now_ms
from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.relatives.zookeeper_comparison.comparison import COORDINATOR, ZOOKEEPER, Split
from groupproof.harness.relatives.zookeeper_comparison.coordinator_members import CoordinatorSide
from groupproof.harness.relatives.zookeeper_comparison.read_ledger import ReadLedger
from groupproof.harness.relatives.zookeeper_comparison.side import GROUP, TOPIC, Common, until_stable
from groupproof.harness.relatives.zookeeper_comparison.zookeeper_members import ZooKeeperSide, registered_brokers
from groupproof.harness.subjects.brokers.topic_admin import fill_topics
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.network import LoopbackNetwork
from groupproof.protocol.toxics import DOWNSTREAM, UPSTREAM, Toxic, down, latency, timeout
from groupproof.protocol.trace import Recorder

__all__ = ["CUT", "DESIGNS", "FAULTS", "LATE", "SplitCourse", "course_of", "split"]

CUT: Final = "cut"
LATE: Final = "late"
FAULTS: Final = (CUT, LATE)
DESIGNS: Final = (ZOOKEEPER, COORDINATOR)
PARTITIONS: Final = 8
_FEED_S: Final = 0.2
_MEMBERS: Final = ("m0", "m1", "m2", "m3")
_NEWCOMER: Final = "m4"
_SETTINGS: Final = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}
_FORMED_S: Final = 40.0
_HEALED_S: Final = 15.0
_SHORT_S: Final = 1.0

# About a tenth of Kafka 0.9's times: 6 s for a session, 60 s between commits, 2 s between attempts.
_OF_CUT: Final = Common(partitions=PARTITIONS, session_ms=2_000, commits_ms=6_000, pace_ms=0, wait_ms=500, backoff_ms=500)
_OF_LATE: Final = Common(partitions=PARTITIONS, session_ms=6_000, commits_ms=60_000, pace_ms=0, wait_ms=500, backoff_ms=500)

AnySide = ZooKeeperSide | CoordinatorSide


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCourse:
    """The course of a fault for a seed: the members, the toxics, the delay after a commit, and the duration (seconds)."""

    struck: tuple[str, ...]
    toxics: tuple[Toxic, ...]
    after_s: float
    for_s: float


def course_of(fault: str, seed: int) -> SplitCourse:
    """Return the course, which is the same for both designs. A cut acts on one or two of four members, early between two of their commits."""
    chance = random.Random(f"split/{fault}/{seed}")
    if fault == LATE:
        way_ms = chance.randint(250, 350)
        return SplitCourse(
            struck=(chance.choice(_MEMBERS),), toxics=(latency(way_ms, stream=UPSTREAM), latency(way_ms, stream=DOWNSTREAM)), after_s=0, for_s=14
        )
    struck = tuple(sorted(chance.sample(_MEMBERS, chance.choice((1, 2)))))
    black_hole = (timeout(0, stream=UPSTREAM), timeout(0, stream=DOWNSTREAM))
    return SplitCourse(struck=struck, toxics=chance.choice(((down(),), black_hole)), after_s=chance.uniform(0.3, 1.8), for_s=7.5)


async def split(
    design: str, fault: str, seed: int, *, zookeeper: Address, toxiproxy: Toxiproxy, recorder: Recorder | None = None, key: str = ""
) -> Split:
    """Form a group of four and inject the fault; raise `BrokenEnvironment` where the group does not form.

    Members on ZooKeeper report to `recorder`; `key` names the group's root and its proxies, and is unique on a server.
    """
    course = course_of(fault, seed)
    common = _OF_CUT if fault == CUT else _OF_LATE
    async with AsyncExitStack() as stack:
        cluster, addresses = await stack.enter_async_context(_cluster(seed))
        nursery = await stack.enter_async_context(_nursery())
        nursery.start_soon(_feed, addresses)
        ledger = ReadLedger((TOPIC, number) for number in range(PARTITIONS))
        ways = _Ways(toxiproxy, stack, key or f"{design}-{fault}-{seed}")
        if design == ZOOKEEPER:
            side: AnySide = await _on_zookeeper(common, nursery, ledger, ways, stack, addresses, zookeeper, course.struck, recorder)
        else:
            side = await _on_coordinator(common, nursery, ledger, ways, addresses, cluster.coordinator_node(GROUP), course.struck)
        return await _Trial(side, course, fault, seed, ways, common).go()


async def _feed(addresses: dict[int, Address]) -> None:
    """Act as the producer: append a record to each partition, five times a second."""
    while True:
        await fill_topics(trio.open_tcp_stream, next(iter(addresses.values())), {TOPIC: PARTITIONS}, 1)
        await trio.sleep(_FEED_S)


@asynccontextmanager
async def _nursery() -> AsyncIterator[trio.Nursery]:
    async with trio.open_nursery() as nursery:
        yield nursery
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def _cluster(seed: int) -> AsyncIterator[tuple[Cluster, dict[int, Address]]]:
    cluster = Cluster(settings=_SETTINGS, brokers=2, topics={TOPIC: PARTITIONS}, seed=seed, recorder=Recorder(lambda: now_ms(), keeps=False))
    async with trio.open_nursery() as nursery:
        await nursery.start(cluster.run)
        async with LoopbackNetwork().opened(cluster) as opened:
            yield cluster, dict(zip(cluster.nodes, opened, strict=True))
        nursery.cancel_scope.cancel()


class _Ways:
    """The proxies of the members under the fault."""

    def __init__(self, toxiproxy: Toxiproxy, stack: AsyncExitStack, key: str) -> None:
        self.proxies: dict[str, Proxy] = {}
        self._toxiproxy, self._stack, self.key = toxiproxy, stack, key

    async def open(self, member: str, upstream: Address) -> Address:
        proxy = self._toxiproxy.proxy(f"{self.key}-{member}", f"{upstream[0]}:{upstream[1]}")
        made = self.proxies[member] = await self._stack.enter_async_context(proxy)
        return made.address

    async def impair(self, toxics: Sequence[Toxic]) -> None:
        for proxy in self.proxies.values():
            for impairment in toxics:
                await (proxy.disable() if impairment.kind == "down" else proxy.add(impairment))

    async def heal(self, toxics: Sequence[Toxic]) -> None:
        for proxy in self.proxies.values():
            for impairment in toxics:
                await (proxy.enable() if impairment.kind == "down" else proxy.remove(impairment))


async def _on_zookeeper(
    common: Common, nursery: trio.Nursery, ledger: ReadLedger, ways: _Ways, stack: AsyncExitStack, addresses: dict[int, Address], zookeeper: Address,
    struck: Sequence[str], recorder: Recorder | None,
) -> ZooKeeperSide:  # fmt: skip
    root = f"/{ways.key}"
    await stack.enter_async_context(registered_brokers(f"{zookeeper[0]}:{zookeeper[1]}{root}", addresses, PARTITIONS))
    doors = {member: await ways.open(member, zookeeper) for member in struck}

    def hosts_of(member: str) -> str:
        host, port = doors.get(member, zookeeper)
        return f"{host}:{port}{root}"

    return ZooKeeperSide(
        common, nursery, ledger, hosts_of=hosts_of, connect_of=lambda _: (trio.open_tcp_stream, list(addresses.values())), recorder=recorder
    )


async def _on_coordinator(
    common: Common, nursery: trio.Nursery, ledger: ReadLedger, ways: _Ways, addresses: dict[int, Address], coordinator: int, struck: Sequence[str]
) -> CoordinatorSide:
    doors = {member: await ways.open(member, addresses[coordinator]) for member in struck}

    def connect_of(member: str) -> tuple[Callable[[str, int], Awaitable[trio.abc.Stream]], Sequence[Address]]:
        door = doors.get(member)

        async def connect(host: str, port: int) -> trio.abc.Stream:
            is_coordinator = door is not None and (host, port) == addresses[coordinator]
            return await trio.open_tcp_stream(*(door if is_coordinator and door is not None else (host, port)))

        return connect, list(addresses.values())

    return CoordinatorSide(common, nursery, ledger, connect_of=connect_of)


class _Trial:
    """One group from its forming to its figures."""

    def __init__(self, side: AnySide, course: SplitCourse, fault: str, seed: int, ways: _Ways, common: Common) -> None:
        self._side, self._course, self._fault, self._seed, self._ways, self._common = side, course, fault, seed, ways, common

    async def go(self) -> Split:
        began = trio.current_time()
        for name in _MEMBERS:
            await self._side.begin(name)
        if await until_stable(self._side, _FORMED_S, _SHORT_S) is None:
            raise BrokenEnvironment(f"a group of {len(_MEMBERS)} by the {self._side.design}'s design did not form within {_FORMED_S:g} s")
        if self._fault == CUT:
            await trio.sleep_until(self._between_commits(began))
        since_ms = now_ms()
        await self._ways.impair(self._course.toxics)
        if self._fault == LATE:
            await self._side.begin(_NEWCOMER)
        await trio.sleep(self._course.for_s)
        unowned = self._unowned()
        await self._ways.heal(self._course.toxics)
        if self._fault == CUT:
            await until_stable(self._side, _HEALED_S, _SHORT_S)
            unowned = self._unowned()
        self._side.commit()
        await trio.sleep(_SHORT_S)
        return Split(
            design=self._side.design, fault=self._fault, seed=self._seed, members=tuple(self._side.members), struck=self._course.struck,
            figures=self._side.ledger.figures(since_ms, now_ms()), failures=self._side.failures, unowned=unowned,
            refused=self._side.refused if isinstance(self._side, CoordinatorSide) else 0,
        )  # fmt: skip

    def _between_commits(self, began: float) -> float:
        """Return the time of the cut: `after_s` after the next common commit of all members by the clock."""
        interval = self._common.commits_ms / 1000
        passed = int((trio.current_time() - began) // interval) + 1
        return began + passed * interval + self._course.after_s

    def _unowned(self) -> int:
        return sum(not self._side.ledger.holders((TOPIC, number)) for number in range(PARTITIONS))
