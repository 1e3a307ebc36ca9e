"""A cluster in one program that the kit provides: kfake, librdkafka's mock.

One argument configures the program, and lines on its standard input control it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster import NOTHING_KNOWN, CannotStop, RunningCluster
from groupproof.harness.subjects.brokers.readiness import wait_until_coordinating, wait_until_up
from groupproof.harness.subjects.cluster_control import NoMachines
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.processes.broker_process import BrokerProcess, Command

__all__ = ["SupportedSettings", "argument", "running_program"]

_HELLO_S = 30.0
_ANSWER_S = 10.0
_GROUPS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportedSettings:
    """Kafka's settings in such a broker: those that it `takes`, those with a fixed value (`has`), and the bounds that it does not check
    (`no_bounds`)."""

    takes: frozenset[str]
    has: Mapping[str, str]
    no_bounds: frozenset[str] = frozenset()

    def split(self, settings: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the settings for the broker, and those that it cannot have, with the reason."""
        asked = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in settings.items()}
        supported = {name: value for name, value in asked.items() if name in self.takes}
        allowed = supported.keys() | self.no_bounds
        unmet = {name: self._why_not(name, value) for name, value in asked.items() if name not in allowed and self.has.get(name) != value}
        return supported, unmet

    def _why_not(self, name: str, value: str) -> str:
        return f"it has {self.has[name]}, {value} is needed" if name in self.has else "the broker knows no such setting"


def argument(*, brokers: int, topics: Mapping[str, int], settings: Mapping[str, str]) -> str:
    return json.dumps({"brokers": brokers, "topics": dict(topics), "settings": dict(settings)})


@asynccontextmanager
async def running_program(command: Command, *, provided_by: str, unmet: Mapping[str, str], first_node: int) -> AsyncIterator[RunningCluster]:
    """Run the program; node ids count from `first_node`. Raise `BrokenEnvironment` where it does not start."""
    process = await BrokerProcess.start(command)
    try:
        hello = await _hello(process)
        version = hello.get("version")
        by = f"{provided_by} {version}" if version else provided_by
        running = _Running(process, _addresses(hello), by, unmet, first_node)
        await wait_until_up(running.connect, running.addresses, running.deaths, within_s=_HELLO_S)
        await wait_until_coordinating(running.connect, running.addresses[0], _GROUPS, running.deaths, within_s=_HELLO_S)
        yield running
    finally:
        await process.kill()


async def _hello(process: BrokerProcess) -> dict[str, Any]:
    with trio.move_on_after(_HELLO_S):
        line = await process.next_line()
        try:
            return dict(json.loads(line))
        except ValueError:
            raise BrokenEnvironment(f"{process.title} began with {line[:200]!r} instead of its addresses (log: {process.log})") from None
    raise BrokenEnvironment(f"{process.title} said nothing for {_HELLO_S:g} s (log: {process.log})")


def _addresses(hello: Mapping[str, Any]) -> list[Address]:
    return [(host.strip("[]") or "127.0.0.1", int(port)) for host, _, port in (address.rpartition(":") for address in hello["addresses"])]


class _Running(NoMachines):
    has_fixed_settings = True

    def __init__(self, process: BrokerProcess, addresses: list[Address], provided_by: str, unmet: Mapping[str, str], first_node: int) -> None:
        self.provided_by, self.unmet, self.known_settings = provided_by, unmet, NOTHING_KNOWN
        self._process = process
        self._nodes = dict(enumerate(addresses, first_node))

    @property
    def addresses(self) -> list[Address]:
        return list(self._nodes.values())

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        return await trio.open_tcp_stream(host, port)

    async def stop(self, node_id: int) -> None:
        """Let the program stop one broker; raise `CannotStop`."""
        if node_id not in self._nodes:
            raise CannotStop(f"no broker {node_id} is running here")
        if len(self._nodes) == 1:
            raise CannotStop(f"broker {node_id} is the last one")
        answer = "error nothing was said in time"
        with trio.move_on_after(_ANSWER_S):
            await self._process.say(f"stop {node_id}")
            answer = await self._process.next_line()
        if answer != f"stopped {node_id}":
            raise CannotStop(f"{self._process.title} could not stop broker {node_id}: {answer.removeprefix('error ')}")
        del self._nodes[node_id]

    def used(self, groups: Iterable[str]) -> None:
        """Do nothing: the groups end with the program."""

    def deaths(self) -> list[str]:
        death = self._process.death()
        return [] if death is None else [death]

    def logs(self) -> list[Path]:
        return [self._process.log]
