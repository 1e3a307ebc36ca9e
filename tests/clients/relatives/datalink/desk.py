"""A worker at a desk: what it asks for is kept, what is told it is said by hand, and time passes as the test says."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from groupproof.clients.outputs import Send
from groupproof.clients.relatives.datalink.tasks import Board, Task
from groupproof.clients.relatives.datalink.worker import Worker
from groupproof.clients.relatives.datalink.worker_outputs import Output, RefreshConfigs, StartTasks, StopTasks, WorkerState
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.protocol.relatives.datalink_messages import TaskAssignment, WorkerStatus, encode_assigned, encode_status
from groupproof.protocol.wire.messages import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    GroupRequest,
    GroupResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinMember,
    SyncGroupRequest,
    SyncGroupResponse,
)

__all__ = ["ME", "Desk"]

ME = "w-1"
Request = TypeVar("Request", bound=GroupRequest)
Wish = TypeVar("Wish")


class Desk:
    """Group `g` has tasks a, b and c. `sent` are the requests, `wishes` everything else, in order; tasks that are to stop stop `at_once`, or when said."""

    def __init__(self, *tasks: str, at_once: bool = True, **settings: Any) -> None:
        options = {"group": "g", "bootstrap": (("manager", 8899),), "name": "w", **settings}
        self.worker = Worker(WorkerSettings(**options), random=random.Random(1))
        self.board = Board()
        self.board.add("g", *(Task(name=task) for task in tasks or "abc"))
        self.now_ms = 0
        self.at_once = at_once
        self.sent: list[Send] = []
        self.sent_ms: list[int] = []
        self.wishes: list[Any] = []
        self._take(self.worker.start(self.board.configs("g"), 0))

    # Time

    def after(self, ms: int) -> Desk:
        """Let `ms` pass; the worker ticks at every instant that it asks for."""
        until_ms = self.now_ms + ms
        while (due_ms := self.worker.next_deadline_ms()) is not None and due_ms <= until_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self._take(self.worker.tick(self.now_ms))
        self.now_ms = until_ms
        return self

    # What was asked

    def last(self, kind: type[Request]) -> Request:
        return next(send.message for send in reversed(self.sent) if isinstance(send.message, kind))

    def count(self, kind: type[GroupRequest]) -> int:
        return sum(isinstance(send.message, kind) for send in self.sent)

    def times(self, kind: type[GroupRequest]) -> list[int]:
        return [at_ms for send, at_ms in zip(self.sent, self.sent_ms, strict=True) if isinstance(send.message, kind)]

    def wishes_of(self, kind: type[Wish]) -> list[Wish]:
        return [option for option in self.wishes if isinstance(option, kind)]

    @property
    def state(self) -> WorkerState:
        return self.worker.state

    # Counters

    def answer(self, kind: type[GroupRequest], message: GroupResponse) -> Desk:
        """Answer the last request of a kind."""
        request_id = next(send.request_id for send in reversed(self.sent) if isinstance(send.message, kind))
        self._take(self.worker.response(request_id, message, self.now_ms))
        return self

    def cut(self, kind: type[GroupRequest]) -> Desk:
        """End the connection of the last request of a kind."""
        request_id = next(send.request_id for send in reversed(self.sent) if isinstance(send.message, kind))
        self._take(self.worker.unanswered(request_id, self.now_ms))
        return self

    def found(self, node: int = 0, error: int = 0) -> Desk:
        coordinator = Coordinator(key="g", node_id=node, host="manager", port=8899, error_code=error)
        return self.answer(FindCoordinatorRequest, FindCoordinatorResponse(coordinators=(coordinator,)))

    def joined(self, *others: WorkerStatus, leads: bool = True, generation: int = 1, error: int = 0) -> Desk:
        """Answer JoinGroup: with the list of the members, the worker itself first, where it leads."""
        if error:
            return self.answer(JoinGroupRequest, JoinGroupResponse(error_code=error))
        mine = JoinMember(member_id=ME, metadata=self.last(JoinGroupRequest).protocols[0].metadata)
        members = (
            (mine, *(JoinMember(member_id=f"{worker_status.url}-1", metadata=encode_status(worker_status)) for worker_status in others))
            if leads
            else ()
        )
        answer = JoinGroupResponse(
            generation_id=generation, protocol_name="default", leader=ME if leads else "other-1", member_id=ME, members=members
        )
        return self.answer(JoinGroupRequest, answer)

    def synced(self, *tasks: str, version: int | None = None, failed: int = 0, error: int = 0, leader: str = "other-1") -> Desk:
        """Answer SyncGroup."""
        if error:
            return self.answer(SyncGroupRequest, SyncGroupResponse(error_code=error))
        at = self.board.configs("g").version if version is None else version
        assigned = TaskAssignment(leader=leader, config_version=at, tasks=tasks, error=failed)
        return self.answer(SyncGroupRequest, SyncGroupResponse(assignment=encode_assigned(assigned)))

    def beaten(self, error: int = 0) -> Desk:
        return self.answer(HeartbeatRequest, HeartbeatResponse(error_code=error))

    def polled(self) -> Desk:
        self._take(self.worker.polled(self.board.configs("g")))
        return self

    def refreshed(self) -> Desk:
        self._take(self.worker.refreshed(self.board.configs("g"), self.now_ms))
        return self

    def stopped(self) -> Desk:
        self._take(self.worker.stopped(self.now_ms))
        return self

    def closed(self) -> Desk:
        self._take(self.worker.close(self.now_ms))
        return self

    # Courses

    def joining(self) -> Desk:
        """Bring a new worker to its first JoinGroup."""
        return self.after(0).found()

    def stable(self, *tasks: str, **joined: Any) -> Desk:
        """Bring a new worker to Stable as a follower with these tasks."""
        return self.joining().joined(leads=False, **joined).synced(*(tasks or ("a", "b")))

    def beating(self) -> Desk:
        """Let the next heartbeat go out."""
        before = self.count(HeartbeatRequest)
        while self.count(HeartbeatRequest) == before:
            self.after(100)
        return self

    def _take(self, outputs: Iterable[Output]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self.sent.append(output)
                self.sent_ms.append(self.now_ms)
            else:
                self.wishes.append(output)
                if isinstance(output, StopTasks) and self.at_once:
                    self.stopped()

    def started(self) -> list[set[str]]:
        """Return the names of the tasks of each wish to start some."""
        return [{task.name for task in start_tasks.tasks} for start_tasks in self.wishes_of(StartTasks)]

    def assignments(self) -> Mapping[str, bytes]:
        """Return what the last SyncGroup gives to whom."""
        return {assignment.member_id: assignment.assignment for assignment in self.last(SyncGroupRequest).assignments}

    def refreshes(self) -> int:
        return len(self.wishes_of(RefreshConfigs))
