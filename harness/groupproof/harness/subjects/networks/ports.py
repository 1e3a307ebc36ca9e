"""Ports for programs that need theirs in advance: the kernel chooses them, and reserves them until the program listens."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from groupproof.harness.model.errors import BrokenEnvironment

__all__ = ["LOOPBACK", "kept_port", "reserve_port"]

LOOPBACK = "127.0.0.1"


def reserve_port(host: str = LOOPBACK) -> int:
    """Return a free port that the kernel gives to no other program for a minute. Raise `BrokenEnvironment`.

    The port is left in TIME_WAIT, so the kernel does not choose it. Only a program that asks for it by number, with SO_REUSEADDR as a JVM does, can
    have it.
    """
    try:
        with socket.create_server((host, 0)) as server, socket.create_connection(server.getsockname()[:2]) as near:
            far, _ = server.accept()
            port = int(server.getsockname()[1])
            # The side that closes first waits in TIME_WAIT: it must be the one with the reserved port.
            far.close()
            near.recv(1)
            return port
    except OSError as error:
        raise BrokenEnvironment(f"no free port on {host}: {error.strerror or error}") from error


@contextmanager
def kept_port(host: str = LOOPBACK) -> Iterator[int]:
    """Keep a free port for one program that listens on it, closes it and listens again. Raise `BrokenEnvironment`.

    The kit's socket holds the port and never listens. So the kernel gives it to no other program, nor to an outgoing connection. Only a program
    that asks for it by number, with SO_REUSEADDR as Go's listeners do, can listen on it. While that program does not listen, connections are
    refused.
    """
    with socket.socket() as keeper:
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            keeper.bind((host, 0))
        except OSError as error:
            raise BrokenEnvironment(f"no free port on {host}: {error.strerror or error}") from error
        yield int(keeper.getsockname()[1])
