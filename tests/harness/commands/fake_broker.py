"""Brokers that do a broker no honour, on a real port: `python fake_broker.py ODDITY` prints its port and serves until killed.

hangs: accepts, and never answers. closes: ends each connection at once. garbage: answers every frame with bytes that are none.
http, ssh, tls: answers as a server of that protocol. dies: is the reference coordinator, until it has given its last answer, in the middle of
whatever there is. freezes: the same, but it is not gone then.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trio

from groupproof.coordinator.broker.served_cluster import ServingCluster, serve
from groupproof.protocol.trace import Observation, Recorder

__all__ = ["fake_broker"]

ANSWERS = 200
"""How many answers one that dies or freezes gives."""

SETTINGS = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}
_GARBAGE = random.Random(1).randbytes(40)
_ANSWERS = {
    "garbage": len(_GARBAGE).to_bytes(4, "big") + _GARBAGE,
    "http": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    "ssh": b"SSH-2.0-OpenSSH_9.6\r\n",
    "tls": bytes.fromhex("15030300020246"),
}


@contextmanager
def fake_broker(oddity: str) -> Iterator[str]:
    """Run such a broker and yield its HOST:PORT."""
    with subprocess.Popen([sys.executable, str(Path(__file__)), oddity], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def _serve(oddity: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            peer, _ = server.accept()
            threading.Thread(target=_converse, args=(peer, oddity), daemon=True).start()


def _converse(peer: socket.socket, oddity: str) -> None:
    with peer:
        while oddity != "closes" and peer.recv(65536):
            if oddity in _ANSWERS:
                peer.sendall(_ANSWERS[oddity])


async def _end(oddity: str) -> None:
    answers = 0

    def count(obs: Observation) -> None:
        nonlocal answers
        answers += obs.kind == "response"
        if answers > ANSWERS:
            os.kill(os.getpid(), signal.SIGKILL if oddity == "dies" else signal.SIGSTOP)

    recorder = Recorder(lambda: 0, keeps=False)
    recorder.listen(count)
    async with trio.open_nursery() as nursery:

        async def start(task_status: trio.TaskStatus[ServingCluster]) -> None:
            await serve(ports=(0,), settings=SETTINGS, recorder=recorder, task_status=task_status)

        serving = await nursery.start(start)
        print(serving.addresses[0][1], flush=True)


if __name__ == "__main__":
    if sys.argv[1] in ("dies", "freezes"):
        trio.run(_end, sys.argv[1])
    else:
        _serve(sys.argv[1])
