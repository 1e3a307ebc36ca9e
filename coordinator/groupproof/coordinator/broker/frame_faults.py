"""Faults on the frames of one connection: ask the filter, perform the action, record the receipt.

A fault acts on a request just before the broker processes it, and on an answer just before it is sent. `interception` describes the stages of
receipts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from groupproof.protocol.faults import Answer, Corrupt, Cut, Drop, Duplicate, Frame, Hold, Move, Reorder, Silence, corrupted
from groupproof.protocol.wire.error_responses import refusal
from groupproof.protocol.wire.message_codec import WireError, read_request, write_request, write_response

if TYPE_CHECKING:
    from groupproof.coordinator.broker.broker import Broker
    from groupproof.coordinator.broker.interception import Interception
    from groupproof.coordinator.machine.incoming_request import IncomingRequest
    from groupproof.protocol.faults import Fault
    from groupproof.protocol.wire.message_codec import WireRequest

__all__ = ["AppliedFault", "ConnectionFaults", "ConnectionSevered", "FrameFaults", "KnownGroup", "assigned_count"]

Body = Mapping[str, Any]


class ConnectionSevered(Exception):
    """A fault has ended the connection. `str()` is the reason."""


class FaultedConnection(Protocol):
    """The part of a connection that a fault uses."""

    def waits(self, reason: str) -> AbstractContextManager[None]: ...

    async def close(self, reason: str, by: str = ..., *, reset: bool = False) -> None: ...


@dataclass(slots=True)
class AppliedFault:
    """A fault that acts on a frame. `answers` says that it sends an answer of its own, which is delivered when the peer receives it."""

    fault: Fault
    columns: Mapping[str, Any]
    answers: bool = False

    @property
    def repeats(self) -> bool:
        return isinstance(self.fault.action, Duplicate)

    @property
    def drops(self) -> bool:
        return isinstance(self.fault.action, Drop)


class KnownGroup(NamedTuple):
    """The state of a frame's group when the fault acts. `role` is the member's: leader or follower."""

    generation: int | None = None
    role: str | None = None
    state: str | None = None


class FrameFaults:
    """The fault actions that broker and tap share: they ask the filter and record receipts."""

    def __init__(self, interception: Interception) -> None:
        self.interception = interception

    def fault_on(self, wire: WireRequest, direction: str, columns: Body, group: KnownGroup, assigned: int | None = None) -> Fault | None:
        """Return the fault that acts on a frame with these columns. `assigned`: how many partitions it assigns."""
        generation = columns.get("generation")
        frame = Frame(
            api=wire.api.title, direction=direction, client=wire.client_id or "", group=columns.get("group"), member=columns.get("member"),
            instance=columns.get("instance"), generation=group.generation if generation is None else generation, member_epoch=columns.get("member_epoch"),
            role=group.role, state=group.state, node=columns.get("node"), connection=columns.get("connection"), error=columns.get("error"),
            assigned=assigned,
        )  # fmt: skip
        return self.interception.fault_for(frame, columns)

    def own_answer(self, fault: Fault, wire: WireRequest, version: int, columns: Body, answer: Body | None) -> dict[str, Any] | None:
        """Return the fault's answer. Where the API's version cannot express it, record a `failed` receipt and return None.

        Code 0 on an answer keeps the original `answer`, so that `body` can change single fields.
        """
        action = fault.action
        assert isinstance(action, Answer)
        base = answer if answer is not None and action.error_code == 0 else refusal(wire.api, wire.body, action.error_code, version)
        body = {**base, **action.body}
        try:
            write_response(wire.api, version, wire.correlation, body)
        except ValueError as error:
            self.failed(fault, columns, str(error))
            return None
        return body

    def corrupted(self, fault: Fault, payload: bytes, direction: str, columns: Body) -> bytes | None:
        """Return the frame as the fault corrupts it. Where it has no body, record a `failed` receipt and return None."""
        assert isinstance(fault.action, Corrupt)
        changed = corrupted(payload, fault.action, direction)
        if changed is None:
            self.failed(fault, columns, "the frame has no body")
        return changed

    def failed(self, fault: Fault, columns: Body, why: str) -> None:
        self.interception.receipt(fault, "failed", columns, body={"why": why})

    def delivered(self, fault: Fault, columns: Body) -> None:
        self.interception.receipt(fault, "delivered", columns)


def assigned_count(answer: Body) -> int | None:
    """Return how many partitions an answer assigns; None where it says nothing of them. `answer` are the columns of its observation."""
    partitions = answer.get("partitions")
    return None if partitions is None else len(partitions)


class ConnectionFaults(FrameFaults):
    """The faults on one connection's frames."""

    def __init__(self, broker: Broker, line: FaultedConnection) -> None:
        super().__init__(broker.interception)
        self._broker = broker
        self._line = line

    def on_request(self, arrived: IncomingRequest) -> AppliedFault | None:
        """Return the fault that acts on a request that is about to be processed."""
        if not self.interception.wants(arrived.wire.api.title, "request"):
            return None
        return self._applied_fault(arrived, "request", arrived.columns)

    def on_response(self, arrived: IncomingRequest, answer: Mapping[str, Any]) -> AppliedFault | None:
        """Return the fault that acts on an answer that is about to be sent. `answer` are the columns of its observation."""
        if not self.interception.wants(arrived.wire.api.title, "response"):
            return None
        columns = {**arrived.columns, **{name: answer[name] for name in ("member", "generation", "error") if name in answer}}
        return self._applied_fault(arrived, "response", columns, assigned_count(answer))

    async def before_processing(self, fault: AppliedFault, arrived: IncomingRequest) -> Body | None:
        """Perform a fault on a request; return the answer that replaces the broker's, None where the request continues."""
        action = fault.fault.action
        if isinstance(action, Answer):
            return self._answer(fault, arrived, None)
        if not isinstance(action, Duplicate):
            await self._perform(fault, arrived)
        return None

    async def before_sending(self, fault: AppliedFault, arrived: IncomingRequest, answer: Body) -> Body:
        """Perform a fault on an answer; return the body to send."""
        action = fault.fault.action
        if isinstance(action, Answer):
            return self._answer(fault, arrived, answer) or answer
        if isinstance(action, Duplicate):
            self.failed(fault.fault, fault.columns, "an answer cannot be duplicated, only a request")
            return answer
        await self._perform(fault, arrived)
        return answer

    def altered(self, fault: AppliedFault, arrived: IncomingRequest) -> IncomingRequest:
        """Return the request as the fault corrupts it; raise `ConnectionSevered` where it becomes unreadable: Kafka ends the connection then."""
        wire = arrived.wire
        if not isinstance(fault.fault.action, Corrupt):
            return arrived
        written = write_request(wire.api, wire.version, wire.correlation, wire.client_id, wire.body)
        payload = self.corrupted(fault.fault, written, "request", fault.columns)
        if payload is None:
            return arrived
        self.delivered(fault.fault, fault.columns)
        try:
            return arrived._replace(wire=read_request(payload))
        except WireError as error:
            raise ConnectionSevered(str(error)) from error

    def corrupted_answer(self, fault: AppliedFault | None, payload: bytes) -> bytes:
        """Return an answer's bytes, corrupted where the fault does so."""
        if fault is None or not isinstance(fault.fault.action, Corrupt):
            return payload
        changed = self.corrupted(fault.fault, payload, "response", fault.columns)
        fault.answers = changed is not None
        return payload if changed is None else changed

    def passed(self, arrived: IncomingRequest, direction: str) -> None:
        """Record that a frame passes, for reordered frames on other connections."""
        self.interception.passed(arrived.wire.api.title, direction)

    def processed_twice(self, fault: AppliedFault) -> None:
        """Record the receipt that the broker processed the request twice."""
        self.delivered(fault.fault, fault.columns)

    def sent(self, applied_faults: Iterable[AppliedFault], failure: str = "") -> None:
        """Record whether the peer received the answers of faults. `failure` is the reason where it did not."""
        for fault in applied_faults:
            if fault.answers and failure:
                self.interception.unreceived(fault.fault, fault.columns, failure)
            elif fault.answers:
                self.delivered(fault.fault, fault.columns)

    def _applied_fault(self, arrived: IncomingRequest, direction: str, columns: Body, assigned: int | None = None) -> AppliedFault | None:
        facts = self._group_facts(columns.get("group"), columns.get("member"))
        fault = self.fault_on(arrived.wire, direction, columns, facts, assigned)
        return None if fault is None else AppliedFault(fault, columns)

    def _group_facts(self, group: str | None, member: str | None) -> KnownGroup:
        view = None if group is None else self._broker.coordinators.view(group)
        if view is None:
            return KnownGroup()
        is_member = any(member == member_view.member_id for member_view in view.members)
        role = ("leader" if member == view.leader else "follower") if is_member else None
        return KnownGroup(view.generation, role, view.state.value)

    async def _perform(self, applied: AppliedFault, arrived: IncomingRequest) -> None:
        """Perform the actions that are the same in both directions."""
        fault, action = applied.fault, applied.fault.action
        if isinstance(action, Hold):
            with self._line.waits("fault"):
                await self.interception.hold(fault, action.ms, applied.columns)
        elif isinstance(action, Silence):
            with self._line.waits("fault"):
                await self.interception.silence(fault, applied.columns)
        elif isinstance(action, Reorder):
            with self._line.waits("fault"):
                await self.interception.reorder(fault, action.ms, applied.columns)
        elif isinstance(action, Drop):
            self.delivered(fault, applied.columns)
        elif isinstance(action, Cut):
            reason = f"fault {fault.name} cut it"
            await self._line.close(reason, "fault", reset=action.reset)
            self.delivered(fault, applied.columns)
            raise ConnectionSevered(reason)
        elif isinstance(action, Move):
            self._move(applied, action, arrived)

    def _move(self, fault: AppliedFault, action: Move, arrived: IncomingRequest) -> None:
        group = arrived.columns.get("group")
        why = "the frame names no group" if group is None else self._broker.coordinators.move_group(group, action)
        if why is None:
            self.interception.receipt(fault.fault, "delivered", fault.columns, body={"to": self._broker.coordinators.owner_of(str(group))})
        else:
            self.failed(fault.fault, fault.columns, why)

    def _answer(self, fault: AppliedFault, arrived: IncomingRequest, answer: Body | None) -> Body | None:
        body = self.own_answer(fault.fault, arrived.wire, arrived.answer_version, fault.columns, answer)
        fault.answers = body is not None
        return body
