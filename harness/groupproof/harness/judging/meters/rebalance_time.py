"""How soon a group detects a fault and settles again, how often it rebalances, and how many requests that takes."""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.meters.meter import Figures, added
from groupproof.harness.judging.reconciling import EpochMember, follow_heartbeats
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

__all__ = ["Rebalancing"]

_COUNTED: Final = frozenset(api.title for api in (Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.SYNC_GROUP))
_BEAT: Final = Api.CONSUMER_GROUP_HEARTBEAT.title
_HOUR_MS: Final = 3_600_000.0
_FAULT_STAGES: Final = frozenset({"delivered"})
_KIT_FAULTS: Final = frozenset({"kill", "freeze", "exit", "break", "impair"})
_MENDS: Final = frozenset({"healed", "released"})


class Rebalancing:
    """Measures `rebalances`, `rebalance_requests` (FindCoordinator, JoinGroup, SyncGroup) and `rebalancing_ms`.

    If a fault acted, it also measures `time_to_detect_ms` (from the first fault to the next rebalance) and `time_to_stable_ms` (from the last fault
    or its healing until the group was finally settled). A rebalance is a new generation. It begins with its first sign on the wire, or with the
    coordinator's transition.

    In KIP-848's protocol a rebalance is a new epoch. It begins with the heartbeat that joins or leaves, or the first answer with that epoch. It
    ends when each member has reported that it owns its whole target at that epoch; `reconciliation_max_ms` is the longest. `epochs` by
    `epoch_hours` are the epochs per hour. A heartbeat during a rebalance counts as a request.
    """

    def __init__(self) -> None:
        self._generation = -1
        self._members: dict[str, EpochMember] = {}
        self._first_beat_ms: float | None = None
        self._last_beat_ms = 0.0
        self._since_ms: float | None = None
        self._fault_ms: float | None = None
        self._detected_ms: float | None = None
        self._healed_ms: float | None = None
        self._settled_ms: float | None = None
        self._is_over = False
        self._figures = Figures()

    def feed(self, obs: Observation) -> None:
        if obs.who == "kit" and obs.body.get("name") == "end" and obs.client is None:
            self._is_over = True
        if self._is_over:
            return
        self._note_fault(obs)
        if obs.api == _BEAT:
            self._beat(obs)
        elif obs.kind == "request" and obs.api in _COUNTED:
            self._asks(obs)
        elif obs.kind == "response":
            self._hears(obs)
        elif obs.kind == "transition" and obs.state_after == GroupState.PREPARING_REBALANCE.value:
            self._begin(obs.at_ms)
        elif obs.kind == "transition" and obs.state_after == GroupState.EMPTY.value:
            self._settle(obs.at_ms)

    def _note_fault(self, obs: Observation) -> None:
        is_fault = obs.kind == "fault" and obs.detail in _FAULT_STAGES
        is_fault = is_fault or (obs.who == "kit" and obs.kind == "event" and obs.body.get("name") in _KIT_FAULTS)
        if is_fault and self._fault_ms is None:
            self._fault_ms = obs.at_ms
        if is_fault or (obs.kind == "fault" and obs.detail in _MENDS):
            self._healed_ms = obs.at_ms

    def _asks(self, obs: Observation) -> None:
        self._figures.add("rebalance_requests", 1, obs.client)
        if obs.api == Api.JOIN_GROUP.title:
            self._begin(obs.at_ms)

    def _begin(self, at_ms: float) -> None:
        if self._since_ms is None:
            self._since_ms, self._settled_ms = at_ms, None
        if self._fault_ms is not None and self._detected_ms is None:
            self._detected_ms = at_ms

    def _hears(self, obs: Observation) -> None:
        if obs.error == ErrorCode.REBALANCE_IN_PROGRESS:
            self._begin(obs.at_ms)
        elif obs.api == Api.JOIN_GROUP.title and not obs.error and obs.generation is not None:
            if obs.generation > self._generation:
                self._generation = obs.generation
                self._figures.add("rebalances")
        elif obs.api == Api.SYNC_GROUP.title and not obs.error and obs.generation in (self._generation, None):
            self._settle(obs.at_ms)

    def _beat(self, obs: Observation) -> None:
        """Record a heartbeat of KIP-848, or its answer."""
        self._first_beat_ms, self._last_beat_ms = obs.at_ms if self._first_beat_ms is None else self._first_beat_ms, obs.at_ms
        follow_heartbeats(self._members, obs)
        if obs.kind == "request":
            if (obs.member_epoch or 0) <= 0:
                self._begin(obs.at_ms)
            if self._since_ms is not None:
                self._figures.add("rebalance_requests", 1, obs.client)
        elif obs.kind == "response" and not obs.error and obs.member_epoch is not None:
            if obs.member_epoch > self._generation:
                self._generation = obs.member_epoch
                self._figures.add("rebalances")
                self._figures.add("epochs")
                self._begin(obs.at_ms)
            if (mine := self._members.get(obs.client or "")) is not None and not mine.has_said_all:
                self._begin(obs.at_ms)
            if self._since_ms is not None and self._has_reconciled():
                self._figures.peak("reconciliation_max_ms", obs.at_ms - self._since_ms)
                self._settle(obs.at_ms)

    def _has_reconciled(self) -> bool:
        present = [member for member in self._members.values() if member.epoch >= 0]
        return bool(present) and all(member.epoch == self._generation and member.has_said_all for member in present)

    def _settle(self, at_ms: float) -> None:
        """Record that a member has its assignment. The group is settled with the last one."""
        if self._since_ms is not None:
            self._figures.add("rebalancing_ms", max(0.0, at_ms - self._since_ms))
        self._since_ms, self._settled_ms = None, at_ms

    def result(self) -> Figures:
        figures = added([self._figures])
        if self._first_beat_ms is not None and self._last_beat_ms > self._first_beat_ms:
            figures.add("epoch_hours", (self._last_beat_ms - self._first_beat_ms) / _HOUR_MS)
        if self._fault_ms is not None and self._detected_ms is not None:
            figures.peak("time_to_detect_ms", self._detected_ms - self._fault_ms)
        if self._healed_ms is not None and self._settled_ms is not None:
            figures.peak("time_to_stable_ms", max(0.0, self._settled_ms - self._healed_ms))
        return figures
