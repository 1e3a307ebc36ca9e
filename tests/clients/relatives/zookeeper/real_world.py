"""A real ZooKeeper as a world of scenes: each client comes by a relay of its own, and each scene has a root of its own."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
import trio
from tests.clients.relatives.zookeeper.relaying import Relay, relayed
from tests.coordinator.relatives.zookeeper.scenes import Event

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.relatives.zookeeper.kazoo_session import KazooSession
from groupproof.harness.subjects.brokers.apache.zookeeper import RunningZooKeeper, provision_zookeeper, running_zookeeper
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.protocol.relatives.zookeeper_messages import Answer, Create, Exists, Operation, SessionState

__all__ = ["NEEDS_JAVA", "RealClient", "RealWorld", "real_zookeeper"]

NEEDS_JAVA: Final = pytest.mark.skipif(shutil.which("java") is None or shutil.which("mvn") is None, reason="no Java or no Maven here")

SESSION_MS: Final = 1_000
_WORDS: Final = {SessionState.SYNC_CONNECTED: "connected", SessionState.DISCONNECTED: "disconnected", SessionState.EXPIRED: "expired"}


@asynccontextmanager
async def real_zookeeper(logs: Path) -> AsyncIterator[RunningZooKeeper]:
    provided = await trio.to_thread.run_sync(provision_zookeeper, default_cache(), print)
    async with running_zookeeper(provided, cache=default_cache(), logs=logs) as running:
        yield running


class RealClient:
    def __init__(self, hosts: str, relay: Relay, session_ms: int) -> None:
        self.events: list[Event] = []
        self.session_id = 0
        self.is_over = False
        self.session = KazooSession(hosts, session_ms, changed=self._changed, watched=self.events.append)
        self._relay = relay
        self._news = trio.Event()

    def _changed(self, state: SessionState, session_id: int) -> None:
        self.events.append(_WORDS[state])
        self.session_id = session_id
        self._news.set()

    async def until(self, word: str) -> None:
        with trio.fail_after(120):
            while word not in self.events:
                self._news = trio.Event()
                await self._news.wait()

    async def ask(self, operation: Operation) -> None:
        done = trio.Event()

        def answered(answer: Answer) -> None:
            self.events.append(answer)
            done.set()

        self.session.ask(operation, answered)
        with trio.fail_after(120):
            await done.wait()

    async def sync(self) -> None:
        done = trio.Event()
        self.session.ask(Exists("/"), lambda _: done.set())
        with trio.fail_after(120):
            await done.wait()

    async def close(self) -> None:
        self.is_over = True
        await self.session.close()

    async def vanish(self) -> None:
        self.is_over = True
        await self.session.vanish()

    async def cut(self) -> None:
        self._relay.cut()
        await self.until("disconnected")

    async def heal(self) -> None:
        before = self.events.count("connected")
        self._relay.heal()
        with trio.fail_after(120):
            while self.events.count("connected") == before:
                self._news = trio.Event()
                await self._news.wait()


class RealWorld:
    """`root` keeps it from what other worlds of the same server hold; `session_ms` is how long sessions last without a word."""

    def __init__(self, address: Address, root: str, nursery: trio.Nursery, session_ms: int = 10 * SESSION_MS) -> None:
        self.clients: list[RealClient] = []
        self._address, self._root, self._nursery, self._session_ms = address, root, nursery, session_ms

    @classmethod
    @asynccontextmanager
    async def begun(cls, address: Address, root: str, session_ms: int = 10 * SESSION_MS) -> AsyncIterator[RealWorld]:
        async with trio.open_nursery() as nursery:
            world = cls(address, "", nursery, session_ms)
            founder = await world.open()
            await founder.ask(Create(root))
            world._root = root
            try:
                yield world
            finally:
                for client in world.clients:
                    if not client.is_over:
                        await client.close()
                nursery.cancel_scope.cancel()

    async def open(self) -> RealClient:
        relay = await relayed(self._address, self._nursery)
        host, port = relay.address
        client = RealClient(f"{host}:{port}{self._root}", relay, self._session_ms)
        client.session.open()
        self.clients.append(client)
        await client.until("connected")
        return client

    async def settle(self) -> None:
        for client in self.clients:
            if not client.is_over:
                await client.sync()

    async def lapse(self) -> None:
        await trio.sleep(self._session_ms / 1000 + 2 * _TICK_S)


_TICK_S = 0.5
