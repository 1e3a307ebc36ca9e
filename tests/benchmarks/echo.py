"""Answers every frame with itself, as fast as one loop can: what the generator reaches against it is the generator's ceiling."""

from __future__ import annotations

import os
import select
import socket

__all__ = ["serve"]

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


if __name__ == "__main__":
    serve()
