"""Witnesses of what several connections see: finding the coordinator, requests side by side, and a connection that outlives its member."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing
from tests.coordinator.helpers import SUBSCRIBED, Client, staged, virtually

from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Reply, Settings
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.messages import JoinGroupRequest, JoinGroupResponse, JoinProtocol

if TYPE_CHECKING:
    from collections.abc import Iterable

DELAY_MS = 3_000


async def _found_coordinator(client: Client, group: str = "g") -> dict[str, Any]:
    (entry,) = (await client.ask(Api.FIND_COORDINATOR, {"coordinator_keys": (group,)}))["coordinators"]
    return dict(entry)


@pytest.mark.requirement("FIND-03")
@virtually
async def test_all_lookups_of_a_group_get_the_same_coordinator() -> None:
    async with staged(brokers=3) as stage:
        for group in ("g", "h", "my-group"):
            entries = [await _found_coordinator(stage.connect(f"m{number}", node=0), group) for number in range(3)]
            assert {broker["node_id"] for broker in entries} == {stage.cluster.coordinator_node(group)}


@pytest.mark.requirement("FIND-04")
@virtually
async def test_any_broker_can_be_asked() -> None:
    async with staged(brokers=3) as stage:
        entries = [await _found_coordinator(stage.connect(node=node)) for node in stage.cluster.nodes]

        assert [result["error_code"] for result in entries] == [0, 0, 0]
        assert entries[0] == entries[1] == entries[2]


@pytest.mark.requirement("FIND-06")
@pytest.mark.reading("DISC-50")
@virtually
async def test_to_look_for_the_coordinator_makes_no_group() -> None:
    async with staged() as stage:
        client = stage.connect()
        await _found_coordinator(client)
        assert stage.cluster.view("g") is None

        await client.join()
        assert stage.cluster.view("g") is not None


@pytest.mark.requirement("FIND-07")
@virtually
async def test_to_look_for_the_coordinator_changes_neither_group_nor_timers() -> None:
    async with staged() as stage:
        await stage.stable("m0", "m1")
        before = stage.cluster.view("g")
        await trio.sleep(9)
        await _found_coordinator(stage.connect("m1"))
        assert stage.cluster.view("g") == before

        await trio.sleep(2)
        assert {obs.at_ms for obs in stage.observations("timer") if "session-ends" in str(obs.rule)} == {10_000}


def _replayed(order: Iterable[str], at_ms: int) -> dict[str, JoinGroupResponse]:
    """Return what a machine answers that takes the joins of these clients one after the other."""
    settings = Settings.of({"group.initial.rebalance.delay.ms": DELAY_MS, "group.min.session.timeout.ms": 100}, "kafka-4.1")
    machine = Coordinator(settings=settings, random=random.Random("0/member ids/1"))
    outputs = []
    for client in order:
        protocols = (JoinProtocol(name="range", metadata=SUBSCRIBED),)
        request = JoinGroupRequest(
            group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=60_000, member_id="", protocol_type="consumer", protocols=protocols
        )
        outputs += machine.handle(request, Arrival(token=client, api_version=3, client_id=client, client_host="/127.0.0.1"), at_ms)
    outputs += machine.advance(at_ms + 2 * DELAY_MS)
    replies = [output for output in outputs if isinstance(output, Reply)]
    return {str(reply.token): reply.message for reply in replies if isinstance(reply.message, JoinGroupResponse)}


async def _join_together(clients: Iterable[Client]) -> dict[str, dict[str, Any]]:
    answers: dict[str, dict[str, Any]] = {}

    async def join(client: Client) -> None:
        answers[client.name] = await client.join()

    async with trio.open_nursery() as nursery:
        for client in clients:
            nursery.start_soon(join, client)
    return answers


@pytest.mark.requirement("JOIN-34")
@virtually
async def test_requests_side_by_side_are_answered_as_if_they_had_come_one_by_one() -> None:
    async with staged(settings={"group.initial.rebalance.delay.ms": DELAY_MS}) as stage:
        assert stage.coordinator == 1
        answers = await _join_together([stage.connect(f"m{number}") for number in range(12)])
        alone = _replayed([str(obs.client) for obs in stage.observations("processed", api="JoinGroup")], 0)

        assert len(alone) == 12
        for name, answer in answers.items():
            expected = alone[name]
            assert (answer["member_id"], answer["leader"], answer["generation_id"]) == (expected.member_id, expected.leader, expected.generation_id)
            assert [member["member_id"] for member in answer["members"]] == [member.member_id for member in expected.members]


@pytest.mark.requirement("DJOIN-13")
@virtually
async def test_the_phase_ends_with_the_last_of_many_joins_that_come_at_once() -> None:
    async with staged(settings={"group.initial.rebalance.delay.ms": DELAY_MS}) as stage:
        clients = [stage.connect(f"m{number}") for number in range(6)]
        answers = await _join_together(clients)
        (leader,) = (client for client in clients if answers[client.name]["leader"] == client.member_id)
        assert (await leader.sync())["error_code"] == 0

        late = stage.connect("late")
        await late.send(Api.JOIN_GROUP, late.join_body(), 3)
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        rejoined = await _join_together(clients)
        assert {(result["error_code"], result["generation_id"]) for result in [*rejoined.values(), await late.receive()]} == {(0, 2)}
        assert len(rejoined[leader.name]["members"]) == 7
        assert trio.current_time() == began


@pytest.mark.requirement("DJOIN-18", "PLAN-06")
@virtually
async def test_a_member_that_is_evicted_at_the_deadline_keeps_its_connection_and_the_trace_counts_the_expiry() -> None:
    async with staged() as stage:
        joiner, silent = await stage.stable("m0", "m1")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(joiner.join)
            for _ in range(7):  # alive, but it does not join again
                assert await silent.heartbeat() in (0, 27)
                await trio.sleep(9)

        view = stage.cluster.view("g")
        assert view is not None
        assert [member.client_id for member in view.members] == ["m0"]
        assert len([obs for obs in stage.observations("timer") if str(obs.rule).startswith("JoinDeadline/")]) == 1
        assert (await silent.ask(Api.API_VERSIONS, {"client_software_name": "kit", "client_software_version": "1"}))["error_code"] == 0
        assert stage.closings() == []
