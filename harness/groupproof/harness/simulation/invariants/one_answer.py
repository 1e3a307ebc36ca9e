"""Every request is answered once: those that park when their phase ends at the latest, all others at once (INV-06, INV-08)."""

from __future__ import annotations

from collections.abc import Hashable
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.coordinator import Reply, Transition
from groupproof.harness.simulation.settings import Broken
from groupproof.protocol.rules.cells import State
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import JoinGroupRequest, SyncGroupRequest

if TYPE_CHECKING:
    from groupproof.harness.simulation.pending_request import PendingRequest

__all__ = ["Answering"]

_PARKS: Final = (JoinGroupRequest, SyncGroupRequest)
_PREPARING: Final = GroupState.PREPARING_REBALANCE
_COMPLETING: Final = GroupState.COMPLETING_REBALANCE


class Answering:
    """Keeps the parked requests of the tenure, by member; one that a newer one of its member supersedes need not be answered (JOIN-35).

    `answers_the_removed` is False for releases that leave the JoinGroup of a member unanswered that is removed meanwhile (LEAVE-08).
    """

    def __init__(self, *, answers_the_removed: bool) -> None:
        self._answers_the_removed = answers_the_removed
        self._parked: dict[type, dict[str, int]] = {JoinGroupRequest: {}, SyncGroupRequest: {}}
        self._open: int | None = None
        self._state: State = None
        self._has_moved = False

    def taken_up(self, token: int) -> None:
        self._open = token

    def answered(self, reply: Reply, taken: PendingRequest | None) -> bool:
        """Take note of an answer; return whether the request was parked."""
        if taken is None:
            raise Broken("INV-08", f"a request was answered that has its answer already, with {type(reply.message).__name__}")
        if reply.token == self._open:
            self._open = None
            return False
        parked = self._parked[type(taken.request)]
        key = _key(taken, reply.token)
        if parked.get(key) == reply.token:
            del parked[key]
        return True

    def moved(self, move: Transition) -> None:
        self._state, self._has_moved = move.after, True

    def settled(self, taken: PendingRequest | None) -> None:
        """Look at what is parked after the request `taken`, or after a timer: nothing may be forgotten."""
        if self._open is not None and taken is not None:
            self._park(self._open, taken)
        self._open = None
        if self._has_moved:
            self._has_moved = False
            self._none_left(JoinGroupRequest, _PREPARING)
            self._none_left(SyncGroupRequest, _COMPLETING)

    def is_parked(self, member_id: str) -> bool:
        return any(member_id in parked for parked in self._parked.values())

    def has_joined(self, member_id: str) -> bool:
        return member_id in self._parked[JoinGroupRequest]

    @property
    def joined(self) -> int:
        """How many JoinGroups are parked."""
        return len(self._parked[JoinGroupRequest])

    def unloaded(self, *, drops: bool) -> None:
        for kind, parked in self._parked.items():
            if parked and not drops and self._answers_the_removed:
                raise Broken("EMIG-02", f"{len(parked)} parked {kind.__name__} were not answered as the coordinator moved")
        for parked in self._parked.values():
            parked.clear()
        self._open, self._state = None, None

    def led_in(self, state: State) -> None:
        self._state = state

    def _park(self, token: int, taken: PendingRequest) -> None:
        if not isinstance(taken.request, _PARKS):
            raise Broken("INV-08", f"{taken.request.api.title} was not answered")
        allowed = _PREPARING if isinstance(taken.request, JoinGroupRequest) else _COMPLETING
        if self._state is not allowed:
            raise Broken("INV-06", f"{taken.request.api.title} is parked in {self._state}")
        self._parked[type(taken.request)][_key(taken, token)] = token

    def _none_left(self, kind: type, but_in: StrEnum) -> None:
        parked = self._parked[kind]
        if parked and self._state is not but_in:
            if self._answers_the_removed:
                raise Broken("INV-08", f"{len(parked)} parked {kind.__name__} were left unanswered in {self._state}: of {next(iter(parked))}")
            parked.clear()


def _key(taken: PendingRequest, token: Hashable) -> str:
    request = taken.request
    assert isinstance(request, _PARKS)
    return request.member_id or f"#{token}"
