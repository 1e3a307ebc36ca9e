"""A worker's identity, its requests in flight, and its coordinator."""

from __future__ import annotations

from typing import Final

from groupproof.clients.member.pending_requests import RequestInFlight, Requests
from groupproof.clients.outputs import Drop, Node, Send
from groupproof.clients.relatives.datalink.worker_outputs import Output
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.protocol.relatives.datalink_messages import PROTOCOL_NAME, PROTOCOL_TYPE, WorkerStatus, encode_status
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.messages import GroupRequest, JoinGroupRequest, JoinProtocol, LeaveGroupRequest, LeaveMember

__all__ = ["NO_GENERATION", "Requester"]

NO_GENERATION: Final = -1


class Requester:
    """Sends requests with the worker's identity. `out` collects the outputs for the driver."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self.requests = Requests()
        self.out: list[Output] = []
        self.member_id = ""
        self.generation = NO_GENERATION
        self.coordinator: Node | None = None

    def send(self, message: GroupRequest, now_ms: int) -> int:
        """Send to the coordinator, or a lookup to any Manager. Return the request's id."""
        request_id = self.requests.new_id()
        to, lane = (None, "any") if message.api is Api.FIND_COORDINATOR else (self.coordinator, "group")
        pending = RequestInFlight(
            request_id=request_id,
            message=message,
            to=to,
            lane=lane,
            member_id=self.member_id,
            generation=self.generation,
            deadline_ms=now_ms + self._settings.request_timeout_ms,
        )
        self.requests.add(pending)
        self.out.append(Send(request_id=request_id, message=message, to=to, lane=lane))
        return request_id

    def join_request(self, status: WorkerStatus) -> JoinGroupRequest:
        """Return the JoinGroup of a worker with this status: one protocol, called `default` (MGR-06, MGR-09)."""
        settings = self._settings
        return JoinGroupRequest(
            group_id=settings.group,
            session_timeout_ms=settings.session_timeout_ms,
            rebalance_timeout_ms=settings.rebalance_timeout_ms,
            member_id=self.member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=(JoinProtocol(name=PROTOCOL_NAME, metadata=encode_status(status)),),
        )

    def forget_coordinator(self) -> None:
        """Forget the coordinator and its requests in flight."""
        if self.coordinator is not None:
            gone, self.coordinator = self.coordinator, None
            self.out.append(Drop(to=gone))
            self.requests.take_where(lambda pending: pending.to == gone)

    def send_leave(self, now_ms: int) -> bool:
        """Send LeaveGroup if the worker has a member id and a coordinator. Return whether it was sent."""
        if self.coordinator is None or not self.member_id:
            return False
        self.send(LeaveGroupRequest(group_id=self._settings.group, members=(LeaveMember(member_id=self.member_id),)), now_ms)
        return True

    def forget_membership(self) -> None:
        self.member_id, self.generation = "", NO_GENERATION

    def collected(self) -> list[Output]:
        out = list(self.out)
        self.out.clear()  # other objects write to this list
        return out
