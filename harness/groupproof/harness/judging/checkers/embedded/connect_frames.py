"""Reads the frames of Kafka Connect's workers: the state in a JoinGroup, and the assignments that a leader sends. Pure.

Bytes that cannot be read are None here; a checker reports them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from groupproof.harness.judging.checkers.embedded.led_generations import syncs_of_leader
from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.harness.model.evidence import Evidence
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.embedded.connect_protocol import (
    CONNECT_PROTOCOLS,
    PROTOCOL_TYPE,
    ConnectAssignment,
    ConnectError,
    WorkerState,
    decode_connect_assignment,
    decode_worker_state,
)

__all__ = [
    "Jobs",
    "LedGeneration",
    "ReceivedJobs",
    "assignment_in",
    "assignments_in_sync",
    "jobs_in_words",
    "jobs_run",
    "led_generations",
    "received_jobs",
    "states_in",
]

Jobs = frozenset[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedGeneration:
    """The assignments in a leader's SyncGroup. `version` is that of the agreed protocol. `states` are the members' states in `join`, its JoinGroup
    response.
    """

    join: Observation
    sync: Observation
    leader: str
    version: int
    states: Mapping[str, WorkerState | None]
    assignments: Mapping[str, ConnectAssignment | None]

    def running(self, member: str) -> Jobs:
        """Return what a member reported as running."""
        state = self.states.get(member)
        return frozenset() if state is None or state.assignment is None else frozenset(state.assignment.assigned)

    def result(self, member: str) -> Jobs:
        """Return what a member runs after its assignment."""
        assignment = self.assignments.get(member)
        if assignment is None:
            return self.running(member)
        kept: Jobs = frozenset() if self.version == 0 else self.running(member) - frozenset(assignment.revoked)
        return kept | frozenset(assignment.assigned)

    def results(self) -> Jobs:
        """Return what all workers run together."""
        return frozenset[TopicPartition]().union(*(self.result(member) for member in self.states))

    @property
    def delay_ms(self) -> int:
        return max((assignment.delay_ms for assignment in self.assignments.values() if assignment is not None), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedJobs:
    """An assignment that reached a worker."""

    answer: Observation
    assignment: ConnectAssignment


def states_in(join: Observation) -> dict[str, WorkerState | None]:
    """Return the states in a worker's JoinGroup by protocol name, in its order."""
    if join.body.get("protocol_type") != PROTOCOL_TYPE:
        return {}
    return {protocol["name"]: _state(protocol.get("metadata") or b"") for protocol in join.body.get("protocols") or ()}


def assignment_in(answer: Observation) -> ConnectAssignment | None:
    """Return the assignment in a SyncGroup response."""
    return _assignment(answer.body.get("assignment") or b"")


def assignments_in_sync(sync: Observation) -> dict[str, ConnectAssignment | None]:
    """Return the assignments in a leader's SyncGroup, by member id."""
    return {item["member_id"]: _assignment(item.get("assignment") or b"") for item in sync.body.get("assignments") or ()}


def jobs_run(state: WorkerState | None) -> Jobs:
    """Return what a worker reports as running."""
    return frozenset() if state is None or state.assignment is None else frozenset(state.assignment.assigned)


def received_jobs(ev: Evidence, client: str, after: str | int | None = None, before: str | int | None = None) -> list[ReceivedJobs]:
    """Return the assignments that reached a worker, in order."""
    answers = (obs for obs in ev.responses(Api.SYNC_GROUP, client, after, before) if error_of(obs) == 0)
    return [ReceivedJobs(answer=obs, assignment=assignment) for obs in answers if (assignment := assignment_in(obs)) is not None]


def led_generations(ev: Evidence, client: str, after: str | int | None = None, before: str | int | None = None) -> Iterator[LedGeneration]:
    """Yield what `client` assigned as a leader: its SyncGroups in generations that it led."""
    for sync, answer in syncs_of_leader(ev, client, after, before):
        yield LedGeneration(
            join=answer,
            sync=sync,
            leader=answer.member or "",
            version=_version(answer.body.get("protocol_name")),
            states={member["member_id"]: _state(member.get("metadata") or b"") for member in answer.body.get("members") or ()},
            assignments=assignments_in_sync(sync),
        )


def jobs_in_words(jobs: Jobs | tuple[TopicPartition, ...]) -> str:
    """Return connectors and tasks as Connect's logs write them: `c` is a connector, `c-0` its first task."""
    return ", ".join(connector if task < 0 else f"{connector}-{task}" for connector, task in sorted(jobs)) or "nothing"


def _version(protocol: str | None) -> int:
    return CONNECT_PROTOCOLS.index(protocol) if protocol in CONNECT_PROTOCOLS else 0


def _state(blob: bytes) -> WorkerState | None:
    try:
        return decode_worker_state(blob)
    except ConnectError:
        return None


def _assignment(blob: bytes) -> ConnectAssignment | None:
    try:
        return decode_connect_assignment(blob)
    except ConnectError:
        return None
