"""Every request is answered once: parked ones at the end of their phase at the latest, all others at once (INV-06, INV-08)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.coordinator import Reply, Transition
from groupproof.harness.simulation.settings import InvariantBroken
from groupproof.protocol.rules.cells import State
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest

if TYPE_CHECKING:
    from groupproof.harness.simulation.pending_request import PendingRequest

__all__ = ["Answering"]

_PARKS: Final = (JoinGroupRequest, SyncGroupRequest)
_PREPARING: Final = GroupState.PREPARING_REBALANCE
_COMPLETING: Final = GroupState.COMPLETING_REBALANCE


class Answering:
    """Tracks the parked requests of the tenure, by member. A request superseded by a newer one of its member needs no answer (JOIN-35).

    `answers_the_removed` is False for releases that never answer the JoinGroup of a member that is removed meanwhile (LEAVE-08).
    """

    def __init__(self, *, answers_the_removed: bool, answers_the_unloaded: bool = True) -> None:
        self._answers_the_removed, self._answers_the_unloaded = answers_the_removed, answers_the_unloaded
        self._parked: dict[type, dict[str, int]] = {JoinGroupRequest: {}, SyncGroupRequest: {}}
        self._open: int | None = None
        self._state: State = None
        self._has_moved = False

    def processing(self, token: int) -> None:
        self._open = token

    def answered(self, reply: Reply, pending: PendingRequest | None) -> bool:
        """Record an answer. Return whether the request was parked."""
        if pending is None:
            raise InvariantBroken("INV-08", f"a request was answered that has its answer already, with {type(reply.message).__name__}")
        if reply.token == self._open:
            self._open = None
            return False
        parked = self._parked[type(pending.request)]
        key = _key(pending, reply.token)
        if parked.get(key) == reply.token:
            del parked[key]
        return True

    def moved(self, move: Transition) -> None:
        self._state, self._has_moved = move.after, True

    def settled(self, pending: PendingRequest | None, member_ids: Callable[[], Collection[str]] = tuple) -> None:
        """Check the parked requests after the request `pending`, or after a timer: none may be forgotten. `member_ids` returns the group's members.

        A member that leaves on another connection is owed no answer to its SyncGroup: INV-08 is for members that stay.
        """
        if self._open is not None and pending is not None:
            self._park(self._open, pending)
        self._open = None
        if self._has_moved:
            self._has_moved = False
            if pending is not None and type(pending.request) is LeaveGroupRequest:
                self._forget_leavers(member_ids())
            self._none_left(JoinGroupRequest, _PREPARING)
            self._none_left(SyncGroupRequest, _COMPLETING)

    def _forget_leavers(self, member_ids: Collection[str]) -> None:
        syncs = self._parked[SyncGroupRequest]
        for member_id in syncs.keys() - member_ids:
            del syncs[member_id]

    def is_parked(self, member_id: str) -> bool:
        return any(member_id in parked for parked in self._parked.values())

    def has_joined(self, member_id: str) -> bool:
        return member_id in self._parked[JoinGroupRequest]

    @property
    def joined(self) -> int:
        """The number of parked JoinGroups."""
        return len(self._parked[JoinGroupRequest])

    def unloaded(self, *, drops: bool) -> None:
        for kind, parked in self._parked.items():
            if parked and not drops and self._answers_the_removed and self._answers_the_unloaded:
                raise InvariantBroken("EMIG-02", f"{len(parked)} parked {kind.__name__} were not answered as the coordinator moved")
        for parked in self._parked.values():
            parked.clear()
        self._open, self._state = None, None

    def led_in(self, state: State) -> None:
        self._state = state

    def _park(self, token: int, pending: PendingRequest) -> None:
        if not isinstance(pending.request, _PARKS):
            raise InvariantBroken("INV-08", f"{pending.request.api.title} was not answered")
        allowed = _PREPARING if isinstance(pending.request, JoinGroupRequest) else _COMPLETING
        if self._state is not allowed:
            raise InvariantBroken("INV-06", f"{pending.request.api.title} is parked in {self._state}")
        self._parked[type(pending.request)][_key(pending, token)] = token

    def _none_left(self, kind: type, but_in: StrEnum) -> None:
        parked = self._parked[kind]
        if parked and self._state is not but_in:
            if self._answers_the_removed:
                raise InvariantBroken(
                    "INV-08", f"{len(parked)} parked {kind.__name__} were left unanswered in {self._state}: of {next(iter(parked))}"
                )
            parked.clear()


def _key(pending: PendingRequest, token: Hashable) -> str:
    request = pending.request
    assert isinstance(request, _PARKS)
    return request.member_id or f"#{token}"
