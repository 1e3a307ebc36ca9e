"""A tap between a client and a broker, both of which a test plays by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio
import trio.testing
from tests.harness.subjects.tap.tapped import MemoryDoors, Peer

from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.tap.hub import Hub
from groupproof.protocol.faults import Fault, Selector
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import write_request, write_response

__all__ = ["Line", "beat", "beaten", "fault", "tapped"]

BEAT = {"group_id": "g", "generation_id": 1, "member_id": "m"}


class Line:
    """A tap between a client and a broker, both of which are the test's."""

    def __init__(self, nursery: trio.Nursery, faults: tuple[Fault, ...], frame_bytes_max: int) -> None:
        self.recorder = Recorder(lambda: round(trio.current_time() * 1e9))
        self.interception = Interception(self.recorder)
        for item in faults:
            self.interception.arm(item)
        self.doors = MemoryDoors(nursery)
        self._asked, self._reached = trio.open_memory_channel[Peer](10)
        self.refusal: Exception | None = None
        self.hub = Hub(
            recorder=self.recorder, connect=self._connect, doors=self.doors, interception=self.interception, frame_bytes_max=frame_bytes_max
        )

    async def _connect(self, host: str, port: int) -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        if self.refusal is not None:
            raise self.refusal
        ours, theirs = trio.testing.memory_stream_pair()
        await self._asked.send(Peer(theirs))
        return ours

    @asynccontextmanager
    async def peers(self) -> AsyncIterator[tuple[Peer, Peer]]:
        """Yield client and broker of a new connection."""
        stream = await self.doors.connect("tap-0", 9092)
        broker = await self._reached.receive()
        yield Peer(stream), broker
        await trio.aclose_forcefully(stream)
        await trio.aclose_forcefully(broker.stream)

    def closed(self) -> list[tuple[str, str]]:
        return [(obs.body["by"], obs.body["reason"]) for obs in self.recorder.trace if obs.body.get("name") == "closed"]

    def stages(self) -> list[str | None]:
        return [obs.detail for obs in self.recorder.trace if obs.kind == "fault"]

    def bodies_of(self, name: str) -> list[dict[str, Any]]:
        return [obs.body for obs in self.recorder.trace if obs.body.get("name") == name]


def tapped(act: Callable[[Line], Awaitable[None]], *faults: Fault, frame_bytes_max: int = 10_000) -> Line:
    lines: list[Line] = []

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            lines.append(Line(nursery, faults, frame_bytes_max))
            await lines[0].hub.route_to(("broker", 9092))
            with trio.fail_after(600):
                await act(lines[0])
            nursery.cancel_scope.cancel()

    run_virtually(main, seed=1)
    return lines[0]


def fault(action: Any, api: str = "Heartbeat", **selector: Any) -> Fault:
    return Fault(name="f", selector=Selector(api=api, **selector), action=action)


def beat(correlation: int) -> bytes:
    return write_request(Api.HEARTBEAT, 4, correlation, "app", BEAT)


def beaten(correlation: int, code: int = 0) -> bytes:
    return write_response(Api.HEARTBEAT, 4, correlation, {"error_code": code})
