"""A member's requests in flight, each with its member id, broker and answer deadline."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from groupproof.clients.outputs import Node
from groupproof.protocol.wire.messages import GroupRequest

__all__ = ["RequestInFlight", "Requests", "earliest"]


@dataclass(slots=True, eq=False)
class RequestInFlight:
    """One request without an answer. `member_id`, `generation` and `membership` are the member's values at the time of sending."""

    request_id: int
    message: GroupRequest
    to: Node | None
    lane: str
    member_id: str
    generation: int
    deadline_ms: int
    tag: Hashable = None
    membership: int = 0  # the number of the membership, for a member of the `consumer` protocol


class Requests:
    """The requests `in_flight` by id. Ids are never reused."""

    def __init__(self) -> None:
        self.in_flight: dict[int, RequestInFlight] = {}
        self._last_id = 0

    def new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def add(self, pending: RequestInFlight) -> None:
        self.in_flight[pending.request_id] = pending

    def add_again(self, request: RequestInFlight) -> int:
        """Send an answered request object again under a new id. Return that id."""
        request_id = request.request_id = self._last_id = self._last_id + 1
        self.in_flight[request_id] = request
        return request_id

    @property
    def any_in_flight(self) -> bool:
        return bool(self.in_flight)

    def take(self, request_id: int) -> RequestInFlight | None:
        """Remove and return the request, or return None if it is not in flight."""
        return self.in_flight.pop(request_id, None)

    def is_pending(self, request_id: int) -> bool:
        return request_id in self.in_flight

    def any_to(self, to: Node) -> bool:
        """Return whether a request to this broker is in flight."""
        return any(pending.to == to for pending in self.in_flight.values())

    def take_where(self, holds: Callable[[RequestInFlight], bool]) -> list[RequestInFlight]:
        """Remove and return all requests for which `holds` is true, in the order of sending."""
        removed = [pending for pending in self.in_flight.values() if holds(pending)]
        for pending in removed:
            del self.in_flight[pending.request_id]
        return removed

    def overdue(self, now_ms: int) -> list[RequestInFlight]:
        """Remove and return the requests whose deadline has passed."""
        if not self.in_flight:
            return []
        return self.take_where(lambda pending: pending.deadline_ms <= now_ms)

    def next_deadline_ms(self) -> int | None:
        first_ms = None
        for pending in self.in_flight.values():
            if first_ms is None or pending.deadline_ms < first_ms:
                first_ms = pending.deadline_ms
        return first_ms


def earliest(*times_ms: int | None) -> int | None:
    """Return the earliest time that is not None, or None if all are None."""
    first_ms = None
    for each_ms in times_ms:
        if each_ms is not None and (first_ms is None or each_ms < first_ms):
            first_ms = each_ms
    return first_ms
