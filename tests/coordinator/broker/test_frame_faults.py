"""Every fault action bites, at requests and at answers, and its receipts say so; where it cannot bite they say that."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing
from tests.coordinator.helpers import Client, Stage, assigned, staged, virtually

from groupproof.protocol.faults import Action, Answer, Cut, Duplicate, Fault, Hold, Move, Selector, Silence
from groupproof.protocol.vocabulary import Api

DIRECTIONS = pytest.mark.parametrize("direction", ["request", "response"])


def _arm(stage: Stage, action: Action, api: str = "Heartbeat", **selector: Any) -> None:
    stage.cluster.arm(Fault(name="f", selector=Selector(api=api, **selector), action=action))


def _processed(stage: Stage, api: str = "Heartbeat") -> int:
    return len(stage.observations("processed", api=api))


@virtually
async def test_an_answer_in_the_coordinators_stead_never_reaches_it() -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, Answer(error_code=27))

        assert [await client.heartbeat(), await client.heartbeat()] == [27, 0]
        assert _processed(stage) == 1
        assert stage.stages("f") == ["armed", "triggered", "delivered"]
        (struck,) = stage.observations("response", fault="f")
        assert (struck.error, struck.generation, struck.member) == (27, 1, client.member_id)


@virtually
async def test_an_answer_in_place_of_the_coordinators_comes_after_it_acted() -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, Answer(error_code=15), direction="response")

        assert await client.heartbeat() == 15
        assert _processed(stage) == 1
        assert stage.stages("f") == ["armed", "triggered", "delivered"]


@virtually
async def test_an_answer_can_carry_more_than_its_code() -> None:
    async with staged() as stage:
        client = stage.connect()
        _arm(stage, Answer(error_code=79, body={"member_id": "made-up"}), "JoinGroup")

        answer = await client.join()
        assert (answer["error_code"], answer["member_id"], answer["generation_id"]) == (79, "made-up", -1)
        assert stage.cluster.view("g") is None


@virtually
async def test_code_zero_on_an_answer_changes_single_fields() -> None:
    async with staged() as stage:
        client = stage.connect()
        _arm(stage, Answer(error_code=0, body={"generation_id": 41}), "JoinGroup", direction="response")

        answer = await client.join()
        assert (answer["generation_id"], answer["leader"]) == (41, client.member_id)


@virtually
async def test_an_answer_that_cannot_be_said_fails_and_the_request_continues() -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, Answer(error_code=27, body={"no_such_field": 1}))

        assert await client.heartbeat() == 0
        assert stage.stages("f") == ["armed", "triggered", "failed"]
        assert "no_such_field" in stage.observations("fault", stage="failed")[0].body["why"]


@virtually
async def test_an_answer_that_nobody_takes_is_not_delivered() -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, Answer(error_code=27))
        await client.send(Api.HEARTBEAT, client.who())
        await client.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()

        assert stage.stages("f") == ["armed", "triggered", "failed"]


@virtually
async def test_a_client_that_closes_after_an_answer_has_received_it_and_the_fault_acts_on_no_other() -> None:
    """As kafka-go does: the connection is at its end before the broker looks whether it still stands."""
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        ours, theirs = trio.testing.memory_stream_pair()
        hasty = Client(ours, "m0")

        async def hang_up() -> None:
            trio.testing.memory_stream_pump(theirs.send_stream, ours.receive_stream)
            await hasty.receive()
            await ours.aclose()
            for _ in range(10):  # turns in which the broker finds the connection at its end
                await trio.lowlevel.checkpoint()

        theirs.send_stream.send_all_hook = hang_up
        stage.nursery.start_soon(stage.cluster.serve_connection, 0, theirs, "127.0.0.1:1")
        _arm(stage, Answer(error_code=27))
        await hasty.send(Api.HEARTBEAT, client.who())
        await trio.testing.wait_all_tasks_blocked()

        assert stage.stages("f") == ["armed", "triggered", "delivered"]
        assert await client.heartbeat() == 0


@virtually
async def test_an_answer_that_the_application_reported_is_delivered_and_the_fault_acts_on_no_other() -> None:
    async with staged() as stage:
        gone, there = await stage.stable("m0", "m1")
        _arm(stage, Answer(error_code=27))
        await gone.send(Api.HEARTBEAT, gone.who())
        await gone.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        stage.cluster.interception.record_event("f", {"client": "m0"})
        stage.cluster.interception.record_event("nobody", {"client": "m0"})

        assert await there.heartbeat() == 0
        assert stage.stages("f") == ["armed", "triggered", "failed", "delivered"]
        assert stage.observations("fault", stage="delivered")[0].body["by"] == "application"


@virtually
async def test_a_fault_whose_answer_was_not_received_acts_on_the_next_match() -> None:
    async with staged() as stage:
        gone, there = await stage.stable("m0", "m1")
        _arm(stage, Answer(error_code=27))
        await gone.send(Api.HEARTBEAT, gone.who())
        await gone.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()

        assert await there.heartbeat() == 27
        assert await there.heartbeat() == 0
        assert stage.stages("f") == ["armed", "triggered", "failed", "triggered", "delivered"]


@virtually
async def test_an_answer_that_breaks_off_is_not_delivered() -> None:
    async def break_it() -> None:
        raise trio.BrokenResourceError("reset by peer")

    async with staged() as stage:
        ours, theirs = trio.testing.memory_stream_pair()
        theirs.send_stream.send_all_hook = break_it
        _arm(stage, Answer(error_code=27))
        stage.nursery.start_soon(stage.cluster.serve_connection, 0, theirs, "127.0.0.1:1")
        client = Client(ours, "m0")
        await client.send(Api.HEARTBEAT, client.who())

        await trio.testing.wait_all_tasks_blocked()
        assert stage.closings() == ["the connection broke: reset by peer"]
        assert stage.stages("f") == ["armed", "triggered", "failed"]
        assert stage.observations("fault", stage="failed")[0].body["why"] == "reset by peer"


@DIRECTIONS
@virtually
async def test_a_held_frame_waits_until_its_time_is_over_and_what_is_behind_it_too(direction: str) -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, Hold(ms=1_500), direction=direction)
        began = trio.current_time()
        await client.send(Api.HEARTBEAT, client.who())
        await client.send(Api.HEARTBEAT, client.who())
        await trio.testing.wait_all_tasks_blocked()

        assert _processed(stage) == (0 if direction == "request" else 1)
        assert [(await client.receive())["error_code"] for _ in range(2)] == [0, 0]
        assert trio.current_time() - began == pytest.approx(1.5)
        assert stage.stages("f") == ["armed", "triggered", "delivered", "released"]


@DIRECTIONS
@virtually
async def test_a_held_frame_waits_until_it_is_released(direction: str) -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, Hold(), direction=direction)
        await client.send(Api.HEARTBEAT, client.who())
        with trio.move_on_after(5) as waited:
            await client.receive()
        assert waited.cancelled_caught

        stage.cluster.release("f")
        assert (await client.receive())["error_code"] == 0
        assert stage.stages("f") == ["armed", "triggered", "delivered", "released"]


@virtually
async def test_a_held_answer_does_not_hold_the_coordinator_or_others() -> None:
    async with staged() as stage:
        first, second = await stage.stable("m0", "m1")
        _arm(stage, Hold(), direction="response", client="m0")
        await first.send(Api.HEARTBEAT, first.who())
        await trio.testing.wait_all_tasks_blocked()

        assert _processed(stage) == 1
        assert await second.heartbeat() == 0


@virtually
async def test_a_client_that_leaves_takes_its_held_request_with_it() -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, Hold())
        await client.send(Api.HEARTBEAT, client.who())
        await trio.testing.wait_all_tasks_blocked()
        await client.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        stage.cluster.release("f")
        await trio.testing.wait_all_tasks_blocked()

        assert _processed(stage) == 0
        assert stage.closings() == ["the client closed it"]


@DIRECTIONS
@virtually
async def test_a_silent_connection_takes_bytes_and_answers_nothing_until_it_is_healed(direction: str) -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, Silence(), direction=direction)
        for _ in range(3):
            await client.send(Api.HEARTBEAT, client.who())
        with trio.move_on_after(5) as waited:
            await client.receive()
        assert waited.cancelled_caught
        assert len(stage.observations("request", api="Heartbeat")) == 3
        assert stage.closings() == []

        stage.cluster.heal("f")
        assert [(await client.receive())["error_code"] for _ in range(3)] == [0, 0, 0]
        assert stage.stages("f") == ["armed", "triggered", "delivered", "healed"]


@DIRECTIONS
@pytest.mark.parametrize("reset", [False, True])
@virtually
async def test_a_cut_ends_the_connection_before_or_after_the_coordinator_acted(direction: str, reset: bool) -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, Cut(reset=reset), direction=direction)
        await client.send(Api.HEARTBEAT, client.who())

        assert await client.is_closed()
        await trio.testing.wait_all_tasks_blocked()
        assert _processed(stage) == (0 if direction == "request" else 1)
        assert stage.stages("f") == ["armed", "triggered", "delivered"]
        (closed,) = stage.observations("event", name="closed")
        assert (closed.body["reason"], closed.body["by"]) == ("fault f cut it", "fault")
        (delivered,) = stage.observations("fault", stage="delivered")
        assert delivered.seq > closed.seq


@virtually
async def test_a_duplicated_request_is_processed_twice_and_answered_once() -> None:
    async with staged() as stage:
        client = stage.connect()
        _arm(stage, Duplicate(), "JoinGroup")

        answer = await client.ask(Api.JOIN_GROUP, client.join_body(), 4)
        assert answer["error_code"] == 79
        view = stage.cluster.view("g")
        assert view is not None
        assert len(view.pending) == 2
        assert _processed(stage, "JoinGroup") == 2
        assert stage.stages("f") == ["armed", "triggered", "delivered"]
        assert await client.ask(Api.HEARTBEAT, client.who()) == {"throttle_time_ms": 0, "error_code": 25}


@virtually
async def test_a_request_to_the_broker_itself_can_be_duplicated_too() -> None:
    async with staged() as stage:
        _arm(stage, Duplicate(), "Metadata")

        await stage.connect().ask(Api.METADATA, {"topics": ()})
        assert _processed(stage, "Metadata") == 2
        assert stage.stages("f") == ["armed", "triggered", "delivered"]


@virtually
async def test_an_answer_cannot_be_duplicated() -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, Duplicate(), direction="response")

        assert await client.heartbeat() == 0
        assert stage.stages("f") == ["armed", "triggered", "failed"]


@pytest.mark.parametrize(("direction", "code"), [("request", 16), ("response", 0)])
@virtually
async def test_a_move_comes_before_the_frame_continues(direction: str, code: int) -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        before = stage.coordinator
        _arm(stage, Move(), direction=direction)

        assert await client.heartbeat() == code
        assert stage.coordinator != before
        assert stage.stages("f") == ["armed", "triggered", "delivered"]


@pytest.mark.parametrize(("api", "move", "why"), [("Metadata", Move(), "names no group"), ("Heartbeat", Move(to=7), "no node 7")])
@virtually
async def test_a_move_that_cannot_be_says_why(api: str, move: Move, why: str) -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, move, api)

        await client.ask(Api.METADATA, {"topics": ()})
        await client.heartbeat()
        assert stage.stages("f") == ["armed", "triggered", "failed"]
        assert why in stage.observations("fault", stage="failed")[0].body["why"]


@pytest.mark.parametrize(
    ("selector", "struck"),
    [
        ({"client": "m1"}, "m1"),
        ({"role": "leader"}, "m0"),
        ({"role": "follower"}, "m1"),
        ({"state": "Stable", "nth": 2}, "m1"),
        ({"generation": 2, "nth": 2}, "m1"),
        ({"group": "other"}, None),
        ({"state": "Empty"}, None),
        ({"node": 7}, None),
        ({"generation": 1}, None),
    ],
)
@virtually
async def test_a_frame_is_selected_by_what_the_coordinator_knows_of_it(selector: dict[str, Any], struck: str | None) -> None:
    async with staged() as stage:
        first, second = await stage.stable("m0", "m1")
        _arm(stage, Answer(error_code=27), **selector)

        codes = {"m0": await first.heartbeat(), "m1": await second.heartbeat()}
        assert codes == {name: 27 if name == struck else 0 for name in codes}


@virtually
async def test_an_answer_is_selected_by_how_many_partitions_it_assigns() -> None:
    async with staged() as stage:
        client = stage.connect()
        _arm(stage, Answer(error_code=27), "SyncGroup", direction="response", assigned=2)

        codes = []
        for partitions in ((0,), (0, 1)):
            joined = await client.join()
            codes.append((await client.sync(**{joined["member_id"]: assigned(*partitions)}))["error_code"])
        assert codes == [0, 27]


@virtually
async def test_an_answer_is_selected_by_its_error_and_the_member_it_names() -> None:
    async with staged() as stage:
        client = stage.connect()
        _arm(stage, Answer(error_code=15), "JoinGroup", direction="response", error=79)

        assert (await client.join())["error_code"] == 0
        stranger = stage.connect("m1")
        assert (await stranger.ask(Api.JOIN_GROUP, stranger.join_body(), 4))["error_code"] == 15
