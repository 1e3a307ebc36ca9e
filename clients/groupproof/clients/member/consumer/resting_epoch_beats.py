"""A bare heartbeat of a `consumer` member at rest, without the steps in which a member looks for more to do: there is nothing. Pure.

The member is Stable, has nothing in flight and nothing under way, and its heartbeat says nothing but that it lives, so that the heartbeat and an answer as the last one
change nothing but when its timers are due. Whatever else comes in ends that. Of a classic member it is `member/resting_beats.py`.
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
    """The bare heartbeat of a consumer member; `is_quiet` tells whether nothing waits in its parts."""

    def __init__(self, core: EpochCore, heartbeats: EpochHeartbeats, is_quiet: Callable[[], bool]) -> None:
        super().__init__(core)
        self._member, self._heartbeats, self._is_quiet = core, heartbeats, is_quiet
        self._beats_in_flight = heartbeats.in_flight

    def until_ms(self, now_ms: int) -> int:
        """Return when the member's timers are due again, if it does nothing at `now_ms` but to send `message`; 0 where it may do more."""
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
        """Take it that `message` is sent; return the id of the request."""
        beats, request = self._heartbeats, self._request
        assert request is not None
        request.deadline_ms = now_ms + self._timeout_ms
        request_id = self._requests.add_again(request)
        self._beats_in_flight[request_id] = SAYS_NOTHING
        beats.due_ms = now_ms + beats.pause_ms
        return request_id

    def answered(self, request_id: int, answer: object, now_ms: int) -> bool:
        """Take an answer to `message` that says what the last one said; return False, with nothing done, where the member may do more than to take note of it."""
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
