"""A way to a server that can be cut and healed."""

from __future__ import annotations

import trio

from groupproof.harness.subjects.networks.broker_address import Address

__all__ = ["Relay", "relayed"]


class Relay:
    """Stands before one address; cut, it ends its connections and takes no other."""

    def __init__(self, upstream: Address, address: Address) -> None:
        self.address = address
        self._upstream = upstream
        self._is_cut = False
        self._scopes: set[trio.CancelScope] = set()

    def cut(self) -> None:
        self._is_cut = True
        for scope in self._scopes:
            scope.cancel()

    def heal(self) -> None:
        self._is_cut = False

    async def serve(self, near: trio.SocketStream) -> None:
        with trio.CancelScope() as scope:
            self._scopes.add(scope)
            async with near:
                if not self._is_cut:
                    await self._join(near, scope)
        self._scopes.discard(scope)

    async def _join(self, near: trio.SocketStream, scope: trio.CancelScope) -> None:
        try:
            opened = await trio.open_tcp_stream(*self._upstream)
        except OSError:
            return
        async with opened as far, trio.open_nursery() as nursery:
            nursery.start_soon(_pass, near, far, scope)
            nursery.start_soon(_pass, far, near, scope)


async def _pass(source: trio.SocketStream, target: trio.SocketStream, scope: trio.CancelScope) -> None:
    try:
        async for some in source:
            await target.send_all(some)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    scope.cancel()


async def relayed(upstream: Address, nursery: trio.Nursery) -> Relay:
    """Return a relay that stands there as long as the nursery lives."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    relay = Relay(upstream, ("127.0.0.1", listener.socket.getsockname()[1]))
    nursery.start_soon(trio.serve_listeners, relay.serve, [listener])
    return relay
