"""How soon a group notices a fault and settles again, how often it rebalances, and by how many requests."""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.meters.meter import Figures, added
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

__all__ = ["Rebalancing"]

_COUNTED: Final = frozenset(api.title for api in (Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.SYNC_GROUP))
_STRIKES: Final = frozenset({"delivered"})
_STRUCK_BY_KIT: Final = frozenset({"kill", "freeze", "exit", "break", "impair"})
_MENDS: Final = frozenset({"healed", "released"})


class Rebalancing:
    """Measures `rebalances`, `rebalance_requests` (FindCoordinator, JoinGroup, SyncGroup), `rebalancing_ms`; and, where a fault struck,
    `time_to_detect_ms` (from the first fault to the first rebalance after it) and `time_to_stable_ms` (from the last fault or its healing until the group
    was settled for good). A rebalance is a new generation; it begins with the first sign of it on the wire, or with the coordinator's transition."""

    def __init__(self) -> None:
        self._generation = -1
        self._since_ms: float | None = None
        self._struck_ms: float | None = None
        self._detected_ms: float | None = None
        self._mended_ms: float | None = None
        self._settled_ms: float | None = None
        self._is_over = False
        self._figures = Figures()

    def feed(self, seen: Observation) -> None:
        if seen.who == "kit" and seen.body.get("name") == "end" and seen.client is None:
            self._is_over = True
        if self._is_over:
            return
        self._note_fault(seen)
        if seen.kind == "request" and seen.api in _COUNTED:
            self._asks(seen)
        elif seen.kind == "response":
            self._hears(seen)
        elif seen.kind == "transition" and seen.state_after == GroupState.PREPARING_REBALANCE.value:
            self._begin(seen.at_ms)
        elif seen.kind == "transition" and seen.state_after == GroupState.EMPTY.value:
            self._settle(seen.at_ms)

    def _note_fault(self, seen: Observation) -> None:
        strikes = seen.kind == "fault" and seen.detail in _STRIKES
        strikes = strikes or (seen.who == "kit" and seen.kind == "event" and seen.body.get("name") in _STRUCK_BY_KIT)
        if strikes and self._struck_ms is None:
            self._struck_ms = seen.at_ms
        if strikes or (seen.kind == "fault" and seen.detail in _MENDS):
            self._mended_ms = seen.at_ms

    def _asks(self, seen: Observation) -> None:
        self._figures.add("rebalance_requests", 1, seen.client)
        if seen.api == Api.JOIN_GROUP.title:
            self._begin(seen.at_ms)

    def _begin(self, at_ms: float) -> None:
        if self._since_ms is None:
            self._since_ms, self._settled_ms = at_ms, None
        if self._struck_ms is not None and self._detected_ms is None:
            self._detected_ms = at_ms

    def _hears(self, seen: Observation) -> None:
        if seen.error == ErrorCode.REBALANCE_IN_PROGRESS:
            self._begin(seen.at_ms)
        elif seen.api == Api.JOIN_GROUP.title and not seen.error and seen.generation is not None:
            if seen.generation > self._generation:
                self._generation = seen.generation
                self._figures.add("rebalances")
        elif seen.api == Api.SYNC_GROUP.title and not seen.error and seen.generation in (self._generation, None):
            self._settle(seen.at_ms)

    def _settle(self, at_ms: float) -> None:
        """Note that a member has its assignment: the group is settled with the last that has."""
        if self._since_ms is not None:
            self._figures.add("rebalancing_ms", max(0.0, at_ms - self._since_ms))
        self._since_ms, self._settled_ms = None, at_ms

    def result(self) -> Figures:
        figures = added([self._figures])
        if self._struck_ms is not None and self._detected_ms is not None:
            figures.peak("time_to_detect_ms", self._detected_ms - self._struck_ms)
        if self._mended_ms is not None and self._settled_ms is not None:
            figures.peak("time_to_stable_ms", max(0.0, self._settled_ms - self._mended_ms))
        return figures
