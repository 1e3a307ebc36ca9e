"""Faults on the frames of one tapped connection: ask the filter, build the fault's own answer, prove what was done.

The stages of receipts are those of the reference coordinator (`coordinator.interception`), but that a duplicate counts as delivered when the
broker has answered the second request too: when it takes a request up is not seen from here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from groupproof.coordinator.broker.frame_faults import FrameFaults, KnownGroup
from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.tap.groups_in_frames import GroupsInFrames
from groupproof.harness.subjects.tap.open_requests import Entry
from groupproof.protocol.faults import Fault, Move

__all__ = ["MoveGroup", "TapFaults", "answer_columns"]

Body = Mapping[str, Any]


MoveGroup = Callable[[str, Move], Awaitable[None]]
"""Moves a group's coordinator; raises `BrokenEnvironment` where it won't go."""


class TapFaults(FrameFaults):
    """The faults of one tap; frames that cannot be read are never took effect."""

    def __init__(self, interception: Interception, groups: GroupsInFrames, mover: MoveGroup | None = None) -> None:
        super().__init__(interception)
        self._groups = groups
        self._mover = mover

    def on_request(self, entry: Entry) -> Fault | None:
        """Return the fault that strikes a request which is about to go on to the broker."""
        return self._fault_for(entry, "request", entry.columns)

    def on_response(self, entry: Entry, answer: Body) -> Fault | None:
        """Return the fault that strikes an answer which is about to leave; `told` are the columns of its observation."""
        return self._fault_for(entry, "response", answer_columns(entry, answer))

    def answer(self, fault: Fault, entry: Entry, broker_answer: Body | None = None) -> dict[str, Any] | None:
        """Return the fault's own answer to a request, None where its version can't say it."""
        wire = entry.passing.wire
        assert wire is not None
        return self.own_answer(fault, wire, wire.version, entry.columns, broker_answer)

    def passed(self, entry: Entry, direction: str) -> None:
        """Take note that a frame goes on, for what waits for that on other connections."""
        wire = entry.passing.wire
        if wire is not None:
            self.interception.passed(wire.api.title, direction)

    async def move(self, fault: Fault, entry: Entry) -> None:
        """Move the coordinator of the frame's group, before the frame goes on."""
        action, group = fault.action, entry.columns.get("group")
        assert isinstance(action, Move)
        if self._mover is None or group is None:
            why = "the frame names no group" if group is None else "a tap moves no coordinator"
            self.failed(fault, entry.columns, why)
            return
        try:
            await self._mover(group, action)
        except BrokenEnvironment as error:
            self.failed(fault, entry.columns, str(error))
        else:
            self.delivered(fault, entry.columns)

    def _fault_for(self, entry: Entry, direction: str, columns: Body) -> Fault | None:
        wire = entry.passing.wire
        if wire is None or not self.interception.wants(wire.api.title, direction):
            return None
        group, groups = columns.get("group"), self._groups
        facts = KnownGroup(groups.generation(group), groups.role(group, columns.get("member")), groups.state(group))
        return self.struck(wire, direction, columns, facts)


def answer_columns(entry: Entry, answer: Body) -> dict[str, Any]:
    """Return what names an answer in a receipt: who asked, and what the answer says of it."""
    return {**entry.columns, **{name: answer[name] for name in ("member", "generation", "error") if name in answer}}
