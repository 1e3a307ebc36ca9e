"""The leader of a group of Connect workers: it assigns connectors and tasks (Kafka: EagerAssignor, IncrementalCooperativeAssignor, KIP-415).

From version 1 on it moves as few as possible. It revokes in one generation and assigns to another worker in the next. The jobs of a lost worker
stay unassigned until `scheduled.rebalance.max.delay.ms` have passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from groupproof.clients.member.policy import Policy
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.embedded.connect_protocol import CONFIG_MISMATCH, CONNECTOR, ConnectAssignment, WorkerState

__all__ = ["ConnectLeader", "Jobs", "jobs_of"]

Jobs = frozenset[TopicPartition]
_NOTHING: Final[Jobs] = frozenset()


def jobs_of(connectors: Iterable[str], tasks_max: int) -> Jobs:
    """Return the connectors and their tasks."""
    return frozenset((connector, task) for connector in connectors for task in range(CONNECTOR, tasks_max))


@dataclass(slots=True, kw_only=True)
class _Plan:
    """The changes of one generation: the jobs of each member at its start, and the jobs to revoke and to assign."""

    running: dict[str, set[TopicPartition]]
    revoked: dict[str, set[TopicPartition]] = field(default_factory=dict)
    assigned: dict[str, set[TopicPartition]] = field(default_factory=dict)

    def revoke(self, member: str, jobs: Iterable[TopicPartition]) -> None:
        self.revoked.setdefault(member, set()).update(jobs)
        self.running[member] -= set(jobs)

    def assign(self, jobs: Iterable[TopicPartition]) -> None:
        """Assign each job to the member with the fewest jobs."""
        for job in sorted(jobs):
            member = min(sorted(self.running), key=lambda name: len(self.running[name]))
            self.running[member].add(job)
            self.assigned.setdefault(member, set()).add(job)


class ConnectLeader:
    """The leader's state from one generation to the next."""

    def __init__(self, policy: Policy, max_delay_ms: int) -> None:
        self._policy = policy
        self._max_delay_ms = max_delay_ms
        self._previous: Jobs = _NOTHING
        self._members: frozenset[str] = frozenset()
        self._scheduled_ms: int | None = None

    def assign(
        self, leader: str, members: Mapping[str, WorkerState], configured: Jobs, *, offset: int, version: int, now_ms: int
    ) -> dict[str, ConnectAssignment]:
        """Return the assignment of each member. If the leader's configuration is behind another's, it is an error for all."""
        newest = max(state.offset for state in members.values())
        named = "" if self._policy.connect == "names-no-leader" else leader
        blank = ConnectAssignment(leader=named, leader_url=members[leader].url, offset=max(newest, offset), version=version)
        if offset < newest and self._policy.connect != "assigns-though-behind":
            return {name: _with(blank, error=CONFIG_MISMATCH) for name in members}
        if version == 0:
            dealt = _Plan(running={name: set() for name in members})
            dealt.assign(configured)
            return {name: _with(blank, assigned=dealt.assigned.get(name, ())) for name in members}
        made, delay_ms = self._incremental(members, configured, now_ms)
        return {name: _with(blank, assigned=made.assigned.get(name, ()), revoked=made.revoked.get(name, ()), delay_ms=delay_ms) for name in members}

    def _incremental(self, members: Mapping[str, WorkerState], configured: Jobs, now_ms: int) -> tuple[_Plan, int]:
        running = {name: set(state.assignment.assigned if state.assignment else ()) for name, state in members.items()}
        active = frozenset[TopicPartition]().union(*running.values())
        made = _Plan(running=running)
        if self._policy.connect != "never-revokes-deleted":
            for name in members:
                if gone := running[name] - configured:
                    made.revoke(name, gone)
        lost = (self._previous - active) & configured
        came = configured - self._previous - active
        delay_ms = self._delay_ms(lost, frozenset(members), now_ms)
        if delay_ms == 0 and self._policy.connect != "never-revokes-deleted":
            self._balance(made, configured)
        ready = came | (lost if delay_ms == 0 and self._policy.connect != "keeps-lost-jobs" else _NOTHING)
        if self._policy.connect == "drops-a-job":
            ready -= {max(configured)}
        made.assign(ready)
        self._deviate(made)
        self._previous = frozenset[TopicPartition]().union(*running.values()) | lost
        self._members = frozenset(members)
        return made, delay_ms

    def _delay_ms(self, lost: Jobs, members: frozenset[str], now_ms: int) -> int:
        """Return the remaining delay of lost jobs in ms, or 0 if none wait."""
        if not lost or self._max_delay_ms == 0 or self._policy.connect == "reassigns-at-once":
            self._scheduled_ms = None
            return 0
        if self._scheduled_ms is None and members >= self._members:
            return 0  # no member left: an assignment was not delivered, and its jobs count as new
        if self._scheduled_ms is None or self._policy.connect == "restarts-the-delay":
            self._scheduled_ms = now_ms + self._max_delay_ms
        left_ms = max(0, self._scheduled_ms - now_ms)
        if left_ms == 0:
            self._scheduled_ms = None
        return left_ms

    def _balance(self, made: _Plan, configured: Jobs) -> None:
        """Revoke from each member the jobs beyond its share."""
        share = -(-len(configured) // len(made.running))
        for name, jobs in made.running.items():
            if beyond := sorted(jobs)[share:]:
                made.revoke(name, beyond)

    def _deviate(self, made: _Plan) -> None:
        """Apply the planted bug of the policy."""
        if self._policy.connect == "gives-at-once":
            made.assign(job for jobs in made.revoked.values() for job in jobs)
        if self._policy.connect == "shuffles-when-one-returns" and self._scheduled_ms is not None and len(made.running) > 1:
            name = max(sorted(made.running), key=lambda member: len(made.running[member]))
            made.revoke(name, sorted(made.running[name])[:1])
        if self._policy.connect == "assigns-twice":
            everything = {job for jobs in made.assigned.values() for job in jobs}
            made.assigned = {name: set(everything) for name in made.running}


def _with(
    blank: ConnectAssignment,
    *,
    error: int = 0,
    assigned: Iterable[TopicPartition] = (),
    revoked: Iterable[TopicPartition] = (),
    delay_ms: int = 0,
) -> ConnectAssignment:
    return ConnectAssignment(
        error=error,
        leader=blank.leader,
        leader_url=blank.leader_url,
        offset=blank.offset,
        assigned=tuple(sorted(assigned)),
        revoked=tuple(sorted(revoked)),
        delay_ms=delay_ms,
        version=blank.version,
    )
