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
    bitten: set[int] = field(default_factory=set)

    def covers(self, member: str, node: int) -> bool:
        return (not self.step.members or member in self.step.members) and (not self.step.nodes or node in self.step.nodes)

    @property
    def is_down(self) -> bool:
        return any(impairment.kind == "down" for impairment in self.step.toxics)

    def bit(self, way: Way, kind: str) -> None:
        if not self.bitten:
            self.receipt("delivered", kind=kind, member=way.member, node=way.node)
        self.bitten.add(way.number)


class Impairments:
    """The impaired connections of one network. `draw` decides jitter and toxicity."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self._active: dict[str, _Impairment] = {}
        self._ways: dict[int, Way] = {}
        self._numbers = itertools.count(1)

    def impair(self, step: Impair, receipt: Receipt) -> None:
        impairment = self._active[step.name] = _Impairment(step, receipt)
        for way in list(self._ways.values()):
            if impairment.covers(way.member, way.node):
                way.suffer(impairment)

    def mend(self, name: str) -> Mapping[str, Any]:
        impairment = self._active.pop(name, None)
        if impairment is None:
            return {}
        for way in list(self._ways.values()):
            way.recover(impairment)
        return {"connections": len(impairment.bitten)}

    def way(self, member: str, node: int) -> Way:
        """Return a new connection under all active impairments. Raise `ConnectionRefusedError` where it is down."""
        way = Way(self, next(self._numbers), member, node)
        for impairment in self._active.values():
            if not impairment.covers(member, node):
                continue
            if impairment.is_down:
                impairment.bit(way, "down")
                raise ConnectionRefusedError(f"the way from {member} to node {node} is down")
            way.suffer(impairment, is_new=True)
        self._ways[way.number] = way
        return way

    async def carry(self, way: Way) -> None:
        """Carry the bytes of a connection until it ends."""
        try:
            await way.run()
        finally:
            del self._ways[way.number]


class Way:
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

    def suffer(self, impairment: _Impairment, *, is_new: bool = False) -> None:
        """Let an impairment act from now on. Toxicity is drawn here."""
        for item in impairment.step.toxics:
            if item.kind == "down":
                impairment.bit(self, item.kind)
                self.end()
            elif self.draw.random() < item.toxicity:
                self._flows[item.stream].begin(_Bite(next(self._orders), item, impairment, resets=is_new))

    def recover(self, impairment: _Impairment) -> None:
        for flow in self._flows.values():
            flow.cease(impairment)

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

    def __init__(self, inner: trio.abc.Stream, way: Way) -> None:
        super().__init__(inner)
        self._way = way

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        data = await super().receive_some(max_bytes)
        if not data and self._way.is_reset:
            raise trio.BrokenResourceError("the connection was reset")
        return data


@dataclass(slots=True, eq=False)
class _Bite:
    """One fault on one flow. `gone` is set when it is removed. `resets`: the connection began under it, as in Toxiproxy."""

    order: int
    does: Toxic
    impairment: _Impairment
    resets: bool
    gone: trio.Event = field(default_factory=trio.Event)
    passed: int = 0
    touched: float = 0.0

    def of(self, name: str) -> int:
        return self.does.attributes.get(name, 0)

    async def rest(self, seconds: float) -> None:
        """Wait, but no longer than the fault is active."""
        with trio.move_on_after(max(0.0, seconds)):
            await self.gone.wait()


@dataclass(frozen=True, slots=True)
class _Piece:
    """Bytes, and when they came."""

    data: bytes
    at: float


class _Over(Exception):
    """The flow is over, and the connection with it."""


class _Flow:
    """One direction of a connection."""

    def __init__(self, way: Way, source: trio.abc.ReceiveStream, sink: trio.abc.SendStream) -> None:
        self._way, self._source, self._sink = way, source, sink
        self._bites: list[_Bite] = []
        self._begun: list[_Bite] = []
        self._nursery: trio.Nursery | None = None
        self._inlet, self._outlet = trio.open_memory_channel[_Piece](math.inf)

    def begin(self, bite: _Bite) -> None:
        bite.touched = trio.current_time()
        self._bites.append(bite)
        if bite.does.kind == "timeout" and bite.of("timeout") > 0:
            self._begun.append(bite)
            self._watch()

    def cease(self, impairment: _Impairment) -> None:
        for bite in [bite for bite in self._bites if bite.impairment is impairment]:
            self._bites.remove(bite)
            bite.gone.set()
            if bite.does.kind == "timeout":
                self._way.end()

    def _watch(self) -> None:
        if self._nursery is not None:
            while self._begun:
                self._nursery.start_soon(self._expire, self._begun.pop())

    async def run(self) -> None:
        """Carry bytes from one side to the other, until either side ends the connection."""
        async with trio.open_nursery() as self._nursery:
            self._watch()
            self._nursery.start_soon(self._take)
            try:
                await self._give()
            except (_Over, *_BROKEN):
                pass
            self._way.end()

    async def _take(self) -> None:
        with self._inlet, suppress(*_BROKEN):
            while data := bytes(await self._source.receive_some(_READ_BYTES)):
                self._inlet.send_nowait(_Piece(data, trio.current_time()))

    async def _give(self) -> None:
        async for piece in self._outlet:
            await self.through(piece, 0)
        for bite in list(self._bites):
            await self._close_under(bite)

    async def through(self, piece: _Piece, order: int) -> None:
        """Let the faults after `order` act on a piece, and send what remains of it."""
        bite = next((bite for bite in self._bites if bite.order > order), None)
        if bite is not None:
            await _ACTS[bite.does.kind](self, bite, piece)
        elif piece.data:
            await self._sink.send_all(piece.data)

    def bit(self, bite: _Bite) -> None:
        bite.impairment.bit(self._way, bite.does.kind)

    async def _close_under(self, bite: _Bite) -> None:
        """Pass on the end of the connection, under a fault that acts on ends."""
        if bite.does.kind == "slow_close":
            self.bit(bite)
            await bite.rest(bite.of("delay") / 1000)
        elif bite.does.kind == "reset_peer":
            await self.reset_peer(bite, _Piece(b"", trio.current_time()))

    async def _expire(self, bite: _Bite) -> None:
        """End the connection when nothing has come for the time of a `timeout`."""
        while (left := bite.touched + bite.of("timeout") / 1000 - trio.current_time()) > 0:
            await bite.rest(left)
            if bite.gone.is_set():
                return
        self.bit(bite)
        self._way.end()

    # What each kind does to a piece

    async def latency(self, bite: _Bite, piece: _Piece) -> None:
        jitter = bite.of("jitter")
        delay_ms = bite.of("latency") + (self._way.draw.randrange(2 * jitter) - jitter if jitter else 0)
        self.bit(bite)
        await bite.rest(piece.at + delay_ms / 1000 - trio.current_time())
        await self.through(_Piece(piece.data, trio.current_time()), bite.order)

    async def bandwidth(self, bite: _Bite, piece: _Piece) -> None:
        self.bit(bite)
        rate, data = bite.of("rate"), piece.data
        if rate == 0:
            await bite.gone.wait()
        step = int(rate * 1000 * _TICK_S)
        while len(data) > step and not bite.gone.is_set():
            await bite.rest(_TICK_S)
            await self.through(_Piece(data[:step], piece.at), bite.order)
            data = data[step:]
        await bite.rest(len(data) / (rate * 1000) if rate else 0)
        await self.through(_Piece(data, piece.at), bite.order)

    async def slow_close(self, bite: _Bite, piece: _Piece) -> None:
        await self.through(piece, bite.order)

    async def timeout(self, bite: _Bite, piece: _Piece) -> None:
        bite.touched = trio.current_time()
        self.bit(bite)

    async def reset_peer(self, bite: _Bite, piece: _Piece) -> None:
        await trio.sleep(bite.of("timeout") / 1000)
        self.bit(bite)
        self._way.end(by_reset=bite.resets)
        raise _Over

    async def slicer(self, bite: _Bite, piece: _Piece) -> None:
        for data in self._sliced(piece.data, max(1, bite.of("average_size")), bite.of("size_variation")):
            if len(data) < len(piece.data):
                self.bit(bite)
            await self.through(_Piece(data, piece.at), bite.order)
            await bite.rest(bite.of("delay") / 1e6)

    def _sliced(self, data: bytes, average: int, variation: int) -> list[bytes]:
        if len(data) - average <= variation:
            return [data]
        middle = len(data) // 2 + (self._way.draw.randrange(2 * variation) - variation if variation else 0)
        middle = min(max(1, middle), len(data) - 1)
        return [*self._sliced(data[:middle], average, variation), *self._sliced(data[middle:], average, variation)]

    async def limit_data(self, bite: _Bite, piece: _Piece) -> None:
        data = piece.data[: max(0, bite.of("bytes") - bite.passed)]
        bite.passed += len(data)
        await self.through(_Piece(data, piece.at), bite.order)
        if bite.passed >= bite.of("bytes"):
            self.bit(bite)
            raise _Over


_ACTS: Final[Mapping[str, Callable[[_Flow, _Bite, _Piece], Awaitable[None]]]] = {
    kind: getattr(_Flow, kind) for kind in ("latency", "bandwidth", "slow_close", "timeout", "reset_peer", "slicer", "limit_data")
}
