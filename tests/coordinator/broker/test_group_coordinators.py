"""The coordinator role of all nodes: ownership, timers, tickets, and moves of single partitions, under trio's MockClock."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import trio
import trio.testing
from tests.coordinator.helpers import SUBSCRIBED, virtually

from groupproof.coordinator.broker.group_coordinators import Coordinators, Ticket
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.protocol.faults import Move
from groupproof.protocol.trace import Recorder
from groupproof.protocol.wire.messages import (
    GroupRequest,
    GroupResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
)

JOIN = JoinGroupRequest(
    group_id="g", session_timeout_ms=6_000, rebalance_timeout_ms=60_000, protocols=(JoinProtocol(name="range", metadata=SUBSCRIBED),)
)


def _made(nodes: int = 2, **settings: int) -> tuple[Coordinators, Recorder]:
    recorder = Recorder(lambda: round(trio.current_time() * 1e9))
    return Coordinators(profile="kafka-4.1", settings=Settings(**settings), nodes=nodes, seed=1, recorder=recorder), recorder


def _submit(coordinators: Coordinators, message: GroupRequest, token: int = 1, on_dropped: Callable[[], None] = lambda: None) -> Ticket:
    ticket = Ticket(on_dropped)
    arrival = Arrival(token=token, api_version=3, client_id="c", client_host="/127.0.0.1")
    coordinators.submit(coordinators.owner_of("g"), message, arrival, {"api": "x", "correlation": token}, ticket)
    return ticket


@pytest.mark.parametrize(("group", "partition"), [("g", 3), ("test-group", 12), ("my-group", 12), ("polygenelubricants", 0)])
@virtually
async def test_a_group_is_coordinated_by_the_owner_of_its_offsets_partition(group: str, partition: int) -> None:
    coordinators, _ = _made(nodes=3)

    assert coordinators.owner_of(group) == partition % 3
    assert coordinators.move(partition, Move(to=(partition + 1) % 3)) is None
    assert coordinators.owner_of(group) == (partition + 1) % 3
    assert coordinators.epochs[partition] == 1


@virtually
async def test_timers_go_off_at_their_instant_on_trios_clock() -> None:
    coordinators, recorder = _made()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(coordinators.run)
        await trio.sleep(0.25)
        began = trio.current_time()
        ticket = _submit(coordinators, JOIN)
        answer = await ticket.wait()

        assert isinstance(answer, JoinGroupResponse)
        assert answer.generation_id == 1
        assert trio.current_time() - began == pytest.approx(3.0)
        (timer,) = [obs for obs in recorder.trace if obs.kind == "timer"]
        assert timer.rule is not None
        assert timer.rule.startswith("InitialDelayEnd/")
        nursery.cancel_scope.cancel()


@virtually
async def test_processed_comes_before_what_follows_from_it() -> None:
    coordinators, recorder = _made()
    _submit(coordinators, JOIN)

    assert [obs.kind for obs in recorder.trace] == ["processed", "transition", "transition"]
    processed, created, prepared = recorder.trace
    assert (processed.rule, processed.correlation, processed.body["requirement"]) == ("JoinGroup/none/first-member", 1, "TR-001")
    assert (created.state_before, created.state_after) == (None, "Empty")
    assert (prepared.state_before, prepared.state_after, prepared.group) == ("Empty", "PreparingRebalance", "g")
    assert prepared.body["reason"] == prepared.detail


@virtually
async def test_an_answer_that_nobody_waits_for_goes_nowhere() -> None:
    coordinators, _ = _made(group_initial_rebalance_delay_ms=3_000)
    ticket = _submit(coordinators, JOIN)
    coordinators.abandon(ticket)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(coordinators.run)
        await trio.sleep(4)
        nursery.cancel_scope.cancel()

    assert ticket.answer is None
    view = coordinators.view("g")
    assert view is not None
    assert view.generation == 1


@virtually
async def test_of_two_answers_to_one_ticket_the_first_counts() -> None:
    ticket = Ticket(lambda: None)
    ticket.give(HeartbeatResponse(error_code=0))
    ticket.give(HeartbeatResponse(error_code=27))

    assert await ticket.wait() == HeartbeatResponse(error_code=0)


@pytest.mark.parametrize(
    ("move", "why"), [(Move(to=0), "node 0 has it already"), (Move(to=2), "there is no node 2"), (Move(to=-1), "there is no node -1")]
)
@virtually
async def test_a_move_to_nowhere_is_refused(move: Move, why: str) -> None:
    coordinators, _ = _made()

    refusal = coordinators.move(0, move)
    assert refusal is not None
    assert why in refusal
    assert coordinators.owners[0] == 0


@virtually
async def test_a_dropped_request_is_never_answered_and_its_connection_is_reported() -> None:
    coordinators, _ = _made()
    dropped: list[str] = []
    ticket = _submit(coordinators, JOIN, on_dropped=functools.partial(dropped.append, "gone"))

    assert coordinators.move_group("g", Move(parked="drop")) is None
    assert (ticket.answer, dropped) == (None, ["gone"])


@virtually
async def test_a_machine_that_lost_the_partition_answers_that_it_is_not_the_coordinator() -> None:
    coordinators, _ = _made()
    before = coordinators.owner_of("g")
    coordinators.move_group("g", Move())
    ticket = Ticket(lambda: None)
    arrival = Arrival(token=9, api_version=3, client_id="c", client_host="/127.0.0.1")
    coordinators.submit(before, HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), arrival, {}, ticket)

    assert ticket.answer == HeartbeatResponse(error_code=16)


def test_a_callback_for_the_answer_is_called_once_and_nobody_has_to_wait() -> None:
    ticket = Ticket(lambda: None)
    answers: list[GroupResponse] = []
    ticket.on_answer = answers.append
    first, second = HeartbeatResponse(), HeartbeatResponse()
    ticket.give(first)
    ticket.give(second)

    assert [answer is first for answer in answers] == [True]
    assert ticket.answer is first
