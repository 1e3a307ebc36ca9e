"""One client's connection through the tap to one broker. Every frame is recorded and forwarded unchanged, unless a fault acts on it.

A held request delays the client's later requests; a held response delays the broker's later responses. An error on either side ends only this
connection, on both sides, with a reason in the trace.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

import trio

from groupproof.coordinator.broker.request_queue import Inbox
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.forwarded_frame import STOPPED, answer_of, correlation_of, passing_of
from groupproof.harness.subjects.tap.addresses import named_in
from groupproof.harness.subjects.tap.broker_dial import BrokerUnreachable
from groupproof.harness.subjects.tap.open_requests import Entry, OpenRequests
from groupproof.harness.subjects.tap.tapped_frame_faults import TapFaults, answer_columns
from groupproof.protocol.faults import Answer, Corrupt, Cut, Drop, Duplicate, Fault, Hold, Move, Reorder, Silence
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import Framer, FramingError, frame, write_response
from groupproof.protocol.wire.observation_columns import request_columns, response_columns

__all__ = ["CLOSE_S_MAX", "LinkEnd", "Station", "TapLink"]

CLOSE_S_MAX: Final = 1.0
"""Seconds that a broker has to close the connection after its client has."""

_READ_BYTES: Final = 65536
_RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER on, for zero seconds: close() sends RST
_BROKEN: Final = (OSError, trio.BrokenResourceError, trio.ClosedResourceError)

_log = logging.getLogger(__name__)


class LinkEnd(Exception):
    """The connection is over: `str()` is the reason; `by` is who ended it: client, upstream, fault or tap. With `is_recorded` the user already
    knows the reason."""

    def __init__(self, reason: str, by: str, *, is_recorded: bool = False) -> None:
        super().__init__(reason)
        self.by = by
        self.is_recorded = is_recorded


class Station(Protocol):
    """What a connection needs of its tap."""

    recorder: Recorder
    frame_faults: TapFaults
    frame_bytes_max: int
    is_quiet: bool

    async def localized(self, api: Api, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a response with the tap's addresses in it. Raise `BrokenEnvironment` where no port for a broker is free."""
        ...

    def follow(self, api: Api, group: str | None, body: Mapping[str, Any]) -> None:
        """Record a response about a group."""
        ...

    def asked(self, api: Api, group: str | None) -> None:
        """Record a request about a group."""
        ...

    def name_of(self, topic_id: str) -> str:
        """Return the name of a topic, or its id where the name is unknown."""
        ...

    async def meet(self, api: Api, group: str | None) -> None:
        """Ask the brokers what the tap must know of a group before a request about it goes on."""
        ...


class TapLink:
    """Serves one client until either side ends the connection. `serve` raises nothing but the caller's own cancellation."""

    def __init__(
        self, station: Station, number: int, node: int | None, stream: trio.abc.Stream, peer: str, reach: Callable[[], Awaitable[trio.abc.Stream]]
    ) -> None:
        self._station = station
        self._faults = station.frame_faults
        self._at = {"node": node, "connection": number}
        self._client = stream
        self._broker: trio.abc.Stream | None = None
        self._peer = peer
        self._reach = reach
        self._inbox: Inbox[Entry | LinkEnd] = Inbox()
        self._ledger = OpenRequests()
        self._sending = trio.Lock()
        self._scope = trio.CancelScope()
        self._is_open = True
        self._is_withheld = False
        self._close_reason = "the client closed it"

    async def serve(self) -> None:
        """Forward frames until either side ends the connection."""
        self._tell("connected", peer=self._peer)
        try:
            with self._scope:
                await self._guarded(self._serve)
        finally:
            await self._close(STOPPED, "tap")

    async def _serve(self) -> None:
        self._broker = await self._reached()
        async with trio.open_nursery() as nursery:
            for work in (self._read, self._pass_on, self._bring_back):
                nursery.start_soon(self._guarded, work)

    async def _reached(self) -> trio.abc.Stream:
        try:
            return await self._reach()
        except BrokerUnreachable as error:
            raise LinkEnd(f"the broker can't be reached: {error}", "upstream", is_recorded=True) from error

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work`, and turn any error into the end of this connection."""
        try:
            await work()
        except LinkEnd as ended:
            self._end(str(ended), ended.by, is_told=ended.is_recorded)
        except Exception as error:
            _log.exception("a connection from %s: groupproof failed", self._peer)
            self._end(f"groupproof failed: {error!r}", "tap")

    def _end(self, reason: str, by: str, *, is_told: bool = False) -> None:
        if self._is_open and by in ("upstream", "tap") and not (is_told or self._station.is_quiet):
            _log.warning("a connection from %s ends: %s", self._peer, reason)
        self._record_closed(reason, by)
        self._scope.cancel()

    async def _close(self, reason: str, by: str, *, reset: bool = False) -> None:
        """Close both sides; with `reset`, the client's by RST if there is a socket."""
        self._record_closed(reason, by)
        with trio.move_on_after(1, shield=True):
            if reset and (setsockopt := getattr(self._client, "setsockopt", None)):
                with contextlib.suppress(OSError):
                    setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            for stream in (self._client, self._broker):
                if stream is not None:
                    with contextlib.suppress(*_BROKEN):
                        await trio.aclose_forcefully(stream)

    def _record_closed(self, reason: str, by: str) -> None:
        if self._is_open:
            self._is_open = False
            self._tell("closed", reason=reason, by=by, owed=len(self._ledger))

    def _tell(self, name: str, **body: Any) -> None:
        self._station.recorder.record("event", who="link", **self._at, body={"name": name, **body})

    # From the client to the broker

    async def _read(self) -> None:
        framer = Framer(self._station.frame_bytes_max)
        while data := await self._received(self._client, "client"):
            try:
                payloads = framer.feed(data)
            except FramingError as error:
                # The connection ends when it is this frame's turn. Earlier frames still go on.
                await self._inbox.put(LinkEnd(str(error), "tap"), 0)
                return
            for payload in payloads:
                await self._inbox.put(self._arrived(payload), len(payload))
        if framer.pending:
            self._close_reason += f" within a frame, of which {framer.pending} bytes came"
        self._inbox.close()
        if self._is_withheld:
            self._end(self._close_reason, "client")

    def _arrived(self, payload: bytes) -> Entry:
        passing = passing_of(payload)
        if passing.wire is None:
            self._tell("passed", api_key=passing.api_key, version=passing.version, bytes=len(payload), why=passing.why)
            return Entry(passing=passing)
        wire = passing.wire
        who, body = request_columns(wire.api, wire.body, self._station.name_of)
        columns = {
            **self._at, "client": wire.client_id, "api": wire.api.title, "version": wire.version, "correlation": wire.correlation, **who,
        }  # fmt: skip
        self._station.recorder.record("request", **columns, **body)
        return Entry(passing=passing, columns=columns)

    async def _pass_on(self) -> None:
        while (entry := await self._inbox.get()) is not None:
            if isinstance(entry, LinkEnd):
                raise entry
            if entry.passing.tells_tokens:
                raise LinkEnd("SaslHandshake v0: tokens and requests look the same after it; use v1, or --properties for the broker", "tap")
            if entry.passing.wire is not None:
                await self._station.meet(entry.passing.wire.api, entry.columns.get("group"))
            fault = self._faults.on_request(entry)
            if fault is not None:
                entry.fault, entry.columns = fault, {**entry.columns, "fault": fault.name}
            if fault is None or not await self._fault_request(fault, entry):
                await self._ask(entry)
                if entry.passing.wire is not None:
                    self._station.asked(entry.passing.wire.api, entry.columns.get("group"))
        await self._wave()

    async def _fault_request(self, fault: Fault, entry: Entry) -> bool:
        """Perform a fault on a request. Return whether the request needs no further forwarding."""
        if isinstance(fault.action, Answer):
            entry.own = self._faults.answer(fault, entry)
            if entry.own is None:
                return False
            self._ledger.ask(entry)
            await self._give_own()
            return True
        if isinstance(fault.action, Duplicate) and entry.passing.is_answered:
            await self._ask(entry)
            await self._ask(Entry(passing=entry.passing, columns=entry.columns, fault=fault, is_repeat=True))
            return True
        if isinstance(fault.action, Corrupt):
            payload = self._faults.corrupted(fault, entry.passing.payload, "request", entry.columns)
            await self._ask(entry if payload is None else replace(entry, passing=replace(entry.passing, payload=payload)))
            if payload is not None:
                self._faults.delivered(fault, entry.columns)
            return True
        await self._perform(fault, entry)
        return isinstance(fault.action, Drop)

    async def _ask(self, entry: Entry) -> None:
        if entry.passing.is_answered:
            self._ledger.ask(entry)
        assert self._broker is not None
        try:
            await self._broker.send_all(frame(entry.passing.payload))
        except _BROKEN as error:
            raise LinkEnd(f"the broker broke the connection: {error.__cause__ or error}", "upstream") from error
        self._faults.passed(entry, "request")

    async def _wave(self) -> None:
        """Pass on that the client has closed its side. The broker may still process earlier requests, but nobody reads the responses."""
        self._record_closed(self._close_reason, "client")
        if (send_eof := getattr(self._broker, "send_eof", None)) is not None:
            with trio.move_on_after(CLOSE_S_MAX), contextlib.suppress(*_BROKEN):
                await send_eof()
                await trio.sleep_forever()  # until the broker closes too, which ends this connection
        self._scope.cancel()

    # From the broker to the client

    async def _bring_back(self) -> None:
        assert self._broker is not None
        framer = Framer(self._station.frame_bytes_max)
        while data := await self._received(self._broker, "upstream"):
            try:
                payloads = framer.feed(data)
            except FramingError as error:
                raise LinkEnd(f"the broker's answer: {error}", "upstream") from error
            for payload in payloads:
                await self._brought(payload)
        cut = f" within a frame, of which {framer.pending} bytes came" if framer.pending else ""
        raise LinkEnd(f"the broker closed it{cut}", "upstream")

    async def _brought(self, payload: bytes) -> None:
        if not self._is_open:
            return
        entry = self._ledger.found(correlation_of(payload))
        if entry is None:
            self._tell("unasked", bytes=len(payload))
            await self._send(payload)
            return
        if entry.is_repeat and entry.fault is not None:
            self._faults.delivered(entry.fault, entry.columns)
        else:
            await self._bring(entry, payload)
        self._ledger.settled(entry)
        await self._give_own()

    async def _bring(self, entry: Entry, payload: bytes) -> None:
        passing = entry.passing
        body, why = answer_of(passing, payload)
        if body is not None and passing.api is not None and any(True for _ in named_in(passing.api, body)):
            try:
                body = await self._station.localized(passing.api, body)
            except BrokenEnvironment as error:
                raise LinkEnd(str(error), "tap") from error
            payload = write_response(passing.api, passing.version, passing.correlation, body)
        if body is not None and passing.wire is not None:
            await self._answer(entry, body, payload)
            return
        self._tell("passed", api_key=passing.api_key, version=passing.version, bytes=len(payload), why=why or passing.why, is_answer=True)
        await self._send(payload)

    async def _give_own(self) -> None:
        """Send the answers of faults whose turn has come."""
        while (entry := self._ledger.due()) is not None:
            wire = entry.passing.wire
            assert wire is not None
            assert entry.own is not None
            await self._answer(entry, entry.own, write_response(wire.api, wire.version, wire.correlation, entry.own))

    async def _answer(self, entry: Entry, body: Mapping[str, Any], payload: bytes) -> None:
        """Record an answer and send it, unless a fault acts on it."""
        wire = entry.passing.wire
        assert wire is not None
        columns = response_columns(wire.api, wire.body, body, self._station.name_of)
        fault = self._faults.on_response(entry, columns)
        faults = [entry.fault] if entry.own is not None and entry.fault is not None else []
        if fault is not None:
            faulted = Entry(passing=entry.passing, columns={**answer_columns(entry, columns), "fault": fault.name}, fault=fault)
            own = await self._fault_answer(fault, faulted, body)
            if isinstance(fault.action, Drop):
                return
            if isinstance(fault.action, Corrupt) and (changed := self._faults.corrupted(fault, payload, "response", faulted.columns)) is not None:
                payload = changed
                faults.append(fault)
            if own is not None:
                body, payload = own, write_response(wire.api, wire.version, wire.correlation, own)
                columns = response_columns(wire.api, wire.body, body, self._station.name_of)
                faults.append(fault)
            entry.columns = {**entry.columns, "fault": fault.name}
        self._station.follow(wire.api, entry.columns.get("group"), body)
        self._station.recorder.record("response", **{**entry.columns, **columns})
        await self._give(entry, payload, faults)

    async def _give(self, entry: Entry, payload: bytes, faults: list[Fault]) -> None:
        """Send an answer, and write the receipts of the faults that made it."""
        try:
            await self._send(payload)
        except LinkEnd as ended:
            if entry.columns:
                self._station.recorder.record("event", **{**entry.columns, "who": "link", "body": {"name": "unsent"}})
            for fault in faults:
                self._faults.interception.unreceived(fault, entry.columns, str(ended))
            raise
        self._faults.passed(entry, "response")
        for fault in faults:
            self._faults.delivered(fault, entry.columns)

    async def _fault_answer(self, fault: Fault, faulted: Entry, broker_answer: Mapping[str, Any]) -> dict[str, Any] | None:
        """Perform a fault on an answer. Return its own answer in place of the broker's, or None."""
        if isinstance(fault.action, Answer):
            return self._faults.answer(fault, faulted, broker_answer)
        await self._perform(fault, faulted)
        return None

    async def _perform(self, fault: Fault, entry: Entry) -> None:
        """Perform an action that is the same in both directions."""
        action = fault.action
        if isinstance(action, Cut):
            reason = f"fault {fault.name} cut it"
            await self._close(reason, "fault", reset=action.reset)
            self._faults.delivered(fault, entry.columns)
            raise LinkEnd(reason, "fault")
        if isinstance(action, Hold):
            with self._withheld():
                await self._faults.interception.hold(fault, action.ms, entry.columns)
        elif isinstance(action, Silence):
            with self._withheld():
                await self._faults.interception.silence(fault, entry.columns)
        elif isinstance(action, Reorder):
            with self._withheld():
                await self._faults.interception.reorder(fault, action.ms, entry.columns)
        elif isinstance(action, Move):
            with self._withheld():
                await self._faults.move(fault, entry)
        elif isinstance(action, Drop):
            self._faults.delivered(fault, entry.columns)
        elif not isinstance(action, Corrupt):
            self._faults.failed(fault, entry.columns, f"{action.kind} can't be done to this frame")

    @contextlib.contextmanager
    def _withheld(self) -> Iterator[None]:
        """Mark that a fault withholds a frame. A client that closes the connection then counts as gone at once."""
        self._is_withheld = True
        if self._inbox.closed:
            self._end(self._close_reason, "client")
        try:
            yield
        finally:
            self._is_withheld = False

    # Bytes

    async def _send(self, payload: bytes) -> None:
        try:
            async with self._sending:
                await self._client.send_all(frame(payload))
        except _BROKEN as error:
            raise LinkEnd(f"the client broke the connection: {error.__cause__ or error}", "client") from error

    async def _received(self, stream: trio.abc.Stream, by: str) -> bytes:
        try:
            return bytes(await stream.receive_some(_READ_BYTES))
        except _BROKEN as error:
            who = "broker" if by == "upstream" else by
            raise LinkEnd(f"the {who} broke the connection: {error.__cause__ or error}", by) from error
