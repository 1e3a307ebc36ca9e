"""From what the coordinator assigns to what the application holds: commit, revoke, assign, acknowledge (KIP-848; CGT-01 to CGT-17).

`step` is what the application's poll may do, since callbacks run within it; `settled` takes an assignment at any time. An assignment that comes while another is
being reconciled waits until that one is acknowledged. Kafka's `AbstractMembershipManager.maybeReconcile`.
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
    """Walks one member from one assignment to the next."""

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
        """Tell whether the newest assignment is held, all of it."""
        core = self._core
        return self._stage is _Stage.IDLE and core.held_number == core.target_number and core.held == core.target

    @property
    def going(self) -> frozenset[TopicPartition]:
        """The partitions that are being given up: nothing more is read of them (CGT-04, CGP-13)."""
        if self._stage is _Stage.IDLE or self._stage is _Stage.ASSIGNING:
            return _NOTHING
        owned = self._core.owned
        if self._going[0] is not owned or self._going[1] is not self._next:  # each poll asks twice
            self._going = owned, self._next, owned - self._core.named(self._next)
        return self._going[2]

    def abandon(self) -> None:
        """Forget what is under way: the membership that it belonged to is over (CGT-16)."""
        self._stage, self._asked_for = _Stage.IDLE, frozenset()

    def fail(self) -> None:
        """Go no further: a callback raised an error. Kafka's coordinator fences the member when its rebalance timeout is over (`AbstractMembershipManager.revokeAndAssign`)."""
        self._stage = _Stage.FAILED

    # What the coordinator says

    def take_none(self) -> None:
        """Take an answer without an assignment for one with an empty assignment, as one does who mistakes it."""
        self._aim_at(frozenset())

    def take(self, assignment: ConsumerAssignment) -> None:
        """Take the assignment of an answer, which is the whole one."""
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

    # What the application's poll does

    def step(self, now_ms: int) -> None:
        """Go as far as is possible now; a callback that runs is waited for."""
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
        """Tell whether the target, as far as its topics have names, is another than what is held; ask for the names that lack."""
        core = self._core
        if core.target is None or not core.is_subscribed:
            return False
        if self.is_at_rest:
            return False  # as nearly always: all of it is held, whose topics had names then
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
        if target is None or all([topic_id in names for topic_id, _ in target]):  # as nearly always
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
        """Say at once what is held now (CGC-29); go on if something is lacking or another assignment has come."""
        core = self._core
        self._stage = _Stage.IDLE
        core.held, core.held_number = self._next, self._next_number
        core.epoch_state = EpochState.ACKNOWLEDGING
        if core.choices.acknowledges == "at-once":
            self._heartbeats.at_once(now_ms)

    def acknowledged(self) -> None:
        """Note that the coordinator has been told, if it has."""
        core = self._core
        if self._heartbeats.is_acknowledged:
            is_whole = core.held == core.target
            core.epoch_state = EpochState.STABLE if is_whole else EpochState.RECONCILING
