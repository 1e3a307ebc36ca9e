"""A fast path for the heartbeats of a member at rest, which skips the steps that look for other work. Pure.

The member has no request in flight and no work under way. A heartbeat and its answer then change only its timers. Any other input ends the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupproof.clients.member.pending_requests import RequestInFlight
from groupproof.clients.member.policy import REFERENCE

if TYPE_CHECKING:
    from groupproof.clients.member.coordinator_lookup import Finder
    from groupproof.clients.member.heartbeat_timers import Heartbeats
    from groupproof.clients.member.member_core import Core
    from groupproof.clients.member.offset_requests import OffsetRequests
    from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest
    from groupproof.protocol.wire.messages import HeartbeatRequest

__all__ = ["LANE", "Resting", "RestingBeats"]

LANE: Final = "group"
"""The connection for heartbeats."""


class Resting:
    """The fast path of one member. `message` is its heartbeat to the broker `node_id`, or None if it is unknown whether the member rests.

    Only the reference rests; a variant never does.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._may_rest = core.policy is REFERENCE
        self._requests, self._in_flight = core.requests, core.requests.in_flight
        self._timeout_ms = core.settings.request_timeout_ms
        self._request: RequestInFlight | None = None
        self.message: HeartbeatRequest | ConsumerGroupHeartbeatRequest | None = None
        self.node_id = 0

    def _rest(self, message: HeartbeatRequest | ConsumerGroupHeartbeatRequest) -> None:
        """Record that the member rests and sends `message` to its coordinator."""
        core = self._core
        assert core.coordinator is not None, "a member that rests knows its coordinator"
        self.message, self.node_id = message, core.coordinator.node_id
        last = self._request
        if last is None or last.message is not message or last.to is not core.coordinator:
            self._request = RequestInFlight(0, message, core.coordinator, LANE, core.member_id, core.generation, 0, None, core.memberships)


class RestingBeats(Resting):
    """The heartbeat of a classic member."""

    def __init__(self, core: Core, finder: Finder, heartbeats: Heartbeats, offset_requests: OffsetRequests) -> None:
        super().__init__(core)
        self._finder, self._heartbeats, self._offset_requests = finder, heartbeats, offset_requests
        self._session_ms = core.settings.session_timeout_ms
        self._steady_ms = heartbeats.steady_ms
        self._least_ms = min(self._steady_ms, self._timeout_ms)

    def until_ms(self, now_ms: int) -> int:
        """Return when the member's timers are due next if it only sends `message` at `now_ms`, or 0 if it may have more to do."""
        beats = self._heartbeats
        if now_ms < beats.due_ms or beats.in_flight is not None:
            return 0
        until_ms, session_ms, poll_ms = now_ms + self._least_ms, self._core.session_ms, beats.poll_ends_ms
        if session_ms is not None and session_ms < until_ms:
            until_ms = session_ms
        if poll_ms is not None and poll_ms < until_ms:
            until_ms = poll_ms
        return until_ms if until_ms > now_ms and (self.message is not None or self._comes_to_rest()) else 0

    def beat(self, now_ms: int) -> int:
        """Record that `message` is sent. Return the request's id."""
        beats, request = self._heartbeats, self._request
        assert request is not None
        request.deadline_ms = now_ms + self._timeout_ms
        request_id = beats.in_flight = self._requests.add_again(request)
        beats.due_ms = now_ms + self._steady_ms
        return request_id

    def answered(self, request_id: int, answer: object, now_ms: int) -> bool:
        """Record the successful answer to `message`. Return False without a change if the member may have more to do."""
        beats = self._heartbeats
        poll_ms = beats.poll_ends_ms
        if self.message is None or request_id != beats.in_flight or now_ms >= beats.due_ms or (poll_ms is not None and now_ms >= poll_ms):
            return False
        beats.in_flight = None
        del self._in_flight[request_id]
        self._core.session_ms = now_ms + self._session_ms
        return True

    def _comes_to_rest(self) -> bool:
        core, heartbeats = self._core, self._heartbeats
        if not self._may_rest or core.requests.any_in_flight or not heartbeats.is_beating() or not self._offset_requests.is_idle:
            return False
        if core.coordinator is None or core.has_complained or not self._finder.is_proven:
            return False
        self._rest(heartbeats.heartbeat())
        return True
