"""The requests in flight."""

from __future__ import annotations

from groupproof.clients.member.pending_requests import RequestInFlight, Requests
from groupproof.clients.outputs import Node
from groupproof.protocol.wire.messages import HeartbeatRequest


def pending(requests: Requests, deadline_ms: int) -> int:
    request_id = requests.new_id()
    message = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    requests.add(RequestInFlight(request_id=request_id, message=message, to=None, lane="group", member_id="m", generation=1, deadline_ms=deadline_ms))
    return request_id


def test_a_request_is_processed_once() -> None:
    requests = Requests()
    request_id = pending(requests, 100)

    assert requests.is_pending(request_id)
    assert requests.take(request_id) is not None
    assert requests.take(request_id) is None
    assert requests.next_deadline_ms() is None


def test_overdue_requests_are_processed_in_the_order_of_sending() -> None:
    requests = Requests()
    first, second, third = pending(requests, 200), pending(requests, 100), pending(requests, 300)

    assert requests.next_deadline_ms() == 100
    assert requests.overdue(99) == []
    assert [item.request_id for item in requests.overdue(200)] == [first, second]
    assert requests.is_pending(third)


def test_a_request_is_to_somebody_or_to_anybody() -> None:
    requests, node = Requests(), Node(node_id=0, host="broker-0", port=9092)
    request_id = pending(requests, 100)

    assert not requests.any_to(node)
    requests.take(request_id)
    requests.add(
        RequestInFlight(
            request_id=2,
            message=HeartbeatRequest(group_id="g", generation_id=1, member_id="m"),
            to=node,
            lane="group",
            member_id="m",
            generation=1,
            deadline_ms=100,
        )
    )
    assert requests.any_to(node)
