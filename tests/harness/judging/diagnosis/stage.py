"""What a provocation has at hand: a real cluster behind a tap, processes of real clients, and members played by hand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio
from packaging.version import Version
from tests.harness.judging.diagnosis.puppet import Puppet

from groupproof.clients.registry.provision import Launch
from groupproof.harness.model.plan import Member
from groupproof.harness.running.plans.member_control import subscription_of
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.networks.broker_address import Address

__all__ = ["Host", "Stage", "hosted"]


class Host:
    """One process of a real client that carries several members, spoken to by the shim contract."""

    def __init__(self, process: trio.Process, bootstrap: str) -> None:
        self._process, self._bootstrap = process, bootstrap
        self._commands = 0
        self._heard: list[dict[str, Any]] = []
        self._news = trio.Condition()
        self._saying = trio.Lock()

    async def listen(self) -> None:
        assert self._process.stdout is not None
        text = b""
        while data := await self._process.stdout.receive_some():
            *lines, text = (text + bytes(data)).split(b"\n")
            async with self._news:
                self._heard += [json.loads(line) for line in lines if line.startswith(b"{")]
                self._news.notify_all()

    async def say(self, member: str, command: str, **fields: Any) -> None:
        self._commands += 1
        assert self._process.stdin is not None
        line = json.dumps({"id": self._commands, "command": command, "member": member, **fields})
        async with self._saying:
            await self._process.stdin.send_all(line.encode() + b"\n")

    async def start(self, group: str, member: str, *, within_s: float = 40.0, **settings: Any) -> None:
        """Let a member subscribe, and wait until it was told of its partitions."""
        wanted = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 500, "max_poll_interval_ms": 60_000, **settings}
        fields = subscription_of(Member(name=member, settings=wanted), self._bootstrap)
        before = self.count(member, "partitions_assigned")
        await self.say(member, "subscribe", **{**fields, "group": group})
        await self.until(member, "partitions_assigned", before + 1, within_s)

    def count(self, member: str, name: str) -> int:
        return sum(1 for entry in self._heard if entry.get("member") == member and entry.get("name") == name)

    async def until(self, member: str, name: str, count: int, within_s: float = 40.0) -> None:
        with trio.fail_after(within_s):
            async with self._news:
                while self.count(member, name) < count:
                    await self._news.wait()

    def stop(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)


@dataclass(slots=True, kw_only=True)
class Stage:
    """What a provocation has at hand: the brokers through the tap, and two processes of real clients, of which one may be stopped."""

    release: Version
    cluster: RunningCluster
    bootstrap: list[Address]
    host: Host
    doomed: Host
    puppets: list[Puppet] = field(default_factory=list)

    def puppet(self, group: str, client: str, **settings: Any) -> Puppet:
        made = Puppet(client=client, group=group, bootstrap=self.bootstrap, **settings)
        self.puppets.append(made)
        return made

    async def hang_up(self) -> None:
        """Let every member that is played by hand fall silent."""
        for puppet in self.puppets:
            await puppet.hang_up()


@asynccontextmanager
async def hosted(launch: Launch, bootstrap: str, log: Path) -> AsyncIterator[Host]:
    """Run a client in a process of its own, which is gone when the context ends; its log is added to `log`."""
    with log.open("ab") as file:
        process = await trio.lowlevel.open_process(
            list(launch.argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, env={**os.environ, **launch.env}
        )
    host = Host(process, bootstrap)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(host.listen)
            yield host
            nursery.cancel_scope.cancel()
    finally:
        host.go_on()
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    await pipe.aclose()
