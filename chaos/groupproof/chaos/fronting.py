"""Brokers behind proxies, without a tap: they tell clients the proxies' addresses themselves, so that a Toxiproxy is all that stands between.

The reference is told by `Cluster.advertise`, a provisioned Kafka by its `advertised.listeners` (`ApacheKafka.advertise`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from groupproof.chaos.toxiproxy import Proxy, Toxiproxy
from groupproof.harness.network import Address

__all__ = ["Fronts", "fronts"]


class Fronts:
    """A proxy before each broker that it is called for, by node id: an `Advertise`."""

    def __init__(self, server: Toxiproxy, stack: AsyncExitStack, key: str) -> None:
        self.proxies: dict[int, Proxy] = {}
        self._server, self._stack, self._key = server, stack, key

    async def __call__(self, node: int, address: Address) -> Address:
        """Stand before the broker at `address`, and return where clients reach it from now on."""
        host, port = address
        proxy = self.proxies[node] = await self._stack.enter_async_context(self._server.proxy(f"{self._key}-{node}", f"{host}:{port}"))
        return proxy.address


@asynccontextmanager
async def fronts(server: Toxiproxy, key: str) -> AsyncIterator[Fronts]:
    """Close every proxy in the end."""
    async with AsyncExitStack() as stack:
        yield Fronts(server, stack, key)
