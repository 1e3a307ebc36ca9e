"""Who a worker is, and what it has asked whom."""

from __future__ import annotations

from groupproof.clients.outputs import Drop, Node, Send
from groupproof.clients.relatives.datalink.worker_requests import NO_GENERATION, Requester
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.protocol.relatives.datalink_messages import WorkerStatus, decode_status
from groupproof.protocol.wire.messages import FindCoordinatorRequest, HeartbeatRequest, LeaveGroupRequest

MANAGER = Node(node_id=0, host="m", port=1)
BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="w-1")


def _requester() -> Requester:
    return Requester(WorkerSettings(group="g", bootstrap=(("m", 1),), name="w", request_timeout_ms=700))


def test_lookups_go_to_any_manager_and_everything_else_to_the_coordinator() -> None:
    requester = _requester()
    requester.coordinator = MANAGER
    requester.send(FindCoordinatorRequest(coordinator_keys=("g",)), 0)
    requester.send(BEAT, 0)

    assert [(item.to, item.lane) for item in requester.collected() if isinstance(item, Send)] == [(None, "any"), (MANAGER, "group")]
    assert requester.collected() == []


def test_an_answer_is_waited_for_as_long_as_the_settings_say() -> None:
    requester = _requester()
    request_id = requester.send(BEAT, 100)

    assert requester.requests.next_deadline_ms() == 800
    assert [pending.request_id for pending in requester.requests.overdue(800)] == [request_id]


def test_a_coordinator_that_is_forgotten_takes_along_what_was_asked_of_it() -> None:
    requester = _requester()
    requester.coordinator = MANAGER
    requester.send(FindCoordinatorRequest(coordinator_keys=("g",)), 0)
    requester.send(BEAT, 0)
    requester.forget_coordinator()
    requester.forget_coordinator()

    assert [item for item in requester.collected() if isinstance(item, Drop)] == [Drop(to=MANAGER)]
    assert len(requester.requests.overdue(10_000)) == 1


def test_only_a_member_with_a_coordinator_sends_a_leave() -> None:
    requester = _requester()
    assert not requester.send_leave(0)
    requester.coordinator, requester.member_id = MANAGER, "w-1"
    assert requester.send_leave(0)

    (sent,) = [item for item in requester.collected() if isinstance(item, Send)]
    assert isinstance(sent.message, LeaveGroupRequest)
    assert [member.member_id for member in sent.message.members] == ["w-1"]


def test_join_group_carries_the_worker_s_own_state() -> None:
    requester = _requester()
    requester.member_id, requester.generation = "w-1", 4

    asked = requester.join_request(WorkerStatus(url="w", config_version=9))
    requester.forget_membership()

    assert (asked.member_id, decode_status(asked.protocols[0].metadata).config_version) == ("w-1", 9)
    assert (requester.member_id, requester.generation) == ("", NO_GENERATION)
