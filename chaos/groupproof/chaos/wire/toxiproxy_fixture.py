"""A Toxiproxy before the coordinator of a user's own test (`groupproof_toxiproxy`): network faults on bytes, beyond faults on frames."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager
from functools import partial

import trio

from groupproof.chaos.wire.toxiproxy import Proxy
from groupproof.chaos.wire.toxiproxy_server import Program, running_toxiproxy, toxiproxy_at_hand
from groupproof.clients.registry.install_cache import default_cache
from groupproof.harness.commands.pytest_plugin.coordinator_fixture import GroupproofCoordinator
from groupproof.protocol.toxics import DOWNSTREAM, Stream, Toxic, bandwidth, latency, reset_peer, slicer, slow_close, timeout

__all__ = ["GroupproofToxiproxy", "NoToxiproxy"]

START_S = 60.0


class NoToxiproxy(Exception):
    """No Toxiproxy is available; the message says what to do."""


class GroupproofToxiproxy:
    """One proxy for each broker. A network fault acts on all of them, on open connections too, while its context lasts."""

    def __init__(self, coordinator: GroupproofCoordinator, program: Program) -> None:
        self._coordinator, self._program = coordinator, program
        self._server = coordinator.server
        self._proxies: list[Proxy] = []
        self._direct = coordinator.bootstrap
        self._over = trio.Event()

    @classmethod
    def before(cls, coordinator: GroupproofCoordinator) -> GroupproofToxiproxy:
        """Return a Toxiproxy before a coordinator; raise `NoToxiproxy` where one needs to be pulled or built."""
        program = toxiproxy_at_hand(default_cache())
        if program is None:
            raise NoToxiproxy(
                "no Toxiproxy is available: put toxiproxy-server on PATH, pull its image, or have `groupproof chaos` build it once by Go"
            )
        return cls(coordinator, program)

    @property
    def bootstrap(self) -> str:
        """Return the addresses for clients, which are also the coordinator's `bootstrap` meanwhile."""
        return ",".join(f"{host}:{port}" for host, port in (proxy.address for proxy in self._proxies))

    def __enter__(self) -> GroupproofToxiproxy:
        self._server.submit(lambda: self._server.nursery.start(self._run)).result(START_S)
        self._coordinator.bootstrap = self.bootstrap
        return self

    def __exit__(self, *_: object) -> None:
        self._coordinator.bootstrap = self._direct
        self._server.call(self._over.set)
        self._server.submit(self._gone.wait).result(START_S)

    async def _run(self, task_status: trio.TaskStatus[None]) -> None:
        self._gone = trio.Event()
        try:
            async with AsyncExitStack() as opened:
                server = await opened.enter_async_context(running_toxiproxy(self._program, cache=default_cache()))
                for node, (host, port) in enumerate(self._server.serving.addresses):
                    proxy = await opened.enter_async_context(server.proxy(f"broker-{node}", f"{host}:{port}"))
                    self._proxies.append(proxy)
                    self._coordinator.cluster.advertise(node, *proxy.address)
                task_status.started()
                await self._over.wait()
                for node, (host, port) in enumerate(self._server.serving.addresses):
                    self._coordinator.cluster.advertise(node, host, port)
        finally:
            self._gone.set()

    # Network faults

    def latency(self, ms: int, *, jitter_ms: int = 0, stream: Stream = DOWNSTREAM) -> AbstractContextManager[None]:
        """Delay all bytes."""
        return self._under(latency(ms, jitter_ms=jitter_ms, stream=stream))

    def bandwidth(self, kb_per_s: int, *, stream: Stream = DOWNSTREAM) -> AbstractContextManager[None]:
        """Allow `kb_per_s` kilobytes a second; 0 stops the stream and keeps the connections."""
        return self._under(bandwidth(kb_per_s, stream=stream))

    def black_hole(self, *, stream: Stream = DOWNSTREAM) -> AbstractContextManager[None]:
        """Drop all bytes, and keep the connections open."""
        return self._under(timeout(0, stream=stream))

    def reset_peer(self, after_ms: int = 0, *, stream: Stream = DOWNSTREAM) -> AbstractContextManager[None]:
        """Reset the connections."""
        return self._under(reset_peer(after_ms, stream=stream))

    def slow_close(self, delay_ms: int, *, stream: Stream = DOWNSTREAM) -> AbstractContextManager[None]:
        """Delay the end of a connection."""
        return self._under(slow_close(delay_ms, stream=stream))

    def slicer(self, average_bytes: int, *, delay_us: int = 0, stream: Stream = DOWNSTREAM) -> AbstractContextManager[None]:
        """Split the bytes into small pieces."""
        return self._under(slicer(average_bytes, delay_us=delay_us, stream=stream))

    @contextmanager
    def down(self) -> Iterator[None]:
        """Cut every connection, and accept none."""
        for proxy in self._proxies:
            self._server.submit(proxy.disable).result(START_S)
        try:
            yield
        finally:
            for proxy in self._proxies:
                self._server.submit(proxy.enable).result(START_S)

    @contextmanager
    def _under(self, fault: Toxic) -> Iterator[None]:
        for proxy in self._proxies:
            self._server.submit(partial(proxy.add, fault)).result(START_S)
        try:
            yield
        finally:
            for proxy in self._proxies:
                self._server.submit(partial(proxy.remove, fault)).result(START_S)
