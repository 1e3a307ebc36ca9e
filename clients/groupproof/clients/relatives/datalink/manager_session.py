"""A worker's heartbeats, and its own session timeout (WORKER-18, WORKER-19, TIMER-29)."""

from __future__ import annotations

from groupproof.clients.member.pending_requests import earliest
from groupproof.clients.relatives.datalink.worker_requests import NO_GENERATION, Requester
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.protocol.wire.messages import HeartbeatRequest

__all__ = ["ManagerSession"]


class ManagerSession:
    """Sends one heartbeat at a time, an interval after the previous one was sent."""

    def __init__(self, settings: WorkerSettings, requester: Requester) -> None:
        self._settings, self._requester = settings, requester
        self._in_flight: int | None = None
        self._next_ms = 0
        self._session_ms: int | None = None

    def can_beat(self) -> bool:
        return self._requester.generation != NO_GENERATION and self._requester.coordinator is not None

    def settled(self, now_ms: int) -> None:
        """Restart session and heartbeat interval, because the assignment came."""
        self.heard(now_ms)
        self._next_ms = now_ms + self._settings.heartbeat_interval_ms

    def heard(self, now_ms: int) -> None:
        """Restart the session, because the Manager answered."""
        self._session_ms = now_ms + self._settings.session_timeout_ms

    def is_session_over(self, now_ms: int) -> bool:
        return self._session_ms is not None and now_ms >= self._session_ms

    def forget(self) -> None:
        """Stop waiting for a heartbeat's answer."""
        self._in_flight = None

    def end_session(self) -> None:
        self._session_ms = None
        self.forget()

    def beat_if_due(self, now_ms: int) -> None:
        requester = self._requester
        if self._in_flight is None and now_ms >= self._next_ms:
            request = HeartbeatRequest(group_id=self._settings.group, generation_id=requester.generation, member_id=requester.member_id)
            self._in_flight = requester.send(request, now_ms)
            self._next_ms = now_ms + self._settings.heartbeat_interval_ms

    def is_mine(self, request_id: int) -> bool:
        """Record that a heartbeat ended. Return whether it is the one in flight."""
        is_mine = request_id == self._in_flight
        self._in_flight = None if is_mine else self._in_flight
        return is_mine

    def next_ms(self) -> int | None:
        return earliest(self._next_ms if self._in_flight is None else None, self._session_ms)
