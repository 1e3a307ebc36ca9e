"""Faults on the frames of one tapped connection: ask the filter, build the fault's own answer, prove what was done.

The stages of receipts are those of the reference coordinator (`coordinator.interception`), but that a duplicate counts as delivered when the
broker has answered the second request too: when it takes a request up is not seen from here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.tap.groups_in_frames import Insight
from groupproof.harness.subjects.tap.open_requests import Entry
from groupproof.protocol.faults import Answer, Corrupt, Fault, Frame, Move, corrupted
from groupproof.protocol.wire.error_responses import refusal
from groupproof.protocol.wire.message_codec import WireRequest, write_response

__all__ = ["MoveGroup", "Striking", "answer_columns"]

Body = Mapping[str, Any]


MoveGroup = Callable[[str, Move], Awaitable[None]]
"""Moves a group's coordinator; raises `BrokenEnvironment` where it won't go."""


class Striking:
    """The faults of one tap; frames that cannot be read are never struck."""

    def __init__(self, interception: Interception, insight: Insight, mover: MoveGroup | None = None) -> None:
        self.interception = interception
        self._insight = insight
        self._mover = mover

    def on_request(self, entry: Entry) -> Fault | None:
        """Return the fault that strikes a request which is about to go on to the broker."""
        return self._struck(entry, "request", entry.columns)

    def on_response(self, entry: Entry, told: Body) -> Fault | None:
        """Return the fault that strikes an answer which is about to leave; `told` are the columns of its observation."""
        return self._struck(entry, "response", answer_columns(entry, told))

    def own_answer(self, fault: Fault, entry: Entry, said: Body | None = None) -> dict[str, Any] | None:
        """Return the fault's answer; None, with a receipt that says why, where the API's version cannot say it.

        Code 0 on an answer keeps what was `said`, so that `body` can change single fields of it.
        """
        wire, action = entry.passing.wire, fault.action
        assert wire is not None
        assert isinstance(action, Answer)
        base = said if said is not None and action.error_code == 0 else refusal(wire.api, wire.body, action.error_code, wire.version)
        body = {**base, **action.body}
        try:
            write_response(wire.api, wire.version, wire.correlation, body)
        except ValueError as error:
            self.receipt(fault, "failed", entry, why=str(error))
            return None
        return body

    def passed(self, entry: Entry, direction: str) -> None:
        """Take note that a frame goes on, for what waits for that on other connections."""
        wire = entry.passing.wire
        if wire is not None:
            self.interception.passed(wire.api.title, direction)

    def spoilt(self, fault: Fault, entry: Entry, payload: bytes, direction: str) -> bytes | None:
        """Return the frame as the fault corrupts it; None, with a receipt that says why, where it has no body."""
        assert isinstance(fault.action, Corrupt)
        changed = corrupted(payload, fault.action, direction)
        if changed is None:
            self.receipt(fault, "failed", entry, why="the frame has no body")
        return changed

    async def move(self, fault: Fault, entry: Entry) -> None:
        """Move the coordinator of the frame's group, before the frame goes on."""
        action, group = fault.action, entry.columns.get("group")
        assert isinstance(action, Move)
        if self._mover is None or group is None:
            why = "the frame names no group" if group is None else "a tap moves no coordinator"
            self.receipt(fault, "failed", entry, why=why)
            return
        try:
            await self._mover(group, action)
        except BrokenEnvironment as error:
            self.receipt(fault, "failed", entry, why=str(error))
        else:
            self.receipt(fault, "delivered", entry)

    def receipt(self, fault: Fault, stage: str, entry: Entry, **body: Any) -> None:
        self.interception.receipt(fault, stage, entry.columns, body=body)

    def _struck(self, entry: Entry, direction: str, columns: Body) -> Fault | None:
        wire = entry.passing.wire
        if wire is None or not self.interception.wants(wire.api.title, direction):
            return None
        return self.interception.strike(self._frame(wire, direction, columns), columns)

    def _frame(self, wire: WireRequest, direction: str, columns: Body) -> Frame:
        group, member, generation = columns.get("group"), columns.get("member"), columns.get("generation")
        return Frame(
            api=wire.api.title, direction=direction, client=wire.client_id or "", group=group, member=member, instance=columns.get("instance"),
            generation=self._insight.generation(group) if generation is None else generation, role=self._insight.role(group, member),
            state=self._insight.state(group), node=columns.get("node"), connection=columns.get("connection"), error=columns.get("error"),
        )  # fmt: skip


def answer_columns(entry: Entry, told: Body) -> dict[str, Any]:
    """Return what names an answer in a receipt: who asked, and what the answer says of it."""
    return {**entry.columns, **{name: told[name] for name in ("member", "generation", "error") if name in told}}
