"""Time: a rebalance ends within its deadline, and no member that keeps the rules is evicted (INV-12, DJOIN-03, SYNC-16, HB-11, HB-12, NEWM-02).

A member's action counts when the coordinator has answered it: a heartbeat that never arrived renews no session.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from groupproof.clients.member.answer_codes import error_of
from groupproof.coordinator.machine.coordinator import Coordinator, Transition
from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.invariants.generations import Generations
from groupproof.harness.simulation.invariants.one_answer import Answering
from groupproof.harness.simulation.settings import GROUP, InvariantBroken
from groupproof.protocol.rules.cells import State
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.messages import (
    GroupRequest,
    GroupResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from groupproof.harness.simulation.pending_request import PendingRequest

__all__ = ["Deadlines", "Timeouts"]

_EMPTY: Final = GroupState.EMPTY
_PREPARING: Final = GroupState.PREPARING_REBALANCE
_COMPLETING: Final = GroupState.COMPLETING_REBALANCE
_REBALANCES: Final = ErrorCode.REBALANCE_IN_PROGRESS
_MOVE_NOBODY: Final = (HeartbeatRequest, OffsetCommitRequest, OffsetFetchRequest)
_LOOK_MS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The timeouts of all members and brokers of a simulation, in ms.

    `bounds_syncs`: the release bounds the wait for SyncGroup. `spares_newcomers`: a member may have no session before it has synced. `keeps_unsynced`:
    the session of a new member begins with the answer to its SyncGroup.
    """

    session_ms: int
    rebalance_ms: int
    initial_delay_ms: int
    newcomer_ms: int
    bounds_syncs: bool
    spares_newcomers: bool
    keeps_unsynced: bool = False


class Deadlines:
    """Recomputes the coordinator's clock: when each member was last heard of, and since when a phase lasts."""

    def __init__(self, timeouts: Timeouts, heap: Heap, answering: Answering, generations: Generations) -> None:
        self._timeouts = timeouts
        self._heap, self._answering, self._generations = heap, answering, generations
        self._machine: Coordinator | None = None
        self._members: dict[str, int] = {}  # since when each member is known
        self.heard_ms: dict[str, int] = {}
        self._asked_ms: dict[str, int] = {}  # when each member last got any answer
        self._synced: set[str] = set()
        self._instances: set[str] = set()
        self._restarted: set[str] = set()  # instances that have just joined again
        self._state: State = None
        self._prepares_since_ms = self._completes_since_ms = 0
        self._prepared_since_ms = 0  # the start of the join phase that ended last
        self._phase = 0
        self._due_ms: int | None = None  # the latest end of the phase, if it has one
        self._is_first = False  # the group was empty, and an initial delay runs
        self._stopped_ms: int | None = None  # since when the coordinator's broker is stopped
        self.has_moved = False
        if not timeouts.spares_newcomers:
            heap.after(_LOOK_MS, self._look_for_silent)

    def led_by(self, machine: Coordinator, state: State) -> None:
        """Begin a tenure: every session starts again (EMIG-03)."""
        self._machine, self._state = machine, state
        self._members = dict.fromkeys(machine.member_ids(GROUP), self._heap.now_ms)
        self.heard_ms = dict(self._members)
        self._asked_ms.clear()
        self._synced = set(self._members)

    def member_ids(self) -> tuple[str, ...]:
        """Return the ids of the group's current members, from its coordinator."""
        return () if self._machine is None else self._machine.member_ids(GROUP)

    def stays_for_ever(self, member_id: str) -> bool:
        """Return whether a member is never expired: in 2.4 a new member's session begins with the answer to its SyncGroup (KAFKA-9752)."""
        timeouts = self._timeouts
        is_kept = timeouts.keeps_unsynced and timeouts.session_ms < timeouts.newcomer_ms
        return is_kept and member_id not in self._synced and self._members.get(member_id, -1) >= self._prepared_since_ms

    def unloaded(self) -> None:
        self._machine, self._state, self._due_ms = None, None, None
        self._members.clear()
        self._phase += 1

    # Who was heard of

    def answered(self, message: GroupResponse, pending: PendingRequest, *, was_parked: bool) -> None:
        """Record the answers that restart a session (HB-12)."""
        if type(message) is HeartbeatResponse:
            error = message.error_code
            if not error or (error == _REBALANCES and self._state is _PREPARING):
                request: Any = pending.request
                self.heard_ms[request.member_id] = self._heap.now_ms
            return
        self._asked_ms[getattr(pending.request, "member_id", "")] = self._heap.now_ms
        if isinstance(message, SyncGroupResponse):
            if was_parked:  # 4.0 and later do not count a SyncGroup that is answered at once (SYNC-14 is the older rule)
                self.heard_ms[cast(SyncGroupRequest, pending.request).member_id] = self._heap.now_ms
        elif isinstance(message, OffsetCommitResponse) and message.topics and not error_of(message):  # without a commit the answer has no error code
            self.heard_ms[cast(OffsetCommitRequest, pending.request).member_id] = self._heap.now_ms

    # Duration of a phase

    def moved(self, move: Transition) -> None:
        now_ms, due_ms = self._heap.now_ms, self._due_ms
        if self._state is _PREPARING and move.after is not GroupState.DEAD and due_ms is not None and now_ms > due_ms:
            since_ms = self._prepares_since_ms
            raise InvariantBroken("INV-12", f"the join phase lasted {now_ms - since_ms} ms, of {due_ms - since_ms} ms at most")
        self._state, self.has_moved, self._due_ms = move.after, True, None
        self._phase += 1
        if move.after is _PREPARING:
            self._begin_joins(now_ms, from_empty=move.before is _EMPTY)
        elif move.after is _COMPLETING:
            self._prepared_since_ms, self._completes_since_ms = self._prepares_since_ms, now_ms
            self._synced.clear()
            if self._timeouts.bounds_syncs:
                self._ends_by(now_ms + self._timeouts.rebalance_ms)

    def _begin_joins(self, now_ms: int, *, from_empty: bool) -> None:
        timeouts = self._timeouts
        self._prepares_since_ms, self._is_first = now_ms, from_empty
        self._ends_by(now_ms + (max(timeouts.initial_delay_ms, timeouts.rebalance_ms) if from_empty else timeouts.rebalance_ms))

    def _ends_by(self, due_ms: int) -> None:
        self._due_ms = due_ms
        self._heap.at(due_ms + 1, self._look_at_phase, self._phase)

    def _look_at_phase(self, phase: int) -> None:
        """Check whether a phase that should have ended still runs. While the broker is stopped there is nothing to check."""
        due_ms = self._due_ms
        if phase != self._phase or due_ms is None or self._stopped_ms is not None:
            return
        if self._heap.now_ms <= due_ms:
            self._ends_by(due_ms)
        elif self._state is _PREPARING:
            parked = f"with {self._answering.joined} JoinGroups parked"
            raise InvariantBroken("INV-12", f"the join phase lasts longer than {due_ms - self._prepares_since_ms} ms, {parked}")
        else:
            raise InvariantBroken("SYNC-16", f"the group waits for SyncGroup longer than {due_ms - self._completes_since_ms} ms")

    def _put_off(self) -> None:
        """Extend a join phase that ends now without any JoinGroup by its full length: it waits for static members (TR-050)."""
        if self._state is _PREPARING and not self._answering.joined:
            self._due_ms = self._heap.now_ms + self._timeouts.rebalance_ms

    def stands_still(self) -> None:
        """Record that the coordinator's broker is stopped from now on."""
        self._stopped_ms = self._heap.now_ms

    def goes_on(self) -> None:
        """Record that the broker continues. Deadlines that passed meanwhile are due now; later ones do not change.

        Only an initial delay grows by the time of the stop, because its next part begins when the end of the previous one is noticed.
        """
        now_ms, due_ms, stopped_ms = self._heap.now_ms, self._due_ms, self._stopped_ms
        self._stopped_ms = None
        if due_ms is not None and stopped_ms is not None:
            is_drawn_out = self._is_first and self._state is _PREPARING
            self._ends_by(due_ms + now_ms - stopped_ms if is_drawn_out else max(due_ms, now_ms))

    # Evictions

    def _look_for_silent(self) -> None:
        """Check for members that stayed although nothing was heard of them for longer than their session, as early as possible."""
        now_ms, session_ms = self._heap.now_ms, self._timeouts.session_ms
        heard, asked = self.heard_ms, self._asked_ms
        last_ms = {member_id: max(since_ms, heard.get(member_id, 0), asked.get(member_id, 0)) for member_id, since_ms in self._members.items()}
        self._heap.at(max(now_ms + _LOOK_MS, min(last_ms.values(), default=now_ms) + session_ms + 1), self._look_for_silent)
        silent = [member_id for member_id, ms in last_ms.items() if now_ms - ms > session_ms]
        progress = None if not silent or self._machine is None else self._machine.progress(GROUP)
        if progress is None or self._stopped_ms is not None:
            return
        for member_id in silent:
            if any(member_id.startswith(f"{client}-") for client in progress.absent) and not self._answering.is_parked(member_id):
                raise InvariantBroken("HB-11", f"{member_id} is a member still in {progress.state.value}, a session after it was heard of last")

    def settled(self, request: GroupRequest | None) -> None:
        """Check for removed members, after a request or (None) after a timer."""
        if self._due_ms == self._heap.now_ms:
            self._put_off()
        if type(request) in _MOVE_NOBODY and not self.has_moved:
            return
        may_remove = request is None or isinstance(request, LeaveGroupRequest)
        if isinstance(request, SyncGroupRequest):
            if request.generation_id == self._generations.current.number:
                self._synced.add(request.member_id)
        elif isinstance(request, JoinGroupRequest):
            may_remove = self._joins(request)
        if self._machine is not None and (self.has_moved or may_remove):
            self._compare(self._machine.member_ids(GROUP), request)

    def _joins(self, request: JoinGroupRequest) -> bool:
        """Record a JoinGroup. Return whether it may have replaced a member of the same instance."""
        instance = request.group_instance_id
        if instance is None or request.member_id:
            if self._answering.has_joined(request.member_id):
                self._members.setdefault(request.member_id, self._heap.now_ms)
            return False
        is_known = instance in self._instances
        self._instances.add(instance)
        if is_known:
            self._restarted.add(instance)
        return is_known

    def _compare(self, here: tuple[str, ...], request: GroupRequest | None) -> None:
        now_ms = self._heap.now_ms
        for member_id in sorted(self._members.keys() - here):
            if member_id not in _named(request) and self._generations.identity(member_id) not in self._restarted:
                self._check_eviction(member_id)
        self._members = {member_id: self._members.get(member_id, now_ms) for member_id in here}
        self._restarted.clear()
        if self.has_moved and self._state is _COMPLETING:
            self.heard_ms = dict.fromkeys(here, now_ms)  # the end of the join phase restarts every session (DJOIN-53)
            self._asked_ms.clear()
        self.has_moved = False

    def _check_eviction(self, member_id: str) -> None:
        now_ms, timeouts = self._heap.now_ms, self._timeouts
        silent_ms = now_ms - self.heard_ms.get(member_id, self._members[member_id])
        is_silent = silent_ms >= timeouts.session_ms and not self._answering.is_parked(member_id)
        has_joined = self._answering.has_joined(member_id)
        waits_too_long = has_joined and now_ms - self._members[member_id] >= timeouts.newcomer_ms
        # Before 2.1 the next phase may follow in the same instant (DJOIN-19): this means the one that ended.
        since_ms = self._prepared_since_ms if self._completes_since_ms == now_ms else self._prepares_since_ms
        is_join_phase_over = now_ms - since_ms >= timeouts.rebalance_ms and (self.has_moved or self._state is _PREPARING)
        joins_too_late = is_join_phase_over and not has_joined
        syncs_too_late = member_id not in self._synced and now_ms - self._completes_since_ms >= timeouts.rebalance_ms
        if not (is_silent or waits_too_long or joins_too_late or syncs_too_late):
            raise InvariantBroken("HB-11", f"{member_id} was evicted in {self._state} though it was heard of {silent_ms} ms ago")


def _named(request: GroupRequest | None) -> set[str]:
    if isinstance(request, LeaveGroupRequest):
        return {member.member_id for member in request.members}
    return {request.member_id} if isinstance(request, JoinGroupRequest) else set()
