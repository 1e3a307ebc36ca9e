"""Runs `groupproof` without importing it for each command: a server that has imported it forks a process for each.

A page is followed by commands of bash. In the gate a small program called `groupproof` stands before the installed one on their PATH. It hands its
arguments, folder, environment and open files to the server, passes signals on, and ends as the command did. Half of what short commands cost is imports.
In `make soak` pages are followed with the installed command.
"""

from __future__ import annotations

import gc
import importlib
import marshal
import os
import pkgutil
import selectors
import signal
import socket
import stat
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["CommandServer"]

FILES: Final = 3
IMPORTED: Final = ("groupproof.harness", "groupproof.chaos.wire")
START_S_MAX: Final = 120.0  # a busy machine included

_CLIENT: Final = """#!{python} -IS
import _signal, _socket, marshal, os, sys
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
server.connect({address!r})
hears = _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN
asked = marshal.dumps((sys.argv, os.getcwd(), dict(os.environ), hears))
files = b"".join(number.to_bytes(4, sys.byteorder) for number in range({files}))
server.sendmsg([len(asked).to_bytes(8, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
while asked:
    asked = asked[server.send(asked):]
process = int.from_bytes(server.recv(4), "big")
for number in (*((_signal.SIGINT,) if hears else ()), _signal.SIGTERM):
    _signal.signal(number, lambda number, _: os.kill(process, number))
status = int.from_bytes(server.recv(4), "big", signed=True)
if status < 0:
    _signal.signal(-status, _signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A command, and what its process is to have of the client's."""

    argv: list[str]
    folder: str
    environment: dict[str, str]
    hears_interrupts: bool
    files: list[int]


@dataclass
class CommandServer:
    """A running server, and the folder with its client; the server ends with whoever started it."""

    folder: Path
    _process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        address = str(self.folder / "server")
        client = self.folder / "groupproof"
        client.write_text(_CLIENT.format(python=sys.executable, address=address, files=FILES))
        client.chmod(client.stat().st_mode | stat.S_IXUSR)
        left_out = ("PYTEST_", "COV_", "GROUPPROOF_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        self._process = subprocess.Popen(
            [sys.executable, __file__, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            raise RuntimeError("the server of commands did not start")

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(START_S_MAX)


def _import_all() -> None:
    for root in IMPORTED:
        package = importlib.import_module(root)
        for module in pkgutil.walk_packages(package.__path__, f"{root}."):
            if not module.name.endswith(".__main__") and ".programs." not in module.name:
                importlib.import_module(module.name)


def _warm(folder: Path) -> None:
    """Run one case: what a process makes once, codecs of messages and templates of pages, is then there in each that is forked."""
    from groupproof.harness.commands.base.boundary import run

    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        run(["certify", "client", "groupproof", "--only", "leave/classic/close", "--output", str(folder / "warm")])


def _serve(address: str) -> Order | None:
    """Fork for each client, until the starter closes its end. Return None then; in a process that was forked return what it is to do."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen(16)
    running: dict[int, tuple[int, socket.socket]] = {}
    """By the descriptor that tells of the end of a process: its id, and who waits for it."""
    events = selectors.DefaultSelector()
    events.register(sys.stdin, selectors.EVENT_READ)
    events.register(listener, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, _ in events.select():
            if key.fileobj is sys.stdin:
                return None
            if key.fileobj is listener:
                client, _ = listener.accept()
                order = _order(client)
                process = os.fork()
                if not process:
                    listener.close()
                    client.close()
                    events.close()
                    return order
                for number in order.files:
                    os.close(number)
                client.sendall(process.to_bytes(4, "big"))
                ended = os.pidfd_open(process)
                running[ended] = (process, client)
                events.register(ended, selectors.EVENT_READ)
                events.register(client, selectors.EVENT_READ, ended)
            elif key.data is not None:
                events.unregister(key.fileobj)  # the client is gone: so is its command
                os.killpg(running[key.data][0], signal.SIGKILL)
            else:
                _end(key.fd, running, events)


def _end(ended: int, running: dict[int, tuple[int, socket.socket]], events: selectors.BaseSelector) -> None:
    process, client = running.pop(ended)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    events.unregister(ended)
    os.close(ended)
    if client.fileno() in events.get_map():
        events.unregister(client)
        client.sendall(status.to_bytes(4, "big", signed=True))
    client.close()


def _order(client: socket.socket) -> Order:
    head, files, _, _ = socket.recv_fds(client, 8, FILES)
    length = int.from_bytes(head, "big")
    body = b""
    while len(body) < length:
        body += client.recv(length - len(body))
    argv, folder, environment, hears_interrupts = marshal.loads(body)
    return Order(argv=argv, folder=folder, environment=environment, hears_interrupts=hears_interrupts, files=list(files))


def _become(order: Order) -> None:
    """Take the place of the command that was typed."""
    os.setsid()
    for number, file in enumerate(order.files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    signal.signal(signal.SIGINT, signal.default_int_handler if order.hears_interrupts else signal.SIG_IGN)
    sys.argv = order.argv


if __name__ == "__main__":
    sys.path.pop(0)  # this folder, which the installed command has not
    _import_all()
    _warm(Path(sys.argv[1]).parent)
    gc.freeze()  # what is forked shares it
    commissioned = _serve(sys.argv[1])
    if commissioned is not None:
        _become(commissioned)
        from groupproof.harness.commands import main

        sys.exit(main())
