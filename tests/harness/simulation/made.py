"""Requests, transitions and connections made up for tests of the laws."""

from __future__ import annotations

from groupproof.coordinator.machine.coordinator import Transition
from groupproof.harness.simulation.pending_request import PendingRequest
from groupproof.harness.simulation.simulated_network import Answer, Connection, Path
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import GroupRequest, JoinGroupRequest, SyncAssignment, SyncGroupRequest

__all__ = ["JOIN", "SYNC", "Client", "moved", "pending", "synced_by"]

JOIN = JoinGroupRequest(group_id="g", session_timeout_ms=6_000, member_id="a")
SYNC = SyncGroupRequest(group_id="g", generation_id=1, member_id="a")


class Client:
    """An end of connections that keeps what it is told."""

    def __init__(self, name: str = "m0") -> None:
        self.name = name
        self.answers: list[tuple[int, Answer]] = []
        self.unanswered: list[int] = []
        self.losses = 0

    def answered(self, connection: Connection, request_id: int, answer: Answer) -> None:
        self.answers.append((request_id, answer))

    def lost(self, connection: Connection, unanswered: list[int]) -> None:
        self.losses += 1
        self.unanswered += unanswered


def pending(request: GroupRequest, name: str = "m0") -> PendingRequest:
    return PendingRequest(0, Connection(Client(name), 0, "group", Path()), 1, request)


def moved(before: GroupState | None, after: GroupState, generation: int = 0, rule: str = "rule") -> Transition:
    return Transition(group_id="g", generation=generation, before=before, after=after, rule=rule, reason="")


def synced_by(member_id: str, blobs: dict[str, bytes], generation: int = 1) -> SyncGroupRequest:
    assignments = tuple(SyncAssignment(member_id=key, assignment=blob) for key, blob in blobs.items())
    return SyncGroupRequest(group_id="g", generation_id=generation, member_id=member_id, assignments=assignments)
