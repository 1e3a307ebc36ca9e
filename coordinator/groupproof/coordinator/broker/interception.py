"""The faults of one cluster: finds the frames that they act on, holds frames, and records receipts.

The frame filter (protocol/faults.py) decides; the connection performs; this module has the state between them. Receipts are observations of kind
`fault`. Their stage is in `detail` and in `body["stage"]`:

* armed: from now on the filter counts frames for the fault;
* triggered: the fault acts on a frame (the columns identify it);
* delivered: the fault took effect. A hold, a silence or a reordering: the frame is withheld from an open connection. A cut: the connection is closed.
  A move: the coordinator is on another node. A duplicate: the coordinator processed the request twice. A drop: the frame goes no further. An answer,
  or a corrupted frame: the peer received its bytes, even if it then closed the connection in order, or its application reported the code;
* released: `body["held"]` frames continue, because of a release, because the hold's time was over, or because another frame has passed
  (`body["by"]`);
* healed: the fault is disarmed, and the frames that it held continue;
* failed: the fault could not be performed, for the reason in `body["why"]`. Either the frame is unchanged, or the peer was gone before the fault's
  answer could reach it. In the second case the fault acts on the next match instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trio

from groupproof.protocol.faults import Fault, Frame, FrameFilter
from groupproof.protocol.trace import Recorder

__all__ = ["Interception"]


class _Hold:
    """The gate at which the frames of one fault wait."""

    def __init__(self) -> None:
        self.opened = trio.Event()
        self.held = 0


class Interception:
    """Arms, applies, holds and releases faults. Unknown names raise `KeyError`, a name that is armed twice `ValueError`."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._filter = FrameFilter()
        self._armed: dict[str, Fault] = {}
        self._holds: dict[str, _Hold] = {}
        self._silences: dict[str, _Hold] = {}
        self._reorders: dict[str, _Hold] = {}
        self._given_back: set[str] = set()
        self.is_idle = True
        """Whether no fault is armed."""

    def wants(self, api: str, direction: str) -> bool:
        """Return whether any fault selects frames of this API and direction. Without one, the caller need not describe the frame."""
        return any(fault.selector.api == api and fault.selector.direction == direction for fault in self._armed.values())

    def heeds(self, api: str) -> bool:
        """Return whether any fault selects frames of this API, in either direction."""
        return any(fault.selector.api == api for fault in self._armed.values())

    def arm(self, fault: Fault) -> None:
        self._filter.arm(fault)
        self._armed[fault.name] = fault
        self.is_idle = False
        self.receipt(fault, "armed")

    def release(self, name: str) -> None:
        """Release the frames that `name` holds. The fault stays armed."""
        fault = self._armed[name]
        held = self._open(self._holds, name) + self._open(self._reorders, name)
        self.receipt(fault, "released", body={"held": held, "by": "release"})

    def heal(self, name: str) -> None:
        """Disarm `name` and release the frames that it holds. Healing twice is no error."""
        fault = self._armed.pop(name, None)
        self.is_idle = not self._armed
        self._filter.disarm(name)
        held = sum(self._open(gates, name) for gates in (self._holds, self._silences, self._reorders))
        if fault is not None:
            self.receipt(fault, "healed", body={"held": held})

    def fault_for(self, frame: Frame, columns: Mapping[str, Any]) -> Fault | None:
        """Return the fault that acts on `frame` and record its `triggered` receipt."""
        fault = self._filter.match(frame)
        if fault is not None:
            self.receipt(fault, "triggered", columns)
        return fault

    def unreceived(self, fault: Fault, columns: Mapping[str, Any], why: str) -> None:
        """Record that the fault's answer reached nobody. The fault acts on the next matching frame instead."""
        self._filter.give_back(fault.name)
        self._given_back.add(fault.name)
        self.receipt(fault, "failed", columns, body={"why": why})

    def record_event(self, name: str, columns: Mapping[str, Any]) -> None:
        """Record that the application reported the fault's answer: it was received, no matter what happened to the connection."""
        if name not in self._armed:
            return
        if name in self._given_back:
            self._given_back.discard(name)
            self._filter.take_back(name)
        self.receipt(self._armed[name], "delivered", columns, body={"by": "application"})

    async def hold(self, fault: Fault, ms: int | None, columns: Mapping[str, Any]) -> None:
        """Withhold the frame until `fault` is released or healed, or for `ms`."""
        with trio.move_on_after(float("inf") if ms is None else ms / 1000) as waited:
            await self._wait(self._holds, fault, columns)
        if waited.cancelled_caught:
            self.receipt(fault, "released", columns, body={"held": 1, "by": "time", "after_ms": ms})

    async def reorder(self, fault: Fault, ms: int | None, columns: Mapping[str, Any]) -> None:
        """Withhold the frame until a frame of the same kind has passed on another connection, or for `ms`."""
        with trio.move_on_after(float("inf") if ms is None else ms / 1000) as waited:
            await self._wait(self._reorders, fault, columns)
        if waited.cancelled_caught:
            self.receipt(fault, "released", columns, body={"held": 1, "by": "time", "after_ms": ms})

    def passed(self, api: str, direction: str) -> None:
        """Record that such a frame passes, and release the reordered frames behind it.

        They are on other connections: on its own, a held frame blocks later ones.
        """
        for name, gate in list(self._reorders.items()):
            selector = self._armed[name].selector
            if gate.held and (selector.api, selector.direction) == (api, direction):
                self.receipt(self._armed[name], "released", body={"held": self._open(self._reorders, name), "by": "passing"})

    async def silence(self, fault: Fault, columns: Mapping[str, Any]) -> None:
        """Withhold the frame until `fault` is healed."""
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
        """Record one receipt. `columns` are those of the frame."""
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
