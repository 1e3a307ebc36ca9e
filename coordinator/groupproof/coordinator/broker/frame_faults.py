"""Faults on the frames of one connection: ask the filter, perform the action, prove it.

A fault acts on a request just before the broker would process it, and on an answer just before it would leave. Every stage of the
receipts is described in `interception`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from groupproof.coordinator.broker.broker import Broker
from groupproof.coordinator.machine.incoming_request import IncomingRequest
from groupproof.protocol.faults import Answer, Corrupt, Cut, Drop, Duplicate, Fault, Frame, Hold, Move, Reorder, Silence, corrupted
from groupproof.protocol.wire.error_responses import refusal
from groupproof.protocol.wire.message_codec import WireError, read_request, write_request, write_response

__all__ = ["Severed", "Strikes", "Struck"]

Body = Mapping[str, Any]


class Severed(Exception):
    """A fault has ended the connection; `str()` is the reason."""


class Line(Protocol):
    """What a fault needs of a connection."""

    def waits(self, what: str) -> AbstractContextManager[None]: ...

    async def close(self, reason: str, by: str = ..., *, reset: bool = False) -> None: ...


@dataclass(slots=True)
class Struck:
    """A fault that struck a frame; `answers` once it has given an answer of its own, which counts as delivered when it is taken."""

    fault: Fault
    columns: Mapping[str, Any]
    answers: bool = False

    @property
    def repeats(self) -> bool:
        return isinstance(self.fault.action, Duplicate)

    @property
    def drops(self) -> bool:
        return isinstance(self.fault.action, Drop)


class Strikes:
    """The faults of one connection's frames."""

    def __init__(self, broker: Broker, line: Line) -> None:
        self._broker = broker
        self._line = line
        self._interception = broker.interception

    def on_request(self, arrived: IncomingRequest) -> Struck | None:
        """Return the fault that strikes a request which is about to be processed."""
        if not self._interception.wants(arrived.wire.api.title, "request"):
            return None
        return self._strike(self._frame(arrived, "request", arrived.columns), arrived.columns)

    def on_response(self, arrived: IncomingRequest, answer: Mapping[str, Any]) -> Struck | None:
        """Return the fault that strikes an answer which is about to leave; `answer` are the columns of its observation."""
        if not self._interception.wants(arrived.wire.api.title, "response"):
            return None
        columns = {**arrived.columns, **{name: answer[name] for name in ("member", "generation", "error") if name in answer}}
        return self._strike(self._frame(arrived, "response", columns), columns)

    async def before_processing(self, struck: Struck, arrived: IncomingRequest) -> Body | None:
        """Perform a fault on a request; return the answer to give in the broker's stead, None where the request goes on."""
        action = struck.fault.action
        if isinstance(action, Answer):
            return self._own_answer(struck, action, arrived, None)
        if not isinstance(action, Duplicate):
            await self._perform(struck, arrived)
        return None

    async def before_sending(self, struck: Struck, arrived: IncomingRequest, said: Body) -> Body:
        """Perform a fault on an answer; return what is sent."""
        action = struck.fault.action
        if isinstance(action, Answer):
            return self._own_answer(struck, action, arrived, said) or said
        if isinstance(action, Duplicate):
            self._interception.receipt(struck.fault, "failed", struck.columns, body={"why": "an answer cannot be duplicated, only a request"})
            return said
        await self._perform(struck, arrived)
        return said

    def altered(self, struck: Struck, arrived: IncomingRequest) -> IncomingRequest:
        """Return the request as a fault has corrupted it; raise `Severed` where nobody can read it any more, as Kafka ends a connection then."""
        action, wire = struck.fault.action, arrived.wire
        if not isinstance(action, Corrupt):
            return arrived
        payload = corrupted(write_request(wire.api, wire.version, wire.correlation, wire.client_id, wire.body), action, "request")
        if payload is None:
            self._interception.receipt(struck.fault, "failed", struck.columns, body={"why": "the frame has no body"})
            return arrived
        self._interception.receipt(struck.fault, "delivered", struck.columns)
        try:
            return replace(arrived, wire=read_request(payload))
        except WireError as error:
            raise Severed(str(error)) from error

    def spoilt(self, struck: Struck | None, payload: bytes) -> bytes:
        """Return an answer's bytes as they leave."""
        if struck is None or not isinstance(struck.fault.action, Corrupt):
            return payload
        changed = corrupted(payload, struck.fault.action, "response")
        if changed is None:
            self._interception.receipt(struck.fault, "failed", struck.columns, body={"why": "the frame has no body"})
            return payload
        struck.answers = True
        return changed

    def passed(self, arrived: IncomingRequest, direction: str) -> None:
        """Take note that a frame goes on, for what waits for that on other connections."""
        self._interception.passed(arrived.wire.api.title, direction)

    def taken_up_twice(self, struck: Struck) -> None:
        """Prove that the broker took the request up twice."""
        self._interception.receipt(struck.fault, "delivered", struck.columns)

    def sent(self, strikes: Iterable[Struck], failure: str = "") -> None:
        """Prove, or disprove, that the peer took the answers that faults gave; `failure` says what came between."""
        for struck in strikes:
            if struck.answers and failure:
                self._interception.unreceived(struck.fault, struck.columns, failure)
            elif struck.answers:
                self._interception.receipt(struck.fault, "delivered", struck.columns)

    def _strike(self, frame: Frame, columns: Mapping[str, Any]) -> Struck | None:
        fault = self._interception.strike(frame, columns)
        return None if fault is None else Struck(fault, columns)

    def _frame(self, arrived: IncomingRequest, direction: str, columns: Mapping[str, Any]) -> Frame:
        group, member, generation = columns.get("group"), columns.get("member"), columns.get("generation")
        view = None if group is None else self._broker.coordinators.view(group)
        role = None
        if view is not None:
            generation = view.generation if generation is None else generation
            if any(member == each.member_id for each in view.members):
                role = "leader" if member == view.leader else "follower"
        return Frame(
            api=arrived.wire.api.title, direction=direction, client=arrived.wire.client_id or "", group=group, member=member,
            instance=columns.get("instance"), generation=generation, role=role, state=None if view is None else view.state.value,
            node=self._broker.node_id, connection=columns["connection"], error=columns.get("error"),
        )  # fmt: skip

    async def _perform(self, struck: Struck, arrived: IncomingRequest) -> None:
        """Perform what is the same in both directions."""
        fault, action = struck.fault, struck.fault.action
        if isinstance(action, Hold):
            with self._line.waits("fault"):
                await self._interception.hold(fault, action.ms, struck.columns)
        elif isinstance(action, Silence):
            with self._line.waits("fault"):
                await self._interception.silence(fault, struck.columns)
        elif isinstance(action, Reorder):
            with self._line.waits("fault"):
                await self._interception.reorder(fault, action.ms, struck.columns)
        elif isinstance(action, Drop):
            self._interception.receipt(fault, "delivered", struck.columns)
        elif isinstance(action, Cut):
            reason = f"fault {fault.name} cut it"
            await self._line.close(reason, "fault", reset=action.reset)
            self._interception.receipt(fault, "delivered", struck.columns)
            raise Severed(reason)
        elif isinstance(action, Move):
            self._move(struck, action, arrived)

    def _move(self, struck: Struck, action: Move, arrived: IncomingRequest) -> None:
        group = arrived.columns.get("group")
        why = "the frame names no group" if group is None else self._broker.coordinators.move_group(group, action)
        if why is None:
            self._interception.receipt(struck.fault, "delivered", struck.columns, body={"to": self._broker.coordinators.owner_of(str(group))})
        else:
            self._interception.receipt(struck.fault, "failed", struck.columns, body={"why": why})

    def _own_answer(self, struck: Struck, action: Answer, arrived: IncomingRequest, said: Body | None) -> Body | None:
        """Return the fault's answer; None, with a receipt that says why, where the API's version cannot say it.

        Code 0 on an answer keeps what was said, so that `body` can change single fields of it.
        """
        wire = arrived.wire
        base = said if said is not None and action.error_code == 0 else refusal(wire.api, wire.body, action.error_code, arrived.answer_version)
        body = {**base, **action.body}
        try:
            write_response(wire.api, arrived.answer_version, wire.correlation, body)
        except ValueError as error:
            self._interception.receipt(struck.fault, "failed", struck.columns, body={"why": str(error)})
            return None
        struck.answers = True
        return body
