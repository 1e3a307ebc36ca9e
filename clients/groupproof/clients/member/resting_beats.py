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
    from groupproof.protocol.wire.messages import HeartbeatRequest

__all__ = ["LANE", "RestingBeats"]

LANE: Final = "group"
"""The connection that heartbeats go by."""


class RestingBeats:
    """`message` is the heartbeat of the member while it rests, to the broker `node_id`; None while nobody knows whether it does. A variant never rests."""

    def __init__(self, core: Core, finder: Finder, heartbeats: Heartbeats, offset_requests: OffsetRequests) -> None:
        self._core, self._finder, self._heartbeats, self._offset_requests = core, finder, heartbeats, offset_requests
        self._may_rest = core.policy is REFERENCE
        self._requests, self._timeout_ms = core.requests, core.settings.request_timeout_ms
        self._in_flight: RequestInFlight | None = None
        self.message: HeartbeatRequest | None = None
        self.node_id = 0

    def until_ms(self, now_ms: int) -> int:
        """Return when the member's timers are due again, if it does nothing at `now_ms` but to send `message`; 0 where it may do more."""
        until_ms = self._heartbeats.only_beats_until_ms(now_ms)
        return until_ms if until_ms and (self.message is not None or self._comes_to_rest()) else 0

    def beat(self, now_ms: int) -> int:
        """Take it that `message` is sent; return the id of the request."""
        in_flight = self._in_flight
        assert in_flight is not None, "who rests knows its heartbeat"
        request_id = in_flight.request_id = self._requests.new_id()
        in_flight.deadline_ms = now_ms + self._timeout_ms
        self._requests.add(in_flight)
        self._heartbeats.sent(request_id, now_ms)
        return request_id

    def answered(self, request_id: int, now_ms: int) -> bool:
        """Take the answer to `message`, which says what the last one said; return False, with nothing done, where the member may do more than to take note of it."""
        if self.message is None or not self._heartbeats.answered(request_id, now_ms):
            return False
        self._requests.take(request_id)
        self._core.renew_session(now_ms)
        return True

    def _comes_to_rest(self) -> bool:
        core, heartbeats = self._core, self._heartbeats
        if not self._may_rest or core.requests.any_in_flight or not heartbeats.is_beating() or not self._offset_requests.is_idle:
            return False
        if core.coordinator is None or not self._finder.is_proven:
            return False
        self.message, self.node_id = heartbeats.heartbeat(), core.coordinator.node_id
        self._in_flight = RequestInFlight(0, self.message, core.coordinator, LANE, core.member_id, core.generation, 0, None, core.memberships)
        return True
