"""A shim that is odd in one way: `python odd_shim.py ODDITY`. Underneath is the reference member's own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import trio

HELLO = {"name": "hello", "contract": 1, "client": "odd", "version": "1", "language": "python", "capabilities": ["classic"]}


class Odd:
    """The lines that go in and out, by one oddity."""

    def __init__(self, oddity: str) -> None:
        self.oddity = oddity

    def heard(self, command: dict[str, Any]) -> dict[str, Any]:
        if self.oddity == "crashes on subscribe" and command["command"] == "subscribe":
            print("Segmentation fault (core dumped)", file=sys.stderr)
            os._exit(7)
        if self.oddity == "lies about its client id" and "client_id" in command:
            return command | {"client_id": "somebody"}
        return command

    def lines_for(self, body: dict[str, Any]) -> list[str]:
        """Return the lines in place of `body`."""
        name, line = body.get("name"), json.dumps(body)
        if self.oddity == "breaks a line" and name == "partitions_assigned":
            return ['{"name":"partitions_assigned","partitions":[']
        if self.oddity == "prints" and name == "hello":
            return [line, "Welcome to my client!"]
        if self.oddity == "says yes to all" and "unimplemented" in body:
            return [json.dumps({"id": body["id"], "ok": True})]
        if self.oddity == "forgets callback_done" and name == "callback_done":
            return []
        if self.oddity == "invents an event" and name == "startup_complete":
            return [line, json.dumps(body | {"name": "ready_to_rumble"})]
        return [line]


async def _run(odd: Odd) -> None:
    from groupproof.clients.shims.reference import run_shim  # most oddities need none of it, and it takes its time

    stdout = trio.wrap_file(sys.stdout)
    asked: dict[int, str] = {}

    async def emit(line: str) -> None:
        body = json.loads(line)
        if odd.oddity == f"has no {asked.get(body.get('id', -1))}":
            body = {"id": body["id"], "member": body.get("member", ""), "unimplemented": "no such thing"}
        for name in odd.lines_for(body):
            await stdout.write(name + "\n")
        await stdout.flush()

    async def lines() -> AsyncIterator[str]:
        rest = b""
        async with trio.lowlevel.FdStream(os.dup(0)) as stdin:
            async for data in stdin:
                *whole, rest = (rest + data).split(b"\n")
                for item in whole:
                    command = odd.heard(json.loads(item))
                    asked[command["id"]] = command["command"]
                    yield json.dumps(command)

    async def connect(host: str, port: int) -> trio.SocketStream:
        return await trio.open_tcp_stream(host, port)

    await run_shim(lines(), emit, connect, seed=1)


def main(oddity: str) -> None:
    if oddity == "crashes at once":
        sys.exit("no module named kafka")
    if oddity == "cannot run here":
        print("needs Windows", file=sys.stderr)
        sys.exit(89)
    if oddity == "says nothing":
        sys.stdin.read()
    elif oddity == "is deaf":
        print(json.dumps(HELLO), flush=True)
        sys.stdin.read()
    else:
        trio.run(_run, Odd(oddity))


if __name__ == "__main__":
    main(sys.argv[1])
