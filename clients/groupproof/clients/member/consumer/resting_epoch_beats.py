"""A fast path for heartbeats without fields of a `consumer` member at rest, which skips the steps that look for other work. Pure.

The member is STABLE and has no request in flight and no work under way. Such a heartbeat, and an answer equal to the last one, change only the
timers. Any other input ends the rest. The classic counterpart is `member/resting_beats.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from groupproof.clients.member.consumer.epoch_heartbeats import SAYS_NOTHING
from groupproof.clients.member.resting_beats import Resting

if TYPE_CHECKING:
    from groupproof.clients.member.consumer.epoch_core import EpochCore
    from groupproof.clients.member.consumer.epoch_heartbeats import EpochHeartbeats

__all__ = ["RestingEpochBeats"]


class RestingEpochBeats(Resting):
    """The fast path of a consumer member. `is_quiet` returns whether its parts have no work."""

    def __init__(self, core: EpochCore, heartbeats: EpochHeartbeats, is_quiet: Callable[[], bool]) -> None:
        super().__init__(core)
        self._member, self._heartbeats, self._is_quiet = core, heartbeats, is_quiet
        self._beats_in_flight = heartbeats.in_flight

    def until_ms(self, now_ms: int) -> int:
        """Return when the member's timers are due next if it only sends `message` at `now_ms`, or 0 if it may have more to do."""
        beats = self._heartbeats
        due_ms, poll_ms = beats.due_ms, self._member.poll_ends_ms
        if due_ms is None or now_ms < due_ms or self._in_flight or poll_ms is None:
            return 0
        pause_ms = beats.pause_ms
        until_ms = now_ms + (pause_ms if pause_ms < self._timeout_ms else self._timeout_ms)
        if poll_ms < until_ms:
            until_ms = poll_ms
        return until_ms if until_ms > now_ms and (self.message is not None or self._comes_to_rest()) else 0

    def beat(self, now_ms: int) -> int:
        """Record that `message` is sent. Return the request's id."""
        beats, request = self._heartbeats, self._request
        assert request is not None
        request.deadline_ms = now_ms + self._timeout_ms
        request_id = self._requests.add_again(request)
        self._beats_in_flight[request_id] = SAYS_NOTHING
        beats.due_ms = now_ms + beats.pause_ms
        return request_id

    def answered(self, request_id: int, answer: object, now_ms: int) -> bool:
        """Record an answer to `message` that repeats the last one. Return False without a change if the member may have more to do."""
        beats = self._heartbeats
        due_ms = beats.due_ms
        if self.message is None or request_id not in self._beats_in_flight or due_ms is None or now_ms >= due_ms or answer is not beats.last_answer:
            return False
        del self._beats_in_flight[request_id], self._in_flight[request_id]
        return True

    def _comes_to_rest(self) -> bool:
        if not self._may_rest or not self._is_quiet() or (message := self._heartbeats.resting()) is None:
            return False
        self._rest(message)
        return True
