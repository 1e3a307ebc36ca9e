"""The pair of Managers in virtual time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.harness.relatives.datalink.managers import VERSION, ManagerPair
from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.random_streams import Streams
from groupproof.protocol.relatives.datalink_messages import PROTOCOL_NAME, PROTOCOL_TYPE
from groupproof.protocol.wire.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    GroupRequest,
    GroupResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
)

JOIN = JoinGroupRequest(
    group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=60_000, protocol_type=PROTOCOL_TYPE,
    protocols=(JoinProtocol(name=PROTOCOL_NAME, metadata=b""),),
)  # fmt: skip


class _Scene:
    def __init__(self) -> None:
        self.heap = Heap()
        self.pair = ManagerPair(self.heap, Streams(1), profile="datalink")
        self._tokens: Iterator[int] = iter(range(100))

    def ask(self, node: int, message: GroupRequest) -> list[GroupResponse | None]:
        """Send to a node; return the list into which the answer comes."""
        answers: list[GroupResponse | None] = []
        arrival = Arrival(token=next(self._tokens), api_version=VERSION, client_id="w", client_host="")
        self.pair.arrive(node, message, arrival, answers.append)
        return answers


def _code_and_node(answers: list[GroupResponse | None]) -> tuple[int, int]:
    (answer,) = answers
    assert isinstance(answer, FindCoordinatorResponse)
    return answer.coordinators[0].error_code, answer.coordinators[0].node_id


@pytest.mark.requirement("TIMER-28")
def test_either_manager_tells_which_one_is_active_and_the_standby_coordinates_nothing() -> None:
    scene = _Scene()

    assert [_code_and_node(scene.ask(node, FindCoordinatorRequest(coordinator_keys=("g",)))) for node in (0, 1)] == [(0, 0), (0, 0)]
    assert scene.ask(1, HeartbeatRequest(group_id="g", generation_id=1, member_id="x")) == [HeartbeatResponse(error_code=16)]


@pytest.mark.requirement("MGR-33")
def test_while_none_is_active_nobody_is_named_and_then_the_other_one_is() -> None:
    scene = _Scene()
    scene.pair.switch(without_ms=500)
    lookup = FindCoordinatorRequest(coordinator_keys=("g",))

    assert scene.ask(0, lookup) == [None], "a Manager that ended answers nothing"
    assert _code_and_node(scene.ask(1, lookup))[0] == 15
    scene.heap.run(500)
    assert _code_and_node(scene.ask(1, lookup)) == (0, 1)
    scene.pair.restore()
    assert _code_and_node(scene.ask(0, lookup)) == (0, 1)


def test_requests_parked_at_a_manager_that_ends_are_answered_and_at_one_that_stays_are_not() -> None:
    for ends, entries in ((True, [None]), (False, [])):
        scene = _Scene()
        (first,) = scene.ask(0, JOIN)
        assert isinstance(first, JoinGroupResponse)
        parked = scene.ask(0, JOIN)
        assert parked == []

        scene.pair.switch(ends=ends)

        assert parked == entries


def test_sessions_end_by_the_heap_s_own_time() -> None:
    scene = _Scene()
    scene.ask(0, JOIN)
    view = scene.pair.view("g")
    assert view is not None
    assert len(view.members) == 1

    scene.heap.run(10_000)

    view = scene.pair.view("g")
    assert view is not None
    assert view.members == ()
    assert scene.pair.generations() == 1
