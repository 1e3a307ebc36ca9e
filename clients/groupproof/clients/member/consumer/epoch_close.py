"""Leaving a consumer group: at close, at unsubscribe, and because of missing polls (CGV-01 to CGV-24).

The leave is a heartbeat with epoch -1, or -2 for a static member that will return (KIP-848). It is sent once, whatever its result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupproof.clients.member.consumer.epoch_core import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH, EpochCore, EpochState
from groupproof.clients.member.member_close import CleanClose
from groupproof.clients.outputs import CallbackKind

if TYPE_CHECKING:
    from groupproof.clients.member.consumer.epoch_heartbeats import EpochHeartbeats
    from groupproof.clients.member.offset_requests import OffsetRequests

__all__ = ["EpochClose", "leave_consumer_group"]


def leave_consumer_group(
    core: EpochCore, heartbeats: EpochHeartbeats, now_ms: int, state: EpochState, *, forced: bool | None = None, timeout_ms: int | None = None
) -> tuple[int, ...]:
    """Send the leave if it is due, and end the membership in any case. Return the ids of the requests sent.

    `forced` leaves permanently (True) or stays as far as the protocol allows (False): a static member keeps its place, and a dynamic member sends no
    leave, so its session times out (KIP-1092).
    """
    sent: list[int] = []
    if _is_due(core, forced=forced):
        times = {"twice": 2, "never": 0}.get(core.choices.leaves, 1)
        sent = [heartbeats.leave(now_ms, _epoch(core, forced=forced), timeout_ms=timeout_ms) for _ in range(times)]
    core.end_membership(state)
    heartbeats.forget()
    return tuple(sent)


def _is_due(core: EpochCore, *, forced: bool | None) -> bool:
    """Return whether a leave is due: the coordinator may know the member, even if its join is not answered yet (CGV-13)."""
    stays = forced is False and core.settings.instance_id is None and not core.choices.leaves_when_told_to_stay
    is_known = core.is_member or (core.epoch == JOIN_EPOCH and core.has_joined)
    return is_known and core.failure is None and core.has_coordinator and bool(core.member_id) and not stays


def _epoch(core: EpochCore, *, forced: bool | None) -> int:
    right = LEAVE_EPOCH if forced or core.settings.instance_id is None else STATIC_LEAVE_EPOCH
    return {"right": right, "always-1": LEAVE_EPOCH, "always-2": STATIC_LEAVE_EPOCH, "current": core.epoch, "zero": 0}[core.choices.leave_epoch]


class EpochClose(CleanClose):
    """Auto-commit, revoke the partitions through the listener, leave, and output `CloseResult`. Heartbeats continue until the leave."""

    def __init__(self, core: EpochCore, requests: OffsetRequests, heartbeats: EpochHeartbeats) -> None:
        super().__init__(core, requests)
        self._member, self._heartbeats = core, heartbeats

    def begin(self, now_ms: int, *, closes: bool, forced: bool | None) -> None:
        begins = self.stage is None
        super().begin(now_ms, closes=closes, forced=forced)
        if begins:
            self._leaves = ()
        if self._member.is_member:
            self._member.epoch_state = EpochState.PREPARE_LEAVING
            early = "before-callback" if closes else "unsubscribed-before-callback"
            if begins and self._member.choices.leaves in ("before-callback", early):
                self._leaves = (self._heartbeats.leave(now_ms, _epoch(self._member, forced=forced)),)
                self._heartbeats.forget()

    def _hand_over(self) -> None:
        core = self._member
        self.calls_back()
        if core.owned:
            core.call(CallbackKind.REVOKED if core.is_member else CallbackKind.LOST, core.owned)

    def _leave(self, now_ms: int) -> None:
        core = self._member
        if core.choices.releases_before_leave and not self._is_released(now_ms):
            return
        left_ms = self.awaits_leave(now_ms)
        if self._leaves:
            core.end_membership(EpochState.UNSUBSCRIBED)
        else:
            self._leaves = leave_consumer_group(core, self._heartbeats, now_ms, EpochState.UNSUBSCRIBED, forced=self._forced, timeout_ms=left_ms)
        core.owned = frozenset()
        core.is_lost = False

    def _is_released(self, now_ms: int) -> bool:
        """Return whether the coordinator has confirmed that the member owns nothing. Send that first if necessary."""
        core = self._member
        if not core.is_member or core.coordinator is None or now_ms >= self._deadline_ms:
            return True
        if core.held:
            core.held = frozenset()
            self._heartbeats.at_once(now_ms)
        return self._heartbeats.is_acknowledged
