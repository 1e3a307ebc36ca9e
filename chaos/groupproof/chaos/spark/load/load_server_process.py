"""The driver's side of the load server process: starts it, reads its messages, and ends it; it ends with the driver in any case."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import trio

from groupproof.chaos.spark.load.load_server import LoadServerConfig
from groupproof.chaos.spark.load.task_channel import Lines
from groupproof.harness.model.errors import BrokenEnvironment, KitFailure, RunError, WrongUsage
from groupproof.harness.subjects.networks.broker_address import Address

__all__ = ["LoadServerProcess", "running_load_server"]

_UP_S: Final = 120.0
_END_S: Final = 30.0
_TROUBLES: Final[Mapping[int, type[RunError]]] = {3: WrongUsage, 4: BrokenEnvironment, 5: KitFailure}


@dataclass(slots=True)
class LoadServerProcess:
    """A load server at `bootstrap`; `rows` counts its sealed observations so far, `rebalances` those that it observed."""

    process: trio.Process
    bootstrap: tuple[Address, ...] = ()
    rows: int = 0
    rebalances: int = 0
    _ready: trio.Event = field(default_factory=trio.Event)
    _ended: trio.Event = field(default_factory=trio.Event)
    _trouble: RunError | None = None

    async def begin(self, start_ns: int) -> None:
        """Start its clock."""
        assert self.process.stdin is not None, "the process was opened with this pipe"
        await self.process.stdin.send_all(json.dumps({"start_ns": start_ns}).encode() + b"\n")

    async def end(self) -> None:
        """Let it seal and end; kill it if it does not."""
        assert self.process.stdin is not None, "the process was opened with this pipe"
        await self.process.stdin.aclose()
        with trio.move_on_after(_END_S):
            await self._ended.wait()
            await self.process.wait()
        with suppress(ProcessLookupError):
            self.process.kill()

    async def up(self) -> None:
        """Return when it serves; raise its error if it does not come up."""
        with trio.move_on_after(_UP_S):
            await self._ready.wait()
        if self._trouble is not None:
            raise self._trouble
        if not self.bootstrap:
            raise BrokenEnvironment(f"the process that serves the load's members did not come up within {_UP_S:g} s")

    async def read_messages(self, failed: Callable[[Mapping[str, Any]], None]) -> None:
        """Read its messages until it ends; `failed` gets each failure after the start."""
        assert self.process.stdout is not None, "the process was opened with this pipe"
        lines = Lines(self.process.stdout)
        while (message := await lines.next()) is not None:
            self._receive(message, failed)
        self._ended.set()
        self._ready.set()

    def _receive(self, message: Mapping[str, Any], failed: Callable[[Mapping[str, Any]], None]) -> None:
        if "bootstrap" in message:
            self.bootstrap = tuple((host, port) for host, port in message["bootstrap"])
            self._ready.set()
        elif "rows" in message:
            self.rows, self.rebalances = message["rows"], message["rebalances"]
        elif "failed" in message:
            if self._ready.is_set():
                failed(message)
            else:
                self._trouble = _TROUBLES.get(message.get("exit", 5), KitFailure)(message["why"])


@asynccontextmanager
async def running_load_server(config: LoadServerConfig, failed: Callable[[Mapping[str, Any]], None]) -> AsyncIterator[LoadServerProcess]:
    """Run the server while the context lasts; raise its error if it does not come up."""
    argv = [sys.executable, "-m", "groupproof.chaos.spark.load.load_server"]
    async with trio.open_nursery() as nursery:
        # The process has its own session: Ctrl-C goes to the driver, which ends the process in order.
        process = await trio.lowlevel.open_process(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        server = LoadServerProcess(process)
        nursery.start_soon(server.read_messages, failed)
        try:
            assert process.stdin is not None, "the process was opened with this pipe"
            await process.stdin.send_all(json.dumps(asdict(config)).encode() + b"\n")
            await server.up()
            yield server
        finally:
            with trio.CancelScope(shield=True):
                await server.end()
        nursery.cancel_scope.cancel()
