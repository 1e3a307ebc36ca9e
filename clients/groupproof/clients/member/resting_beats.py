"""A heartbeat of a member at rest, without the steps in which a member looks for more to do: there is nothing. Pure.

The member has nothing in flight and nothing under way, so that the heartbeat and its answer change nothing but when its timers are due. Whatever else comes in ends that.
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
"""The connection that heartbeats go by."""


class Resting:
    """`message` is the heartbeat of a member while it rests, to the broker `node_id`; None while nobody knows whether it does. A variant never rests."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._may_rest = core.policy is REFERENCE
        self._requests, self._in_flight = core.requests, core.requests.in_flight
        self._timeout_ms = core.settings.request_timeout_ms
        self._request: RequestInFlight | None = None
        self.message: HeartbeatRequest | ConsumerGroupHeartbeatRequest | None = None
        self.node_id = 0

    def _rest(self, message: HeartbeatRequest | ConsumerGroupHeartbeatRequest) -> None:
        """Take it that the member rests, and sends `message` to its coordinator until something ends that."""
        core = self._core
        assert core.coordinator is not None, "who rests knows it"
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
        """Return when the member's timers are due again, if it does nothing at `now_ms` but to send `message`; 0 where it may do more."""
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
        """Take it that `message` is sent; return the id of the request."""
        beats, request = self._heartbeats, self._request
        assert request is not None
        request.deadline_ms = now_ms + self._timeout_ms
        request_id = beats.in_flight = self._requests.add_again(request)
        beats.due_ms = now_ms + self._steady_ms
        return request_id

    def answered(self, request_id: int, answer: object, now_ms: int) -> bool:
        """Take the answer to `message`, which there is but one of; return False, with nothing done, where the member may do more than to take note of it."""
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
