"""Answers every frame with itself: as fast as one loop can, or (`polled`) as the coordinator reads its sockets, with trio.

What the generator reaches against the first is the generator's ceiling, against the second the coordinator's, were its own work nothing.
"""

from __future__ import annotations

import os
import select
import socket
import sys
from contextlib import closing
from functools import partial

import trio

from groupproof.coordinator.broker.sockets import Poller, Socket

__all__ = ["serve", "serve_polled"]

BACKLOG = 1024


def serve() -> None:
    """Listen on a free port of loopback, print it, and echo until killed."""
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as server, select.epoll() as poller:
        print(server.getsockname()[1], flush=True)
        peers: dict[int, socket.socket] = {}
        poller.register(server, select.EPOLLIN)
        while True:
            for fd, _ in poller.poll():
                if fd == server.fileno():
                    peer, _ = server.accept()
                    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    peers[peer.fileno()] = peer
                    poller.register(peer, select.EPOLLIN)
                elif not _echo(fd):
                    poller.unregister(fd)
                    peers.pop(fd).close()


def _echo(fd: int) -> bool:
    try:
        data = os.read(fd, 1 << 18)
        os.write(fd, data)
    except OSError:
        return False
    return bool(data)


async def serve_polled() -> None:
    """Do the same through one trio task that reads every socket."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1", backlog=BACKLOG)
    print(listeners[0].socket.getsockname()[1], flush=True)
    with closing(Poller()) as poller:
        async with trio.open_nursery() as nursery:
            await nursery.start(poller.run)
            await trio.serve_listeners(partial(_echo_polled, poller), listeners)


async def _echo_polled(poller: Poller, stream: trio.SocketStream) -> None:
    sock = Socket(stream, poller)

    def take(data: bytes) -> bool | None:
        return None if data and not sock.send_now(data) else True

    try:
        await sock.left(take)
    except (trio.BrokenResourceError, OSError):
        return


if __name__ == "__main__":
    if sys.argv[1:] == ["polled"]:
        trio.run(serve_polled)
    else:
        serve()
