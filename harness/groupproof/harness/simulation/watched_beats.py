"""Heartbeats of a resting simulated `consumer` member, with the checks of its process and its invariants at each request and answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groupproof.clients.member.consumer.resting_epoch_beats import RestingEpochBeats
    from groupproof.harness.simulation.epoch_process import EpochProcess
    from groupproof.harness.simulation.invariants.epoch_member_invariants import EpochMemberInvariants

__all__ = ["WatchedBeats"]


class WatchedBeats:
    """The heartbeats of one program. `sent` are its unanswered requests. `message` goes to the broker `node_id`."""

    def __init__(
        self, process: EpochProcess, resting: RestingEpochBeats, invariants: EpochMemberInvariants, sent: dict[int, tuple[Any, int]], names: dict[str, str]
    ) -> None:  # fmt: skip
        self._process, self._resting, self._invariants, self._sent, self._names = process, resting, invariants, sent, names
        self.message: Any = None
        self.node_id = 0

    def until_ms(self, now_ms: int) -> int:
        """Return when the member's timers are due next if it only sends `message` at `now_ms`, or 0 if member or process may have more to do."""
        if self._sent or now_ms >= self._process.unpolled_ms or self._invariants.is_closing:
            return 0
        resting = self._resting
        until_ms = resting.until_ms(now_ms)
        self.message, self.node_id = resting.message, resting.node_id
        return until_ms

    def beat(self, now_ms: int) -> int:
        """Record and check that `message` is sent. Return the request's id."""
        message = self.message
        request_id = self._resting.beat(now_ms)
        self._invariants.sends_again(message, now_ms, self._names)
        self._sent[request_id] = message, now_ms
        return request_id

    def answered(self, request_id: int, answer: Any, now_ms: int) -> bool:
        """Record and check an answer to `message`. Return False without a change if the member may have more to do."""
        if not self._resting.answered(request_id, answer, now_ms):
            return False
        self._invariants.answered_again(self._sent.pop(request_id)[0], answer, now_ms, self._names)
        return True
