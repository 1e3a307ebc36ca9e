"""A cluster of Apache Kafka while it runs: its processes, where they can be reached, and their end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.apache.layout import KafkaNode, Layout
from groupproof.harness.subjects.brokers.cluster import NOTHING_KNOWN, CannotStop
from groupproof.harness.subjects.brokers.readiness import wait_until_coordinating, wait_until_up
from groupproof.harness.subjects.brokers.slow_disk import WRITE_MS, control_of, slow_down
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.ports import LOOPBACK
from groupproof.harness.subjects.processes.broker_process import BrokerProcess, Command
from groupproof.harness.subjects.processes.folders import Folders

__all__ = ["BREAKS", "MENDED_S", "Distribution", "RunningKafka"]

BREAKS: Final = ("pause", "kill", "slow-disk")
"""What can be done to a broker's machine."""

MENDED_S: Final = 60.0
"""How long a broker may take from its mending until it answers."""


class Distribution(Protocol):
    """What knows how to start a release: its jars, or its image."""

    @property
    def provided_by(self) -> str: ...

    def zookeeper(self, port: int, folders: Folders) -> Command: ...

    def node(self, layout: Layout, node: KafkaNode, folders: Folders) -> Command: ...


@dataclass(frozen=True, slots=True)
class _Break:
    how: str
    since_s: float


class RunningKafka:
    """Brokers are told apart by their node ids, 0 and up."""

    def __init__(self, distribution: Distribution, layout: Layout, folders: Folders, *, elects: bool = False) -> None:
        self.elects = elects
        self._distribution, self._layout, self._folders = distribution, layout, folders
        self._processes: dict[int | None, BrokerProcess] = {}
        self._stopped: set[int] = set()
        self._broken: dict[int, _Break] = {}
        self._is_over = False
        self.unmet: Mapping[str, str] = {}
        self.known_settings = NOTHING_KNOWN

    @property
    def addresses(self) -> list[Address]:
        """Return where the brokers that were not stopped can be reached."""
        return [(LOOPBACK, node.port) for node in self._layout.brokers if node.node_id not in self._stopped]

    @property
    def provided_by(self) -> str:
        return self._distribution.provided_by

    async def start(self) -> None:
        """Start everything and wait until groups are coordinated; raise `BrokenEnvironment`."""
        if self._layout.zookeeper_port:
            zookeeper = self._distribution.zookeeper(self._layout.zookeeper_port, self._folders)
            self._processes[None] = await BrokerProcess.start(zookeeper)
        for node in self._layout.nodes:
            self._processes[node.node_id] = await BrokerProcess.start(self._distribution.node(self._layout, node, self._folders))
        await wait_until_up(self.connect, self.addresses, self.deaths)
        partitions = int(self._layout.properties(self._layout.brokers[0])["offsets.topic.num.partitions"])
        await wait_until_coordinating(self.connect, self.addresses[0], partitions, self.deaths)

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        return await trio.open_tcp_stream(host, port)

    async def stop(self, node_id: int) -> None:
        """Kill one broker by SIGKILL; its groups move once the others notice, after its session of 3 s. Raise `CannotStop`."""
        if node_id not in {node.node_id for node in self._layout.brokers} - self._stopped:
            raise CannotStop(f"no broker {node_id} is running here")
        if len(self._layout.brokers) - len(self._stopped) == 1:
            raise CannotStop(f"broker {node_id} is the last one")
        self._stopped.add(node_id)
        await self._processes[node_id].kill()

    async def break_broker(self, node: int, how: str) -> None:
        """Stop a broker ("pause"), end it by SIGKILL ("kill"), or let its writes wait ("slow-disk"), until it is mended.

        Raises `BrokenEnvironment` for what can't be done.
        """
        self._check_whole(node)
        if how not in BREAKS:
            raise BrokenEnvironment(f"broker {node} can't be broken by {how!r}; the ways are {', '.join(BREAKS)}")
        if how == "slow-disk":
            self._slow_down(node, WRITE_MS)
        self._broken[node] = _Break(how, trio.current_time())
        if how != "slow-disk":
            await self._processes[node].order(how)

    async def mend_broker(self, node: int) -> None:
        """Undo that; a killed broker is started again with its data. Return when it answers, raise `BrokenEnvironment` where it does not."""
        broken = self._broken.get(node)
        if broken is None:
            return
        try:
            await self._mend(node, broken)
        except BrokenEnvironment:
            # A run that was broken off ends the brokers while its plans mend what they broke: there is nothing left to mend then.
            if not self._is_over:
                raise

    async def _mend(self, node: int, broken: _Break) -> None:
        if broken.how == "kill":
            await trio.sleep_until(broken.since_s + self._layout.lease_s)
        if broken.how == "slow-disk":
            self._slow_down(node, 0)
        else:
            await self._processes[node].order("start" if broken.how == "kill" else "resume")
        del self._broken[node]
        address = next((LOOPBACK, broker.port) for broker in self._layout.brokers if broker.node_id == node)
        await wait_until_up(self.connect, [address], self.deaths, within_s=MENDED_S, otherwise=f"broker {node} did not come back")

    def _slow_down(self, node: int, write_ms: int) -> None:
        control = control_of(self._folders, node)
        if not control.is_file():
            raise BrokenEnvironment(f"the disk of broker {node} can't be slowed: it was not started for that, or {self.provided_by} can't be")
        slow_down(control, write_ms)

    def _check_whole(self, node: int) -> None:
        if node not in {broker.node_id for broker in self._layout.brokers} - self._stopped:
            raise BrokenEnvironment(f"no broker {node} is running here that could be broken")
        if node in self._broken:
            raise BrokenEnvironment(f"broker {node} is broken already ({self._broken[node].how}); heal it first")

    async def finish(self, within_s: float) -> bool:
        """Let every broker end in order; tell whether all did in time."""
        return all([await self._processes[node.node_id].finish(within_s) for node in self._layout.brokers])

    async def end(self) -> None:
        """End every process, whatever happened before."""
        self._is_over = True
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as nursery:
                for process in self._processes.values():
                    nursery.start_soon(process.kill)

    def used(self, groups: Iterable[str]) -> None:
        """Nothing to note: the groups go with the brokers."""

    def deaths(self) -> list[str]:
        return [death for process in self._processes.values() if (death := process.death()) is not None]

    def logs(self) -> list[Path]:
        return [process.log for process in self._processes.values()]
