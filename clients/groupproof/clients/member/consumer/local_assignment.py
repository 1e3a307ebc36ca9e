"""Reconciliation, from the coordinator's assignment to the application's partitions: commit, revoke, assign, acknowledge (KIP-848; CGT-01 to CGT-17).

`step` does the work of the application's poll, because callbacks run there. `take` accepts an assignment at any time. An assignment that comes during
a reconciliation waits until the earlier one is acknowledged. Kafka's `AbstractMembershipManager.maybeReconcile`.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from groupproof.clients.member.consumer.epoch_core import EpochCore, EpochState, TopicIdPartition
from groupproof.clients.outputs import CallbackKind

if TYPE_CHECKING:
    from groupproof.clients.member.consumer.epoch_heartbeats import EpochHeartbeats
    from groupproof.clients.member.offset_requests import OffsetRequests
    from groupproof.protocol.vocabulary import TopicPartition
    from groupproof.protocol.wire.consumer_messages import ConsumerAssignment

__all__ = ["LocalAssignment"]


class _Stage(Enum):
    IDLE = "idle"
    COMMITTING = "committing before partitions are revoked"
    REVOKING = "the revoked-callback runs"
    ASSIGNING = "the assigned-callback runs"
    FAILED = "a callback raised an error"


_NOTHING: Final[frozenset[TopicPartition]] = frozenset()


class LocalAssignment:
    """Leads one member from one assignment to the next."""

    def __init__(self, core: EpochCore, requests: OffsetRequests, heartbeats: EpochHeartbeats) -> None:
        self._core, self._offset_requests, self._heartbeats = core, requests, heartbeats
        self._stage = _Stage.IDLE
        self._next: frozenset[TopicIdPartition] = frozenset()
        self._next_number = 0
        self._asked_for: frozenset[str] = frozenset()
        self._going: tuple[frozenset[TopicPartition], frozenset[TopicIdPartition], frozenset[TopicPartition]] = (_NOTHING, frozenset(), _NOTHING)

    @property
    def is_idle(self) -> bool:
        return self._stage is _Stage.IDLE

    @property
    def is_at_rest(self) -> bool:
        """Return whether the member holds the whole newest assignment."""
        core = self._core
        return self._stage is _Stage.IDLE and core.held_number == core.target_number and core.held == core.target

    @property
    def going(self) -> frozenset[TopicPartition]:
        """The partitions that are being revoked. No more records of them are read (CGT-04, CGP-13)."""
        if self._stage is _Stage.IDLE or self._stage is _Stage.ASSIGNING:
            return _NOTHING
        owned = self._core.owned
        if self._going[0] is not owned or self._going[1] is not self._next:  # each poll asks twice
            self._going = owned, self._next, owned - self._core.named(self._next)
        return self._going[2]

    def abandon(self) -> None:
        """Forget the reconciliation, because its membership is over (CGT-16)."""
        self._stage, self._asked_for = _Stage.IDLE, frozenset()

    def fail(self) -> None:
        """Stop, because a callback raised an error.

        The coordinator fences the member after its rebalance timeout (`AbstractMembershipManager.revokeAndAssign`).
        """
        self._stage = _Stage.FAILED

    # The coordinator's assignment

    def take_none(self) -> None:
        """Treat an answer without an assignment as an empty assignment, which is a client's mistake."""
        self._aim_at(frozenset())

    def take(self, assignment: ConsumerAssignment) -> None:
        """Use the assignment of an answer. It is always complete."""
        core = self._core
        assigned = frozenset([(topic.topic_id, index) for topic in assignment.topic_partitions for index in topic.partitions])
        if not assigned and core.choices.empty_assignment == "unchanged":
            return
        self._aim_at(self._to_aim_at(assigned))

    def _to_aim_at(self, assigned: frozenset[TopicIdPartition]) -> frozenset[TopicIdPartition]:
        core = self._core
        if core.choices.takes == "difference":
            return (core.target or frozenset()) | assigned
        if core.choices.takes == "everything":
            partitions = core.cluster.partitions
            return frozenset((core.ids[name], index) for name in core.topics if name in core.ids for index in range(partitions.get(name, 0)))
        return assigned

    def _aim_at(self, target: frozenset[TopicIdPartition]) -> None:
        core = self._core
        if core.choices.assignment_meanwhile == "forgotten" and not self.is_idle:
            return
        if target == core.target:
            return
        if core.target is None and not target and not core.choices.acknowledges_empty:
            core.target, core.held_number = target, core.target_number
            core.epoch_state = EpochState.STABLE
            return
        core.target = target
        core.target_number += 1

    # The work of the application's poll

    def step(self, now_ms: int) -> None:
        """Continue as far as possible now. A running callback blocks."""
        core = self._core
        if core.calling is not None or not core.is_member:
            return
        if self._stage is _Stage.IDLE:
            if not self._is_due():
                return
            self._begin(now_ms)
        if self._stage is _Stage.COMMITTING and not self._offset_requests.is_committing("rebalance"):
            self._revoke()
        if self._stage is _Stage.REVOKING and not core.is_calling():
            self._assign()
        if self._stage is _Stage.ASSIGNING and not core.is_calling():
            self._acknowledge(now_ms)

    def _is_due(self) -> bool:
        """Return whether the target, as far as its topics have names, differs from the held assignment. Request missing names."""
        core = self._core
        if core.target is None or not core.is_subscribed:
            return False
        if self.is_at_rest:
            return False  # the usual case: everything is held, so every topic had a name
        unresolved = core.unresolved
        if unresolved and self._asked_for != unresolved:
            self._asked_for = unresolved
            core.need_metadata()
        if unresolved and core.choices.unresolved == "blocks":
            return False
        has_more = self._resolved() != core.held and core.choices.unresolved != "drops"
        return core.held_number != core.target_number or has_more

    def _resolved(self) -> frozenset[TopicIdPartition]:
        target, names = self._core.target, self._core.names
        if target is None or all([topic_id in names for topic_id, _ in target]):  # the usual case
            return target or frozenset()
        return frozenset([partition for partition in target if partition[0] in names])

    def _begin(self, now_ms: int) -> None:
        core = self._core
        core.epoch_state = EpochState.RECONCILING
        self._next, self._next_number = self._resolved(), core.target_number
        self._stage = _Stage.COMMITTING
        positions = self._positions()
        if positions:
            self._offset_requests.commit("rebalance", positions, now_ms, mode="rebalance", timeout_ms=core.settings.rebalance_timeout_ms)

    def _positions(self) -> dict[TopicPartition, int]:
        core, kind = self._core, self._core.choices.commits_before_revoke
        if not core.settings.auto_commit or kind not in ("all", "revoked"):
            return {}
        going = core.owned - core.named(self._next)
        return {partition: at for partition, at in self._offset_requests.own_positions().items() if kind == "all" or partition in going}

    def _revoke(self) -> None:
        if self._core.choices.order == "assigns-first":
            self._core.call(CallbackKind.ASSIGNED, self._core.named(self._next) - self._core.owned)
        core, kind = self._core, self._core.choices.revokes
        self._stage = _Stage.REVOKING
        went = core.owned - core.named(self._next) if kind != "everything" else core.owned
        if not went:
            return
        if kind == "never":
            core.owned -= went
        else:
            core.call(CallbackKind.REVOKED, went)

    def _assign(self) -> None:
        core, kind = self._core, self._core.choices.assigned_callback
        self._stage = _Stage.ASSIGNING
        mine = core.named(self._next)
        added = mine - core.owned
        if kind == "never":
            core.owned |= added
        elif added or core.choices.calls_with_nothing:
            core.call(CallbackKind.ASSIGNED, mine if kind == "all" else added)

    def _acknowledge(self, now_ms: int) -> None:
        """Report the held assignment at once (CGC-29). A later `step` continues if topics are missing or a newer target came."""
        core = self._core
        self._stage = _Stage.IDLE
        core.held, core.held_number = self._next, self._next_number
        core.epoch_state = EpochState.ACKNOWLEDGING
        if core.choices.acknowledges == "at-once":
            self._heartbeats.at_once(now_ms)

    def acknowledged(self) -> None:
        """Update the state if the coordinator has confirmed the held assignment."""
        core = self._core
        if self._heartbeats.is_acknowledged:
            is_whole = core.held == core.target
            core.epoch_state = EpochState.STABLE if is_whole else EpochState.RECONCILING
