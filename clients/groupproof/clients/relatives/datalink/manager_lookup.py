"""Finding the active Manager (WORKER-10): each of the two Managers knows which one is active."""

from __future__ import annotations

from groupproof.clients.member.pending_requests import RequestInFlight
from groupproof.clients.outputs import Drop, Node
from groupproof.clients.relatives.datalink.worker_requests import Requester
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.protocol.rules.classic.member_reactions import Answer, Lapse
from groupproof.protocol.wire.messages import FindCoordinatorRequest, FindCoordinatorResponse, GroupResponse

__all__ = ["Lookup"]


class Lookup:
    """Sends one lookup at a time."""

    def __init__(self, settings: WorkerSettings, requester: Requester) -> None:
        self._settings, self._requester = settings, requester
        self._in_flight: int | None = None

    @property
    def is_under_way(self) -> bool:
        return self._in_flight is not None

    def seek(self, now_ms: int) -> None:
        self._in_flight = self._requester.send(FindCoordinatorRequest(coordinator_keys=(self._settings.group,)), now_ms)

    def has_found(self, pending: RequestInFlight, answer: Answer, response: GroupResponse | None) -> bool:
        """Handle the answer. Return whether the coordinator is known now."""
        self._in_flight = None
        if answer == 0 and isinstance(response, FindCoordinatorResponse) and response.coordinators:
            found = response.coordinators[0]
            self._requester.coordinator = Node(node_id=found.node_id, host=found.host, port=found.port)
            return True
        if isinstance(answer, Lapse):
            self._requester.out.append(Drop(to=None))
        return False
