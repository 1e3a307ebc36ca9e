"""The member's timers: heartbeats, its own session timeout, and the poll deadline (CLIENT-40 to CLIENT-57).

Kafka runs them on a separate thread. Here `tick` runs them, independent of the application's polls.
"""

from __future__ import annotations

from typing import Final

from groupproof.clients.member.member_close import leave_group
from groupproof.clients.member.member_core import NO_GENERATION, Core
from groupproof.clients.member.pending_requests import RequestInFlight
from groupproof.protocol.rules.classic.member_reactions import Answer, Effect, Lapse, Reaction
from groupproof.protocol.vocabulary import MemberState
from groupproof.protocol.wire.messages import HeartbeatRequest

__all__ = ["Heartbeats"]

_BEATING: Final = (MemberState.STABLE, MemberState.COMPLETING_REBALANCE)
_SYNCED: Final = (MemberState.STABLE,)


class Heartbeats:
    """Checks at each tick, in Kafka's order: session over, poll deadline over, heartbeat due (CLIENT-54).

    The next heartbeat is sent at `due_ms`, if none is `in_flight`. Without jitter the interval between two is `steady_ms`.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self.in_flight: int | None = None
        self.due_ms = 0
        self.poll_ends_ms: int | None = None
        self._request: HeartbeatRequest | None = None
        self._between, self._kind = core.policy.heartbeats_between, core.policy.heartbeats
        self._states = _SYNCED if self._kind == "synced" else _BEATING
        self.steady_ms = max(1, round(core.settings.heartbeat_interval_ms * core.policy.heartbeat_factor))

    def polled(self, now_ms: int) -> None:
        """Record the application's poll (CLIENT-61)."""
        factor = self._core.policy.poll_deadline_factor
        if factor is not None:
            self.poll_ends_ms = now_ms + round(self._core.settings.max_poll_interval_ms * factor)
        self._core.is_unpolled = False

    def reset(self, now_ms: int) -> None:
        """Restart session and heartbeat interval, because the member joined or its assignment came."""
        self.in_flight = None
        self._core.session_ms = now_ms + self._core.session_timeout_ms
        self.due_ms = now_ms + self._interval_ms()

    def at_once(self, now_ms: int) -> None:
        self.due_ms = now_ms

    def step(self, now_ms: int) -> None:
        """Run the timers that are due. Nothing is due without a generation or without a coordinator."""
        if self._between and self._is_between():
            for _ in range(self._between):
                self._beat(now_ms)
            return
        session_ms, poll_ms = self._core.session_ms, self.poll_ends_ms
        if session_ms is not None and now_ms >= session_ms:
            if self.is_beating():
                self._end_session(now_ms)
        elif poll_ms is not None and now_ms >= poll_ms:
            if self.is_beating():
                self._end_poll(now_ms)
        elif now_ms >= self.due_ms and self.in_flight is None and self.is_beating() and self._may_beat():
            self._beat(now_ms)

    def next_ms(self) -> int | None:
        """Return when `step` has something to do."""
        if not self.is_beating():
            return None
        first_ms = self.due_ms if self.in_flight is None and self._may_beat() else None
        session_ms, poll_ms = self._core.session_ms, self.poll_ends_ms
        if session_ms is not None and (first_ms is None or session_ms < first_ms):
            first_ms = session_ms
        return poll_ms if poll_ms is not None and (first_ms is None or poll_ms < first_ms) else first_ms

    def settled(self, pending: RequestInFlight, answer: Answer, response: object, reaction: Reaction, now_ms: int) -> None:
        if pending.request_id != self.in_flight:
            return
        self.in_flight = None
        if self._core.policy.heartbeats == "until-late" and now_ms > self.due_ms:
            self._core.is_halted = True
        if Effect.BACK_OFF in reaction.effects or isinstance(answer, Lapse):
            self.due_ms = now_ms + self._core.backoff_ms()

    def is_beating(self) -> bool:
        """Return whether the timers run: the member has a generation and knows its coordinator."""
        core = self._core
        if core.state not in self._states or core.generation == NO_GENERATION or core.is_halted or not core.is_subscribed or core.failure is not None:
            return False
        return core.coordinator is not None or not core.policy.looks_up

    def _is_between(self) -> bool:
        """Return whether the member just gave up its generation but kept its id. Its last Heartbeat named both."""
        core, last = self._core, self._request
        if last is None or last.generation_id == NO_GENERATION or core.generation != NO_GENERATION:
            return False
        return last.member_id == core.member_id and core.state is MemberState.UNJOINED and core.coordinator is not None and core.is_taking_part

    def _may_beat(self) -> bool:
        core, kind = self._core, self._kind
        if kind == "joined":
            return True
        if kind == "prompt" and not core.is_prompt:
            return False
        return kind not in ("never", "polled") and not (kind == "owning" and not core.owned)

    def beat_from_poll(self, now_ms: int) -> None:
        """Send a due Heartbeat from the application's poll, for a client without a heartbeat task."""
        is_due = now_ms >= self.due_ms and self.in_flight is None
        if self._core.policy.heartbeats == "polled" and is_due and self.is_beating():
            self._beat(now_ms)

    def _beat(self, now_ms: int) -> None:
        self.in_flight = self._core.send(self.heartbeat(), now_ms)
        self.due_ms = now_ms + self._interval_ms()

    def heartbeat(self) -> HeartbeatRequest:
        """Return the current request. It is the previous object if nothing changed."""
        core, last = self._core, self._request
        generation = core.first_generation if core.policy.heartbeat_generation == "first" else core.generation
        member_id, instance_id = core.member_id, core.instance_id
        if last is None or (last.generation_id, last.member_id, last.group_instance_id) != (generation, member_id, instance_id):
            last = self._request = HeartbeatRequest(
                group_id=core.settings.group, generation_id=generation, member_id=member_id, group_instance_id=instance_id
            )
        return last

    def _interval_ms(self) -> int:
        jitter = self._core.policy.heartbeat_jitter
        return max(1, round(self.steady_ms * (1 + jitter * (2 * self._core.draw() - 1)))) if jitter else self.steady_ms

    def _end_session(self, now_ms: int) -> None:
        """Forget the coordinator after a session timeout without an answer, but keep the membership (CLIENT-51)."""
        self._core.session_ms = None
        self._core.forget_coordinator()

    def _end_poll(self, now_ms: int) -> None:
        """Leave because the application has not polled for max.poll.interval.ms. Its next poll joins again (CLIENT-52)."""
        core = self._core
        core.is_unpolled = True
        if core.policy.poll_end_leaves:
            leave_group(core, now_ms, "the poll interval was exceeded")
        core.reset("the application did not poll in time")
