"""Faults on the frames of one tapped connection: select the fault, build its own answer, write the receipts.

The stages of receipts are those of the reference coordinator (`coordinator.interception`), with one exception. A duplicate counts as delivered when
the broker has answered the second request too, because the tap does not see when the broker processes a request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from groupproof.coordinator.broker.frame_faults import FrameFaults, KnownGroup, assigned_count
from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.tap.groups_in_frames import GroupsInFrames
from groupproof.harness.subjects.tap.open_requests import Entry
from groupproof.protocol.faults import Fault, Move

__all__ = ["MoveGroup", "TapFaults", "answer_columns"]

Body = Mapping[str, Any]


MoveGroup = Callable[[str, Move], Awaitable[None]]
"""Moves a group's coordinator. Raises `BrokenEnvironment` where that fails."""


class TapFaults(FrameFaults):
    """The faults of one tap. They never act on unreadable frames."""

    def __init__(self, interception: Interception, groups: GroupsInFrames, mover: MoveGroup | None = None) -> None:
        super().__init__(interception)
        self._groups = groups
        self._mover = mover

    def on_request(self, entry: Entry) -> Fault | None:
        """Return the fault that acts on a request before it goes on to the broker, or None."""
        return self._fault_for(entry, "request", entry.columns)

    def on_response(self, entry: Entry, answer: Body) -> Fault | None:
        """Return the fault that acts on an answer before it is sent, or None. `answer` are the columns of its observation."""
        return self._fault_for(entry, "response", answer_columns(entry, answer), assigned_count(answer))

    def answer(self, fault: Fault, entry: Entry, broker_answer: Body | None = None) -> dict[str, Any] | None:
        """Return the fault's own answer to a request. Return None where its version cannot express it."""
        wire = entry.passing.wire
        assert wire is not None
        return self.own_answer(fault, wire, wire.version, entry.columns, broker_answer)

    def passed(self, entry: Entry, direction: str) -> None:
        """Record that a frame goes on, for frames of other connections that wait for it."""
        wire = entry.passing.wire
        if wire is not None:
            self.interception.passed(wire.api.title, direction)

    async def move(self, fault: Fault, entry: Entry) -> None:
        """Move the coordinator of the frame's group, before the frame goes on."""
        action, group = fault.action, entry.columns.get("group")
        assert isinstance(action, Move)
        if self._mover is None or group is None:
            why = "the frame names no group" if group is None else "a tap cannot move a coordinator"
            self.failed(fault, entry.columns, why)
            return
        try:
            await self._mover(group, action)
        except BrokenEnvironment as error:
            self.failed(fault, entry.columns, str(error))
        else:
            self.delivered(fault, entry.columns)

    def _fault_for(self, entry: Entry, direction: str, columns: Body, assigned: int | None = None) -> Fault | None:
        wire = entry.passing.wire
        if wire is None or not self.interception.wants(wire.api.title, direction):
            return None
        group, groups = columns.get("group"), self._groups
        facts = KnownGroup(groups.generation(group), groups.role(group, columns.get("member")), groups.state(group))
        return self.fault_on(wire, direction, columns, facts, assigned)


def answer_columns(entry: Entry, answer: Body) -> dict[str, Any]:
    """Return the columns that identify an answer in a receipt: those of its request, and its own."""
    return {**entry.columns, **{name: answer[name] for name in ("member", "generation", "error") if name in answer}}
