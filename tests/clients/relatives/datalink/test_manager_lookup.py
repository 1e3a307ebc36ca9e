"""Finding the active Manager."""

from __future__ import annotations

import pytest

from groupproof.clients.member.pending_requests import RequestInFlight
from groupproof.clients.outputs import Drop, Node, Send
from groupproof.clients.relatives.datalink.manager_lookup import Lookup
from groupproof.clients.relatives.datalink.worker_requests import Requester
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.protocol.rules.classic.member_reactions import Lapse
from groupproof.protocol.wire.messages import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse


def _sought() -> tuple[Lookup, Requester, RequestInFlight]:
    settings = WorkerSettings(group="g", bootstrap=(("m", 1),), name="w")
    requester = Requester(settings)
    lookup = Lookup(settings, requester)
    lookup.seek(0)
    (sent,) = [item for item in requester.collected() if isinstance(item, Send)]
    assert sent.message == FindCoordinatorRequest(coordinator_keys=("g",))
    pending = requester.requests.take(sent.request_id)
    assert pending is not None
    return lookup, requester, pending


@pytest.mark.requirement("WORKER-10", "MGR-03")
def test_the_answer_names_the_active_manager() -> None:
    lookup, requester, pending = _sought()
    assert lookup.is_under_way
    response = FindCoordinatorResponse(coordinators=(Coordinator(key="g", node_id=1, host="standby", port=8899),))

    assert lookup.has_found(pending, 0, response)
    assert requester.coordinator == Node(node_id=1, host="standby", port=8899)
    assert not lookup.is_under_way


@pytest.mark.parametrize(("answer", "drops"), [(15, []), (Lapse.TIMED_OUT, [Drop(to=None)]), (Lapse.DISCONNECTED, [Drop(to=None)])])
def test_without_one_another_manager_is_asked_where_this_one_does_not_answer(answer: int | Lapse, drops: list[Drop]) -> None:
    lookup, requester, pending = _sought()

    assert not lookup.has_found(pending, answer, None)
    assert requester.coordinator is None
    assert requester.collected() == drops
