"""One client's connection to one broker: reads frames, processes one request at a time through the broker, and writes frames.

As in Kafka, the requests of a connection are processed in order, one at a time. A parked JoinGroup, a waiting Fetch or a held frame delays the
requests behind it. An error ends only this connection, with a reason in the trace and in the log.

On a socket, with no fault armed and no wait needed, a request is answered where it is read, without a switch of tasks. This lets a heartbeat cost a
fraction of a millisecond. Other requests go through a task, in the same order and with the same observations.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from groupproof.coordinator.broker.advertised_versions import refused_version
from groupproof.coordinator.broker.described_requests import columns_of, described
from groupproof.coordinator.broker.frame_faults import ConnectionFaults, ConnectionSevered
from groupproof.coordinator.broker.group_coordinators import Ticket
from groupproof.coordinator.broker.kept_answers import KeptAnswer, answer_columns
from groupproof.coordinator.broker.kept_frames import KEPT, KIND, KeptFrames
from groupproof.coordinator.broker.repeated_frames import HEARTBEATS, RepeatedFrame
from groupproof.coordinator.broker.request_queue import ConnectionEnd, Inbox, OpenRequest, Unread
from groupproof.coordinator.broker.sockets import Socket, close_stream, has_all
from groupproof.coordinator.broker.varied_connection import altered_answer, handle_unreadable_frame, stay_muted
from groupproof.coordinator.machine.incoming_request import IncomingRequest
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import (
    Framer,
    UnsupportedVersion,
    WireError,
    WireRequest,
    frame,
    read_request,
    write_answer,
    write_response,
)
from groupproof.protocol.wire.message_conversion import body_of
from groupproof.protocol.wire.observation_columns import response_columns

if TYPE_CHECKING:
    from groupproof.coordinator.broker.broker import Broker
    from groupproof.coordinator.broker.frame_faults import AppliedFault
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["SEND_S_MAX", "Connection"]

Body = Mapping[str, Any]

SEND_S_MAX = 30.0  # seconds within which a client must receive an answer

_READ_BYTES = 65536
_AT_ONCE_MAX = 64  # requests of one read; the limit keeps one client from delaying the others

_log = logging.getLogger(__name__)


class Connection:
    """Serves one stream until it ends. `serve` raises only the caller's cancellation."""

    def __init__(self, broker: Broker, number: int, stream: trio.abc.Stream, peer: str) -> None:
        self.broker = broker
        self.number = number
        self.shown_host = f"/{peer.rpartition(':')[0] or peer}"
        self._stream = stream
        self._peer = peer
        self._inbox: Inbox[IncomingRequest | ConnectionEnd | OpenRequest] = Inbox()
        self._scope = trio.CancelScope()
        self._faults = ConnectionFaults(broker, self)
        self._waiting_for: str | None = None
        self._is_open = True
        self._socket = stream if isinstance(stream, Socket) else None
        self._is_plain = self._socket is not None and broker.is_as_kafka
        self._members: dict[tuple[str, str], None] = {}  # the members that a variant removes when the connection ends
        self._end_reason = "the client closed it"
        self._repeated: RepeatedFrame | None = None
        self._kept = KeptFrames(broker, self)
        self._parked: Ticket | None = None

    async def serve(self) -> None:
        """Serve until either side ends it."""
        self._record_event("connected", peer=self._peer)
        self.broker.peers.add(self)
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._guarded, self._read)
                    await self._guarded(self._work if self.broker.line.in_order else self._work_at_once)
                    nursery.cancel_scope.cancel()
        finally:
            self.broker.peers.discard(self)
            if self._parked is not None:
                self.broker.coordinators.abandon(self._parked)
            if self.broker.line.leaves_when_closed:
                self.broker.remove_members(self._members)
            await self.close("the coordinator was stopped")

    def end(self, reason: str, by: str = "broker") -> None:
        """End the connection, by the client, the broker or a fault. A waiting request is abandoned."""
        self._record_closed(reason, by)
        self._scope.cancel()

    async def close(self, reason: str, by: str = "broker", *, reset: bool = False) -> None:
        """Close the stream, with RST where `reset` is set and there is a socket. Closing twice is no error."""
        self._record_closed(reason, by)
        await close_stream(self._stream, reset=reset)

    async def _is_taken(self) -> bool:
        """Return whether the client received the bytes just sent. It may close the connection after an answer that it treats as fatal."""
        return self._is_open and (not self._inbox.closed or await has_all(self._stream))

    @contextlib.contextmanager
    def waits(self, reason: str) -> Iterator[None]:
        """Mark that the current request waits for `reason`: coordinator, records or fault."""
        self._waiting_for = reason
        if self._inbox.closed:
            self._lost()
        try:
            yield
        finally:
            self._waiting_for = None

    def _record_event(self, name: str, **body: Any) -> None:
        self.broker.recorder.record("event", who="link", node=self.broker.node_id, connection=self.number, body={"name": name, **body})

    def _record_closed(self, reason: str, by: str) -> None:
        if self._is_open:
            self._is_open = False
            self._record_event("closed", reason=reason, by=by)

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work`; any error ends this connection."""
        try:
            await work()
        except (ConnectionEnd, ConnectionSevered) as ended:
            if isinstance(ended, ConnectionEnd) and ended.is_fault:
                _log.warning("connection %d from %s ends: %s", self.number, self._peer, ended)
            self.end(str(ended))
        except (trio.BrokenResourceError, trio.ClosedResourceError, OSError) as error:
            self.end(f"the connection broke: {error.__cause__ or error}", by="client")
        except Exception as error:
            _log.exception("connection %d from %s: groupproof failed", self.number, self._peer)
            self.end(f"groupproof failed: {error!r}")

    # Frames in

    async def _read(self) -> None:
        framer = Framer(self.broker.frame_bytes_max)
        take = partial(self._take, framer)
        while True:
            left = await self._left(take)
            for request, size in left.arrived:
                await self._inbox.put(described(self.broker, self.number, request), size)
            if left.broken is not None:
                if self.broker.line.bad_frame != "ends":
                    await handle_unreadable_frame(self.broker, self._stream, left.broken)
                # The connection ends when this frame's turn comes: earlier requests are still answered.
                await self._inbox.put(ConnectionEnd(str(left.broken), is_fault=True), 0)
                return
            if left.is_end:
                break
        if framer.pending:
            self._end_reason += f" within a frame, of which {framer.pending} bytes came"
        self._inbox.close()
        if self._waiting_for is not None:
            self._lost()

    async def _left(self, take: Callable[[bytes], Unread | None]) -> Unread:
        """Let `take` answer requests where they are read, and return the first that it cannot answer."""
        left = None if self._socket is None else await self._socket.left(take)
        while left is None:
            left = take(bytes(await self._stream.receive_some(_READ_BYTES)))
        return left

    def _take(self, framer: Framer, data: bytes) -> Unread | None:
        """Read all requests in `data` before the first is answered; return those that cannot be answered at once."""
        if not data:
            return Unread([], is_end=True)
        if self._repeated is not None and self._repeated.is_in(data) and self._answers_again(self._repeated, data):
            return None
        last = self._kept.last.get(data[KIND])
        if last is not None and len(last[0]) == len(data) and not framer.pending and self._goes_again(data):
            return None
        arrived: list[tuple[IncomingRequest, int]] = []
        broken: Exception | None = None
        try:
            for payload in framer.feed(data):
                arrived.append((self._arrived(payload), len(payload)))
        except WireError as error:
            broken = error
        done = 0
        while done < min(len(arrived), _AT_ONCE_MAX) and self._at_once(arrived[done][0]):
            done += 1
        api = arrived[0][0].wire.api if self._is_plain and arrived else None
        self._repeated = RepeatedFrame.of(data, *arrived[0], self.broker.arrival(arrived[0][0], self)) if api in HEARTBEATS else None
        if api in KEPT:
            self._kept.last[data[KIND]] = data, *arrived[0]
        return None if done == len(arrived) and broken is None else Unread(arrived[done:], broken)

    def _arrived(self, payload: bytes) -> IncomingRequest:
        try:
            wire, refused = read_request(payload, is_for_machine=True), None
        except UnsupportedVersion as error:
            if error.api is not Api.API_VERSIONS:
                raise
            wire, refused = WireRequest(api=error.api, version=0, correlation=error.correlation, client_id=None, body={}), error.version
        low, high = self.broker.accepted.get(wire.api, (0, -1))
        if refused is None and not low <= wire.version <= high:
            refused = refused_version(wire, low, high)
        return self._recorded(wire, refused)

    def _recorded(self, wire: WireRequest, refused: int | None) -> IncomingRequest:
        if self._is_plain and not self.broker.recorder.is_heard:
            return IncomingRequest(wire, {}, refused is not None)
        columns, body = columns_of(self.broker, self.number, wire, wire.version if refused is None else refused)
        self.broker.recorder.record("request", **columns, **body)
        return IncomingRequest(wire=wire, columns=columns, is_refused=refused is not None)

    def _lost(self) -> None:
        """Handle a client that is gone while its request waits.

        Kafka keeps a request that is parked at the coordinator and answers the requests behind it. Any other request ends with its connection.
        """
        if self._waiting_for == "coordinator" and self._inbox.holds_any:
            self._record_closed(self._end_reason, by="client")
        else:
            self.end(self._end_reason, by="client")

    # At once

    def _at_once(self, arrived: IncomingRequest) -> bool:
        """Answer the request here if no other request waits before it. If the answer has to wait, the other task continues with it."""
        if self._socket is None or not self._inbox.is_awaited or (answer := self.broker.process_at_once(arrived, self)) is None:
            return False
        self._go_on_at_once(self._socket, arrived, answer)
        return True

    def _go_on_at_once(self, to: Socket, arrived: IncomingRequest, answer: GroupResponse | KeptAnswer | Ticket) -> None:
        if isinstance(answer, Ticket):
            self._park(arrived, answer)
        elif self._is_open and (rest := self._answer_at_once(to, arrived, answer)):
            self._inbox.put_first(OpenRequest(arrived, rest=rest))

    def _park(self, arrived: IncomingRequest, ticket: Ticket) -> None:
        """Park a request until its answer comes. Without a recorder, no task waits for it."""
        if self.broker.recorder.is_heard:
            self._inbox.put_first(OpenRequest(arrived, ticket))
            return
        self._inbox.hold()
        self._waiting_for, self._parked = "coordinator", ticket
        ticket.on_answer = partial(self._unpark, arrived, ticket)

    def _unpark(self, arrived: IncomingRequest, ticket: Ticket, answer: GroupResponse) -> None:
        """Answer a parked request and let the requests behind it continue. The other task sends what cannot be sent here."""
        self._waiting_for = self._parked = None
        self._inbox.resume(self._left_of(arrived, ticket, answer) if self._is_open else None)

    def _left_of(self, arrived: IncomingRequest, ticket: Ticket, answer: GroupResponse) -> OpenRequest | None:
        if self._socket is None or not self.broker.interception.is_idle or self.broker.recorder.is_heard:
            return OpenRequest(arrived, ticket)
        try:
            rest = self._answer_at_once(self._socket, arrived, answer)
        except trio.BrokenResourceError:  # the other task gets the error again, and ends the connection
            return OpenRequest(arrived, ticket)
        return OpenRequest(arrived, rest=rest) if rest else None

    def _answers_again(self, repeated: RepeatedFrame, data: bytes) -> bool:
        """Answer a repeated heartbeat frame that only extends a session, in an unrecorded run; return whether it is answered."""
        if self._socket is None or not self._inbox.is_awaited:
            return False
        answer = self.broker.repeat(repeated.message, repeated.arrival)
        if answer is None:
            return False
        if rest := self._socket.send_now(repeated.answered(data, answer)):
            self._inbox.put_first(OpenRequest(repeated.arrived, rest=rest))
        return True

    def _goes_again(self, data: bytes) -> bool:
        """Process a repeated JoinGroup or SyncGroup that only waits or gets its assignment again; return whether it is processed."""
        if self._socket is None or not self._inbox.is_awaited or (again := self._kept.process_again(data)) is None:
            return False
        self._go_on_at_once(self._socket, *again)
        return True

    def _answer_at_once(self, to: Socket, arrived: IncomingRequest, answer: GroupResponse | KeptAnswer) -> bytes:
        """Record the answer, then send as much of it as possible; return the rest. The client's next step thus follows in the trace."""
        wire, recorder = arrived.wire, self.broker.recorder
        if recorder.is_heard:
            recorder.record("response", **{**arrived.columns, **answer_columns(answer, wire, self.broker.metadata.topics.name_of)})
        try:
            data = answer.frame(wire.correlation) if isinstance(answer, KeptAnswer) else write_answer(answer, wire.version, wire.correlation)
            return to.send_now(data)
        except trio.BrokenResourceError:
            if recorder.is_heard:
                self._record_unsent(arrived)
            raise

    async def _go_on(self, begun: OpenRequest) -> None:
        """Finish a request that was begun at once."""
        arrived, rest = begun.arrived, begun.rest
        if begun.ticket is not None:
            answer = await self.broker.answer_to(begun.ticket, self)
            if not self._is_open:
                return
            if self._socket is None or not self.broker.interception.is_idle:
                await self._answer(described(self.broker, self.number, arrived), body_of(answer), None)
                return
            rest = self._answer_at_once(self._socket, arrived, answer)
        if rest:
            await self._send_rest(rest, arrived.wire.api)

    # One request at a time

    async def _work_at_once(self) -> None:
        """Process every request as it arrives, without order, as a variant does."""
        async with trio.open_nursery() as nursery:
            while (arrived := await self._inbox.get()) is not None:
                if isinstance(arrived, ConnectionEnd):
                    raise arrived
                assert isinstance(arrived, IncomingRequest), "only a connection with requests in order processes them at once"
                nursery.start_soon(self._guarded, partial(self._turn, arrived))
        self.end(self._end_reason, by="client")

    async def _work(self) -> None:
        while (arrived := await self._inbox.get()) is not None:
            if isinstance(arrived, ConnectionEnd):
                raise arrived
            await (self._go_on(arrived) if isinstance(arrived, OpenRequest) else self._turn(arrived))
        self.end(self._end_reason, by="client")

    async def _turn(self, arrived: IncomingRequest) -> None:
        if not self.broker.broker_host.is_whole:
            await self.broker.broker_host.ready(arrived.wire.api, arrived.wire.body)
        fault = self._faults.on_request(arrived)
        body: Body | None = None
        processed_twice = partial(self._faults.processed_twice, fault) if fault is not None and fault.repeats else None
        if fault is not None:
            arrived = arrived._replace(columns={**arrived.columns, "fault": fault.fault.name})
            body = await self._faults.before_processing(fault, arrived)
            if fault.drops:
                return
            arrived = self._faults.altered(fault, arrived)
        self._faults.passed(arrived, "request")
        if body is None:
            body = await self.broker.process(arrived, self, processed_twice=processed_twice)
        if body is not None:
            if self.broker.line.leaves_when_closed and arrived.wire.api is Api.JOIN_GROUP:
                self._members[arrived.wire.body["group_id"], body["member_id"]] = None
            body = await altered_answer(self.broker.line, arrived, dict(body))
        if not self.broker.broker_host.runs:
            await self.broker.broker_host.awake()
        if body is not None and self._is_open:
            await self._answer(arrived, body, fault)
            await stay_muted(self.broker.line, body)

    async def _answer(self, arrived: IncomingRequest, body: Body, fault: AppliedFault | None) -> None:
        """Send an answer, unless a fault changes or withholds it. `fault` is the fault that acted on the request."""
        api, asked = arrived.wire.api, arrived.wire.body
        columns = response_columns(api, asked, body, self.broker.metadata.topics.name_of)
        answer_fault = self._faults.on_response(arrived, columns)
        if answer_fault is not None:
            correct, body = body, await self._faults.before_sending(answer_fault, arrived, body)
            if answer_fault.drops:
                return
            columns = columns if body is correct else response_columns(api, asked, body, self.broker.metadata.topics.name_of)
            columns["fault"] = answer_fault.fault.name
        applied_faults = [fault for fault in (fault, answer_fault) if fault is not None]
        # Recorded before its bytes leave: the client's reaction follows it in the trace, no matter how late this loop is.
        self.broker.recorder.record("response", **{**arrived.columns, **columns})
        try:
            data = frame(self._faults.corrupted_answer(answer_fault, write_response(api, arrived.answer_version, arrived.wire.correlation, body)))
            async with self.broker.turn or contextlib.nullcontext():
                await self._send(self.broker.line.sends(arrived, data), api)
        except (ConnectionEnd, trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self._record_unsent(arrived)
            self._faults.sent(applied_faults, failure=str(error) or "the connection broke")
            raise
        if applied_faults:
            self._faults.sent(applied_faults, failure="" if await self._is_taken() else "the client had closed the connection")
        self._faults.passed(arrived, "response")

    def _record_unsent(self, arrived: IncomingRequest) -> None:
        self.broker.recorder.record("event", **{**arrived.columns, "who": "link", "body": {"name": "unsent"}})

    async def _send(self, data: bytes, api: Api) -> None:
        is_last = self._socket is not None and not self._inbox.holds_any  # the task waits after it, which gives others their turn
        await (trio.lowlevel.checkpoint_if_cancelled if is_last else trio.lowlevel.checkpoint)()
        if rest := data if self._socket is None else self._socket.send_now(data):
            await self._send_rest(rest, api)

    async def _send_rest(self, rest: bytes, api: Api) -> None:
        with trio.move_on_after(SEND_S_MAX) as limit:
            await self._stream.send_all(rest)
        if limit.cancelled_caught:
            raise ConnectionEnd(f"the client did not take its answer to {api.title} within {SEND_S_MAX:.0f} s", is_fault=True)
