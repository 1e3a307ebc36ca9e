"""Writes a run in the trace format (contract, "The trace"): frames from the broker's view, transitions, timers, faults, and callbacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from groupproof.clients.outputs import Callback
from groupproof.coordinator.machine.coordinator import AppliedRow, Transition
from groupproof.harness.simulation.fault_schedule import ScheduledFault
from groupproof.harness.simulation.settings import GROUP, TOPIC_NAMES
from groupproof.harness.simulation.simulated_network import AskTopics, Connection, Request
from groupproof.protocol.trace import Recorder
from groupproof.protocol.wire.message_codec import body_of
from groupproof.protocol.wire.messages import FindCoordinatorRequest, GroupRequest, GroupResponse
from groupproof.protocol.wire.observation_columns import request_columns, response_columns

if TYPE_CHECKING:
    from groupproof.harness.simulation.pending_request import PendingRequest

__all__ = ["MakeRecorder", "Observer"]

MakeRecorder = Callable[[Callable[[], int]], Recorder]
"""Makes a recorder that reads the time, in nanoseconds, from the clock."""


def _named(topic_id: str) -> str:
    return TOPIC_NAMES.get(topic_id, topic_id)


class Observer:
    """Writes events to a recorder and decides nothing. `versions` are the request versions, `timers` the event kinds that are written as timers.

    A restarted program gets a new name (`m3`, then `m3.2`), because its application's lines would look like those of the first one.
    """

    def __init__(self, recorder: Recorder, versions: Mapping[type, int], *, timers: Collection[str]) -> None:
        self._recorder, self._versions, self._timers = recorder, versions, timers
        self._numbers: dict[Connection, int] = {}
        self._clients: dict[Connection, str] = {}
        self._lives: Counter[str] = Counter()
        self._newest: dict[Connection, tuple[int, dict[str, Any], dict[str, Any]]] = {}

    def opened(self, connection: Connection) -> None:
        """Record the client of a connection. Its requests may arrive after that program has ended and the next one has started."""
        self._clients[connection] = self._client(connection.owner.name)

    def arrived(self, connection: Connection, request_id: int, request: Request) -> None:
        """Write a request. If the client closed the connection before its first request arrived, also write the end of the connection."""
        if isinstance(request, AskTopics | FindCoordinatorRequest):
            return
        is_news = connection not in self._numbers
        frame, body = self._frame(connection, request_id, request)
        self._recorder.record("request", **frame, **body)
        if is_news and not connection.is_open:
            self.closed(connection, "client")

    def processed(self, pending: PendingRequest, applied: AppliedRow) -> None:
        frame, _ = self._frame(pending.connection, pending.request_id, pending.request)
        self._recorder.record("processed", **frame, rule=applied.rule, body={"requirement": applied.requirement})

    def answered(self, pending: PendingRequest, answer: GroupResponse) -> None:
        """Write an answer. Skip it if its connection is gone, or if it is the second answer to a repeated request."""
        connection = pending.connection
        if not connection.is_open or connection.is_reset or pending.request_id not in connection.owed:
            return
        frame, _ = self._frame(connection, pending.request_id, pending.request)
        self._recorder.record("response", **frame | response_columns(pending.request.api, body_of(pending.request), body_of(answer), _named))

    def closed(self, connection: Connection, by: str) -> None:
        """Write the end of a connection, closed by the `client` or cut by a fault."""
        self._newest.pop(connection, None)
        if connection in self._numbers:
            body = {"name": "closed", "by": by, "reason": "the client closed it" if by == "client" else "it was reset"}
            self._recorder.record("event", who="link", node=connection.node, connection=self._numbers[connection], body=body)

    def moved(self, node: int, move: Transition) -> None:
        self._recorder.record("transition", node=node, **move.columns())

    def timer(self, node: int, applied: AppliedRow) -> None:
        """Write a timer that fired. Its consequences are written separately."""
        if applied.rule.partition("/")[0] in self._timers:
            self._recorder.record("timer", node=node, **applied.timer_columns())

    def called(self, name: str, callback: Callback) -> None:
        body = {"name": f"partitions_{callback.kind.value}", "member_id": callback.member_id, "generation": callback.generation}
        self._recorder.record("event", who="shim", client=self._client(name), group=GROUP, partitions=tuple(sorted(callback.partitions)), body=body)

    def process(self, name: str, change: str) -> None:
        """Write a change of a program: it starts, ends, freezes or thaws."""
        bodies = {"starts": {"name": "command", "command": "subscribe"}, "ends": {"name": "exit", "how": "ended"}}
        self._lives[name] += change == "starts"
        self._recorder.record("event", who="kit", client=self._client(name), group=GROUP, body=bodies.get(change, {"name": change}))

    def fault(self, index: int, fault: ScheduledFault, *, is_over: bool) -> None:
        client = self._client(fault.who[0]) if len(fault.who) == 1 and fault.who[0].startswith("m") else None
        body: dict[str, Any] = {"action": "lasts" if fault.for_ms else "strikes", "who": list(fault.who), **fault.how}
        self._recorder.record(
            "fault", who="kit", client=client, fault=f"{fault.kind} {index}", detail="healed" if is_over else "delivered", body=body
        )  # fmt: skip

    def _frame(self, connection: Connection, request_id: int, request: GroupRequest) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the columns of every row of a request and its answer, and the columns of the request alone."""
        newest = self._newest.get(connection)
        if newest is not None and newest[0] == request_id:
            return newest[1:]
        number = self._numbers.setdefault(connection, len(self._numbers) + 1)
        who, body = request_columns(request.api, body_of(request), _named)
        frame = {
            "node": connection.node, "connection": number, "client": self._clients[connection], "api": request.api.title, "correlation": request_id,
            "version": self._versions.get(type(request)), **who,
        }  # fmt: skip
        self._newest[connection] = (request_id, frame, body)
        return frame, body

    def _client(self, name: str) -> str:
        return name if self._lives[name] < 2 else f"{name}.{self._lives[name]}"
