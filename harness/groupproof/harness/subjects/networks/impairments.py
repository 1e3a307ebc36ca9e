"""Impaired connections between members and brokers over streams in memory: what Toxiproxy 2 does to connections, in virtual time.

The rules are Toxiproxy's. Faults of one stream act one after the other, in the order in which they came, on open connections too. `toxicity` is
drawn for each connection. The end of one stream ends the connection. A removed fault releases at once what it delays, and a removed `timeout` ends
its connections. Source: Toxiproxy 2.12, `link.go` and `toxics/*.go`.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import trio

from groupproof.harness.model.plan import Impair
from groupproof.harness.subjects.networks.memory_streams import memory_stream_pair
from groupproof.harness.subjects.networks.stream_wrapper import StreamWrapper
from groupproof.protocol.toxics import DOWNSTREAM, UPSTREAM, Stream, Toxic

__all__ = ["Impairments", "Receipt"]

_READ_BYTES: Final = 32 * 1024  # the buffer size of io.Copy
_TICK_S: Final = 0.1
"""A rate is kept in steps of a tenth of a second."""

_BROKEN: Final = (trio.BrokenResourceError, trio.ClosedResourceError)


class Receipt(Protocol):
    """Records a stage of a fault: "delivered" when it acted for the first time."""

    def __call__(self, stage: str, **body: Any) -> None: ...


@dataclass(slots=True, eq=False)
class _Impairment:
    """One active step. Its receipt names where it first acted; the end of the step reports the number of affected connections."""

    step: Impair
    receipt: Receipt
    affected: set[int] = field(default_factory=set)

    def covers(self, member: str, node: int) -> bool:
        return (not self.step.members or member in self.step.members) and (not self.step.nodes or node in self.step.nodes)

    @property
    def is_down(self) -> bool:
        return any(impairment.kind == "down" for impairment in self.step.toxics)

    def record_effect(self, connection: ImpairedConnection, kind: str) -> None:
        if not self.affected:
            self.receipt("delivered", kind=kind, member=connection.member, node=connection.node)
        self.affected.add(connection.number)


class Impairments:
    """The impaired connections of one network. `draw` decides jitter and toxicity."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self._active: dict[str, _Impairment] = {}
        self._connections: dict[int, ImpairedConnection] = {}
        self._numbers = itertools.count(1)

    def impair(self, step: Impair, receipt: Receipt) -> None:
        impairment = self._active[step.name] = _Impairment(step, receipt)
        for connection in list(self._connections.values()):
            if impairment.covers(connection.member, connection.node):
                connection.apply(impairment)

    def mend(self, name: str) -> Mapping[str, Any]:
        impairment = self._active.pop(name, None)
        if impairment is None:
            return {}
        for connection in list(self._connections.values()):
            connection.release(impairment)
        return {"connections": len(impairment.affected)}

    def connection(self, member: str, node: int) -> ImpairedConnection:
        """Return a new connection under all active impairments. Raise `ConnectionRefusedError` where it is down."""
        connection = ImpairedConnection(self, next(self._numbers), member, node)
        for impairment in self._active.values():
            if not impairment.covers(member, node):
                continue
            if impairment.is_down:
                impairment.record_effect(connection, "down")
                raise ConnectionRefusedError(f"the connection from {member} to node {node} is down")
            connection.apply(impairment, is_new=True)
        self._connections[connection.number] = connection
        return connection

    async def carry(self, connection: ImpairedConnection) -> None:
        """Carry the bytes of a connection until it ends."""
        try:
            await connection.run()
        finally:
            del self._connections[connection.number]


class ImpairedConnection:
    """One connection: the ends of the member and the broker, and a flow in each direction between them."""

    def __init__(self, impairments: Impairments, number: int, member: str, node: int) -> None:
        self.number, self.member, self.node = number, member, node
        self.draw = impairments.draw
        near, self._client = memory_stream_pair()
        self.broker_end, self._broker = memory_stream_pair()
        self.member_end = _Resettable(near, self)
        self.is_reset = False
        self._orders = itertools.count(1)
        self._scope = trio.CancelScope()
        self._flows: dict[Stream, _Flow] = {
            UPSTREAM: _Flow(self, self._client, self._broker), DOWNSTREAM: _Flow(self, self._broker, self._client),
        }  # fmt: skip

    def apply(self, impairment: _Impairment, *, is_new: bool = False) -> None:
        """Let an impairment act from now on. Toxicity is drawn here."""
        for item in impairment.step.toxics:
            if item.kind == "down":
                impairment.record_effect(self, item.kind)
                self.end()
            elif self.draw.random() < item.toxicity:
                self._flows[item.stream].begin(_FlowFault(next(self._orders), item, impairment, resets=is_new))

    def release(self, impairment: _Impairment) -> None:
        for flow in self._flows.values():
            flow.remove(impairment)

    async def run(self) -> None:
        with self._scope:
            async with trio.open_nursery() as nursery:
                for flow in self._flows.values():
                    nursery.start_soon(flow.run)
        for stream in (self._client, self._broker):
            with suppress(*_BROKEN), trio.CancelScope(shield=True):
                await trio.aclose_forcefully(stream)

    def end(self, *, by_reset: bool = False) -> None:
        """End the connection on both sides. Bytes on their way are lost."""
        self.is_reset = self.is_reset or by_reset
        self._scope.cancel()


class _Resettable(StreamWrapper):
    """The member's end of a connection. It distinguishes a reset from an end."""

    def __init__(self, inner: trio.abc.Stream, connection: ImpairedConnection) -> None:
        super().__init__(inner)
        self._connection = connection

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        data = await super().receive_some(max_bytes)
        if not data and self._connection.is_reset:
            raise trio.BrokenResourceError("the connection was reset")
        return data


@dataclass(slots=True, eq=False)
class _FlowFault:
    """One fault on one flow. `gone` is set when it is removed. `resets`: the connection began under it, as in Toxiproxy."""

    order: int
    item: Toxic
    impairment: _Impairment
    resets: bool
    gone: trio.Event = field(default_factory=trio.Event)
    passed: int = 0
    touched: float = 0.0

    def of(self, name: str) -> int:
        return self.item.attributes.get(name, 0)

    async def wait(self, seconds: float) -> None:
        """Wait, but no longer than the fault is active."""
        with trio.move_on_after(max(0.0, seconds)):
            await self.gone.wait()


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Bytes, and when they came."""

    data: bytes
    at: float


class _FlowEnded(Exception):
    """The flow is over, and the connection with it."""


class _Flow:
    """One direction of a connection."""

    def __init__(self, connection: ImpairedConnection, source: trio.abc.ReceiveStream, sink: trio.abc.SendStream) -> None:
        self._connection, self._source, self._sink = connection, source, sink
        self._faults: list[_FlowFault] = []
        self._to_expire: list[_FlowFault] = []
        self._nursery: trio.Nursery | None = None
        self._sender, self._receiver = trio.open_memory_channel[_Chunk](math.inf)

    def begin(self, fault: _FlowFault) -> None:
        fault.touched = trio.current_time()
        self._faults.append(fault)
        if fault.item.kind == "timeout" and fault.of("timeout") > 0:
            self._to_expire.append(fault)
            self._watch()

    def remove(self, impairment: _Impairment) -> None:
        for fault in [fault for fault in self._faults if fault.impairment is impairment]:
            self._faults.remove(fault)
            fault.gone.set()
            if fault.item.kind == "timeout":
                self._connection.end()

    def _watch(self) -> None:
        if self._nursery is not None:
            while self._to_expire:
                self._nursery.start_soon(self._expire, self._to_expire.pop())

    async def run(self) -> None:
        """Carry bytes from one side to the other, until either side ends the connection."""
        async with trio.open_nursery() as self._nursery:
            self._watch()
            self._nursery.start_soon(self._receive)
            try:
                await self._send()
            except (_FlowEnded, *_BROKEN):
                pass
            self._connection.end()

    async def _receive(self) -> None:
        with self._sender, suppress(*_BROKEN):
            while data := bytes(await self._source.receive_some(_READ_BYTES)):
                self._sender.send_nowait(_Chunk(data, trio.current_time()))

    async def _send(self) -> None:
        async for chunk in self._receiver:
            await self.pass_on(chunk, 0)
        for fault in list(self._faults):
            await self._close_under(fault)

    async def pass_on(self, chunk: _Chunk, order: int) -> None:
        """Let the faults after `order` act on a piece, and send what remains of it."""
        fault = next((fault for fault in self._faults if fault.order > order), None)
        if fault is not None:
            await _EFFECTS[fault.item.kind](self, fault, chunk)
        elif chunk.data:
            await self._sink.send_all(chunk.data)

    def record_effect(self, fault: _FlowFault) -> None:
        fault.impairment.record_effect(self._connection, fault.item.kind)

    async def _close_under(self, fault: _FlowFault) -> None:
        """Pass on the end of the connection, under a fault that acts on ends."""
        if fault.item.kind == "slow_close":
            self.record_effect(fault)
            await fault.wait(fault.of("delay") / 1000)
        elif fault.item.kind == "reset_peer":
            await self.reset_peer(fault, _Chunk(b"", trio.current_time()))

    async def _expire(self, fault: _FlowFault) -> None:
        """End the connection when nothing has come for the time of a `timeout`."""
        while (left := fault.touched + fault.of("timeout") / 1000 - trio.current_time()) > 0:
            await fault.wait(left)
            if fault.gone.is_set():
                return
        self.record_effect(fault)
        self._connection.end()

    # What each kind does to a piece

    async def latency(self, fault: _FlowFault, chunk: _Chunk) -> None:
        jitter = fault.of("jitter")
        delay_ms = fault.of("latency") + (self._connection.draw.randrange(2 * jitter) - jitter if jitter else 0)
        self.record_effect(fault)
        await fault.wait(chunk.at + delay_ms / 1000 - trio.current_time())
        await self.pass_on(_Chunk(chunk.data, trio.current_time()), fault.order)

    async def bandwidth(self, fault: _FlowFault, chunk: _Chunk) -> None:
        self.record_effect(fault)
        rate, data = fault.of("rate"), chunk.data
        if rate == 0:
            await fault.gone.wait()
        step = int(rate * 1000 * _TICK_S)
        while len(data) > step and not fault.gone.is_set():
            await fault.wait(_TICK_S)
            await self.pass_on(_Chunk(data[:step], chunk.at), fault.order)
            data = data[step:]
        await fault.wait(len(data) / (rate * 1000) if rate else 0)
        await self.pass_on(_Chunk(data, chunk.at), fault.order)

    async def slow_close(self, fault: _FlowFault, chunk: _Chunk) -> None:
        await self.pass_on(chunk, fault.order)

    async def timeout(self, fault: _FlowFault, chunk: _Chunk) -> None:
        fault.touched = trio.current_time()
        self.record_effect(fault)

    async def reset_peer(self, fault: _FlowFault, chunk: _Chunk) -> None:
        await trio.sleep(fault.of("timeout") / 1000)
        self.record_effect(fault)
        self._connection.end(by_reset=fault.resets)
        raise _FlowEnded

    async def slicer(self, fault: _FlowFault, chunk: _Chunk) -> None:
        for data in self._sliced(chunk.data, max(1, fault.of("average_size")), fault.of("size_variation")):
            if len(data) < len(chunk.data):
                self.record_effect(fault)
            await self.pass_on(_Chunk(data, chunk.at), fault.order)
            await fault.wait(fault.of("delay") / 1e6)

    def _sliced(self, data: bytes, average: int, variation: int) -> list[bytes]:
        if len(data) - average <= variation:
            return [data]
        middle = len(data) // 2 + (self._connection.draw.randrange(2 * variation) - variation if variation else 0)
        middle = min(max(1, middle), len(data) - 1)
        return [*self._sliced(data[:middle], average, variation), *self._sliced(data[middle:], average, variation)]

    async def limit_data(self, fault: _FlowFault, chunk: _Chunk) -> None:
        data = chunk.data[: max(0, fault.of("bytes") - fault.passed)]
        fault.passed += len(data)
        await self.pass_on(_Chunk(data, chunk.at), fault.order)
        if fault.passed >= fault.of("bytes"):
            self.record_effect(fault)
            raise _FlowEnded


_EFFECTS: Final[Mapping[str, Callable[[_Flow, _FlowFault, _Chunk], Awaitable[None]]]] = {
    kind: getattr(_Flow, kind) for kind in ("latency", "bandwidth", "slow_close", "timeout", "reset_peer", "slicer", "limit_data")
}
