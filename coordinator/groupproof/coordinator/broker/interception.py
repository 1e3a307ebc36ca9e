"""The faults of one cluster: which frame each one acts on, which frames are held, and the receipts that prove it.

The frame filter (protocol/faults.py) decides; the connection performs; here is the state between them. Receipts are observations of
kind `fault`; their stage stands in `detail` and in `body["stage"]`:

* armed: from now on the filter counts frames for it;
* triggered: a frame was struck (the columns say which);
* delivered: it took effect. A hold, a silence or a reordering: the frame is withheld from an open connection. A cut: the connection is closed.
  A move: the coordinator is elsewhere. A duplicate: the coordinator took the request up twice. A drop: the frame goes no further. An answer, or
  a frame that was corrupted: the peer took its bytes, be it that it hung up in order thereafter, or its application told of the code;
* released: `body["held"]` frames go on, because someone said so, because the hold's time was over, or because another frame has passed
  (`body["by"]`);
* healed: disarmed, and what it held goes on;
* failed: it could not be performed, and `body["why"]` says why. Then nothing was done to the frame, or the peer was gone before the
  fault's answer could reach it: such a fault strikes the next match instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trio

from groupproof.protocol.faults import Fault, Frame, FrameFilter
from groupproof.protocol.trace import Recorder

__all__ = ["Interception"]


class _Hold:
    """The gate behind which the frames of one fault wait."""

    def __init__(self) -> None:
        self.opened = trio.Event()
        self.held = 0


class Interception:
    """Arms, strikes, holds and lets go; unknown names raise `KeyError`, a name armed twice `ValueError`."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._filter = FrameFilter()
        self._armed: dict[str, Fault] = {}
        self._holds: dict[str, _Hold] = {}
        self._silences: dict[str, _Hold] = {}
        self._reorders: dict[str, _Hold] = {}
        self._given_back: set[str] = set()
        self.is_idle = True
        """Whether no fault is armed at all."""

    def wants(self, api: str, direction: str) -> bool:
        """Tell whether any fault looks at such frames: without one nobody needs to describe them."""
        return any(fault.selector.api == api and fault.selector.direction == direction for fault in self._armed.values())

    def heeds(self, api: str) -> bool:
        """Tell whether any fault looks at such frames, of either direction."""
        return any(fault.selector.api == api for fault in self._armed.values())

    def arm(self, fault: Fault) -> None:
        self._filter.arm(fault)
        self._armed[fault.name] = fault
        self.is_idle = False
        self.receipt(fault, "armed")

    def release(self, name: str) -> None:
        """Let go the frames that `name` holds; it stays armed."""
        fault = self._armed[name]
        held = self._open(self._holds, name) + self._open(self._reorders, name)
        self.receipt(fault, "released", body={"held": held, "by": "release"})

    def heal(self, name: str) -> None:
        """Disarm `name` and let go what it holds; healing twice is no error."""
        fault = self._armed.pop(name, None)
        self.is_idle = not self._armed
        self._filter.disarm(name)
        held = sum(self._open(gates, name) for gates in (self._holds, self._silences, self._reorders))
        if fault is not None:
            self.receipt(fault, "healed", body={"held": held})

    def strike(self, frame: Frame, columns: Mapping[str, Any]) -> Fault | None:
        """Return the fault that strikes `frame`, with the receipt that it was triggered."""
        fault = self._filter.strike(frame)
        if fault is not None:
            self.receipt(fault, "triggered", columns)
        return fault

    def unreceived(self, fault: Fault, columns: Mapping[str, Any], why: str) -> None:
        """Record that the fault's answer reached nobody; the next matching frame is struck instead."""
        self._filter.give_back(fault.name)
        self._given_back.add(fault.name)
        self.receipt(fault, "failed", columns, body={"why": why})

    def record_event(self, name: str, columns: Mapping[str, Any]) -> None:
        """Record that the application has told of the answer that `name` gave: whatever became of the connection, it was taken."""
        if name not in self._armed:
            return
        if name in self._given_back:
            self._given_back.discard(name)
            self._filter.take_back(name)
        self.receipt(self._armed[name], "delivered", columns, body={"by": "application"})

    async def hold(self, fault: Fault, ms: int | None, columns: Mapping[str, Any]) -> None:
        """Wait until `fault` is released or healed, or for `ms`; the frame is withheld meanwhile."""
        with trio.move_on_after(float("inf") if ms is None else ms / 1000) as waited:
            await self._wait(self._holds, fault, columns)
        if waited.cancelled_caught:
            self.receipt(fault, "released", columns, body={"held": 1, "by": "time", "after_ms": ms})

    async def reorder(self, fault: Fault, ms: int | None, columns: Mapping[str, Any]) -> None:
        """Wait until a frame of the same kind has passed on another connection, or for `ms`; the frame is withheld meanwhile."""
        with trio.move_on_after(float("inf") if ms is None else ms / 1000) as waited:
            await self._wait(self._reorders, fault, columns)
        if waited.cancelled_caught:
            self.receipt(fault, "released", columns, body={"held": 1, "by": "time", "after_ms": ms})

    def passed(self, api: str, direction: str) -> None:
        """Take note that such a frame goes on: what waits for it goes on after it. It is another connection's, for on its own it keeps back what follows."""
        for name, gate in list(self._reorders.items()):
            selector = self._armed[name].selector
            if gate.held and (selector.api, selector.direction) == (api, direction):
                self.receipt(self._armed[name], "released", body={"held": self._open(self._reorders, name), "by": "passing"})

    async def silence(self, fault: Fault, columns: Mapping[str, Any]) -> None:
        """Wait until `fault` is healed."""
        await self._wait(self._silences, fault, columns)

    async def _wait(self, gates: dict[str, _Hold], fault: Fault, columns: Mapping[str, Any]) -> None:
        gate = gates.setdefault(fault.name, _Hold())
        gate.held += 1
        self.receipt(fault, "delivered", columns)
        try:
            await gate.opened.wait()
        finally:
            gate.held -= 1

    def receipt(self, fault: Fault, stage: str, columns: Mapping[str, Any] | None = None, *, body: Mapping[str, Any] | None = None) -> None:
        """Record one receipt; `columns` are those of the frame."""
        kept = {name: value for name, value in (columns or {}).items() if name not in ("body", "detail", "fault", "rule")}
        fields = {"stage": stage, "action": fault.action.kind, **(body or {})}
        self._recorder.record("fault", fault=fault.name, detail=stage, body=fields, **{"who": "coordinator", **kept})

    @staticmethod
    def _open(gates: dict[str, _Hold], name: str) -> int:
        gate = gates.pop(name, None)
        if gate is None:
            return 0
        gate.opened.set()
        return gate.held
