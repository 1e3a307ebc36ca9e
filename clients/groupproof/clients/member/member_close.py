"""Leaving the group: one LeaveGroup that is never repeated, and the clean close at close and unsubscribe (LEAVE-55, CLIENT-71 to CLIENT-73)."""

from __future__ import annotations

from enum import Enum

from groupproof.clients.member.member_core import NO_GENERATION, Core
from groupproof.clients.member.offset_requests import OffsetRequests
from groupproof.clients.outputs import CallbackKind, CloseResult
from groupproof.protocol.vocabulary import MemberState
from groupproof.protocol.wire.messages import HeartbeatRequest, LeaveGroupRequest, LeaveMember

__all__ = ["CleanClose", "leave_group"]


def leave_group(core: Core, now_ms: int, reason: str, *, forced: bool | None = None, timeout_ms: int | None = None) -> tuple[int, ...]:
    """Send LeaveGroup if it is due, and reset in any case. Return the ids of the requests sent.

    `forced` makes any kind of member leave (True) or stay (False). None: dynamic members leave, static ones stay (STATIC-15). A
    member that has only the id from error 79 leaves too, which removes the pending id.
    """
    policy = core.policy
    is_joining = core.state in (MemberState.PREPARING_REBALANCE, MemberState.COMPLETING_REBALANCE)
    leaves = forced if forced is not None else core.settings.instance_id is None or policy.leaves_when_static
    sent: list[int] = []
    if leaves and core.has_coordinator and core.member_id and (policy.leaves_while_joining or not is_joining):
        # A parked JoinGroup would hold back the LeaveGroup until the join completes, so it uses a connection of its own.
        lane = "goodbye" if policy.leaves_on_own_connection or core.state is MemberState.PREPARING_REBALANCE else "group"
        members = (LeaveMember(member_id=core.member_id if policy.leaves_by_id else "", group_instance_id=core.instance_id, reason=reason),)
        request = LeaveGroupRequest(group_id=core.settings.group, members=members)
        sent = [core.send(request, now_ms, lane=lane, timeout_ms=timeout_ms) for _ in range(policy.leaves)]
        if policy.heartbeats_after_leave:
            core.send(HeartbeatRequest(group_id=core.settings.group, generation_id=core.generation, member_id=core.member_id), now_ms, lane=lane)
    core.reset(reason)
    return tuple(sent)


class _Stage(Enum):
    COMMITTING = "committing"
    HANDING_OVER = "handing over"
    CALLING = "calling back"
    LEAVING = "leaving"


class CleanClose:
    """Auto-commit, revoke the partitions through the listener, leave, and output `CloseResult`. `close_timeout_ms` bounds every stage."""

    def __init__(self, core: Core, requests: OffsetRequests) -> None:
        self._core, self._offset_requests = core, requests
        self.stage: _Stage | None = None
        self._subscribes_then = False
        self._closes = False
        self._forced: bool | None = None
        self._deadline_ms = 0
        self._leaves: tuple[int, ...] = ()

    @property
    def is_under_way(self) -> bool:
        return self.stage is not None

    def begin(self, now_ms: int, *, closes: bool, forced: bool | None) -> None:
        """Begin to close or unsubscribe. A second call during an unsubscribe only turns it into a close."""
        core = self._core
        self._closes, self._subscribes_then = self._closes or closes, False
        if self.stage is not None:
            return
        self._forced = forced
        self._deadline_ms = now_ms + core.settings.close_timeout_ms
        self.stage = _Stage.COMMITTING
        core.is_subscribed = False
        commits = core.settings.auto_commit and core.policy.commits_on_close and core.state is MemberState.STABLE
        if commits and core.owned and core.failure is None:
            self._offset_requests.commit(
                "close", self._offset_requests.own_positions(), now_ms, mode="close", timeout_ms=core.settings.close_timeout_ms
            )

    def step(self, now_ms: int) -> None:
        if self.stage is _Stage.COMMITTING and not self._offset_requests.is_committing("close"):
            self.stage = _Stage.HANDING_OVER
        if self.stage is _Stage.HANDING_OVER and self._core.calling is None:
            self._hand_over()
        if self.stage is _Stage.CALLING and self._core.calling is None:
            self._leave(now_ms)
        if self.stage is _Stage.LEAVING and (now_ms >= self._deadline_ms or not self._is_leaving()):
            self.stage = None
            self._core.out.append(CloseResult(closed=self._closes))
            self._core.is_subscribed = self._subscribes_then and not self._closes

    def subscribe(self) -> None:
        """Subscribe again: now, or after the member has left. Java's `unsubscribe` returns only then, so no subscription comes earlier."""
        if self.stage is None:
            self._core.is_subscribed = True
        else:
            self._subscribes_then = True

    def next_ms(self) -> int | None:
        return self._deadline_ms if self.stage is _Stage.LEAVING else None

    def _hand_over(self) -> None:
        """Call revoked while the member still has its generation, otherwise lost (Kafka: onLeavePrepare)."""
        core = self._core
        self.calls_back()
        is_lost = core.is_lost or core.generation == NO_GENERATION or not core.member_id
        if core.owned:
            core.call(CallbackKind.LOST if is_lost else CallbackKind.REVOKED, core.owned)

    def _leave(self, now_ms: int) -> None:
        core = self._core
        left_ms = self.awaits_leave(now_ms)
        forced = self._forced
        if forced is None and core.settings.thread is not None:  # KAFKA-8399: a thread that restarts soon keeps its tasks
            forced = core.policy.streams == ("leaves-on-close" if core.settings.instance_id is None else "leaves-when-static")
        self._leaves = leave_group(core, now_ms, "the consumer is being closed", forced=forced, timeout_ms=left_ms)
        core.owned = frozenset()
        core.is_lost = False

    def calls_back(self) -> None:
        self.stage = _Stage.CALLING

    def awaits_leave(self, now_ms: int) -> int:
        """Wait for the leave's answer from now on. Return the remaining time in ms."""
        self.stage = _Stage.LEAVING
        return max(1, self._deadline_ms - now_ms)

    def _is_leaving(self) -> bool:
        return any(self._core.requests.is_pending(leave) for leave in self._leaves)
