"""The member's timers: heartbeats, its own view of the session, and the poll deadline (CLIENT-40 to CLIENT-57).

Kafka runs them on a thread of their own; here they are whatever drives `tick`, independent of the application's polls.
"""

from __future__ import annotations

from typing import Final

from groupproof.clients.core import NO_GENERATION, Core
from groupproof.clients.leaving import leave_group
from groupproof.clients.requests import Pending
from groupproof.protocol.messages import HeartbeatRequest
from groupproof.protocol.spec.classic_member import Answer, Effect, Lapse, Reaction
from groupproof.protocol.vocabulary import MemberState

__all__ = ["Heartbeats"]

_BEATING: Final = (MemberState.STABLE, MemberState.COMPLETING_REBALANCE)


class Heartbeats:
    """Decides at each tick, in Kafka's order: session over, poll deadline over, heartbeat due (CLIENT-54)."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._in_flight: int | None = None
        self._next_ms = 0
        self._polled_ms: int | None = None

    def polled(self, now_ms: int) -> None:
        """Note the application's poll (CLIENT-61)."""
        self._polled_ms = now_ms
        self._core.is_unpolled = False

    def reset(self, now_ms: int) -> None:
        """Count session and interval from now: the member joined, or its assignment came."""
        self._in_flight = None
        self._core.session_ms = now_ms + self._core.session_timeout_ms
        self._next_ms = now_ms + self._interval_ms()

    def at_once(self, now_ms: int) -> None:
        self._next_ms = now_ms

    def step(self, now_ms: int) -> None:
        """Do what is due; a member without a generation, or whose coordinator is unknown, has nothing due."""
        core = self._core
        if not self._is_beating() or not core.has_coordinator:
            return
        if core.session_ms is not None and now_ms >= core.session_ms:
            self._end_session(now_ms)
        elif (deadline := self._poll_deadline_ms()) is not None and now_ms >= deadline:
            self._end_poll(now_ms)
        elif now_ms >= self._next_ms and self._in_flight is None and self._may_beat():
            self._beat(now_ms)

    def next_ms(self) -> int | None:
        """Return when `step` has something to do."""
        if not self._is_beating() or not self._core.has_coordinator:
            return None
        beat = self._next_ms if self._in_flight is None and self._may_beat() else None
        return min((each for each in (beat, self._core.session_ms, self._poll_deadline_ms()) if each is not None), default=None)

    def settled(self, pending: Pending, answer: Answer, response: object, reaction: Reaction, now_ms: int) -> None:
        if pending.request_id != self._in_flight:
            return
        self._in_flight = None
        if self._core.policy.heartbeats == "until-late" and now_ms > self._next_ms:
            self._core.is_halted = True
        if Effect.BACK_OFF in reaction or isinstance(answer, Lapse):
            self._next_ms = now_ms + self._core.backoff_ms()

    def _is_beating(self) -> bool:
        core = self._core
        states = _BEATING if core.policy.heartbeats != "synced" else (MemberState.STABLE,)
        return core.is_taking_part and not core.is_halted and core.state in states and core.generation != NO_GENERATION

    def _may_beat(self) -> bool:
        kind = self._core.policy.heartbeats
        return kind not in ("never", "polled") and not (kind == "owning" and not self._core.owned)

    def beat_from_poll(self, now_ms: int) -> None:
        """Send what is due from the application's poll: only for a client that has no heartbeat task of its own."""
        is_due = now_ms >= self._next_ms and self._in_flight is None
        if self._core.policy.heartbeats == "polled" and is_due and self._is_beating() and self._core.has_coordinator:
            self._beat(now_ms)

    def _beat(self, now_ms: int) -> None:
        core = self._core
        first = core.policy.heartbeat_generation == "first"
        self._in_flight = core.send(
            HeartbeatRequest(
                group_id=core.settings.group,
                generation_id=core.first_generation if first else core.generation,
                member_id=core.member_id,
                group_instance_id=core.instance_id,
            ),
            now_ms,
        )
        self._next_ms = now_ms + self._interval_ms()

    def _interval_ms(self) -> int:
        policy = self._core.policy
        factor = policy.heartbeat_factor * (1 + policy.heartbeat_jitter * (2 * self._core.draw() - 1))
        return max(1, round(self._core.settings.heartbeat_interval_ms * factor))

    def _poll_deadline_ms(self) -> int | None:
        factor = self._core.policy.poll_deadline_factor
        if self._polled_ms is None or factor is None:
            return None
        return self._polled_ms + round(self._core.settings.max_poll_interval_ms * factor)

    def _end_session(self, now_ms: int) -> None:
        """No answer for a session timeout: give the coordinator up, but not the membership (CLIENT-51)."""
        self._core.session_ms = None
        self._core.forget_coordinator()

    def _end_poll(self, now_ms: int) -> None:
        """Leave: the application has not polled for max.poll.interval.ms; its next poll joins again (CLIENT-52)."""
        core = self._core
        core.is_unpolled = True
        if core.policy.poll_end_leaves:
            leave_group(core, now_ms, "the poll interval was exceeded")
        core.reset("the application did not poll in time")
