"""Frames that are swallowed, corrupted or overtaken: each bites at requests and at answers, and its receipts say so."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import trio
import trio.testing
from tests.coordinator.helpers import Client, Stage, staged, virtually

from groupproof.protocol.faults import Action, Corrupt, Drop, Fault, Reorder, Selector
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import WireError

DIRECTIONS = pytest.mark.parametrize("direction", ["request", "response"])


def _arm(stage: Stage, action: Action, api: str = "Heartbeat", **selector: Any) -> None:
    stage.cluster.arm(Fault(name="f", selector=Selector(api=api, **selector), action=action))


def _processed(stage: Stage) -> list[str | None]:
    return [obs.client for obs in stage.observations("processed", api="Heartbeat")]


async def _is_silent(client: Client) -> bool:
    with trio.move_on_after(1) as waited:
        await client.receive()
    return waited.cancelled_caught


@DIRECTIONS
def test_a_frame_that_is_swallowed_is_answered_by_nobody_and_the_connection_lives_on(direction: str) -> None:
    @virtually
    async def story() -> None:
        async with staged() as stage:
            (client,) = await stage.stable("m0")
            _arm(stage, Drop(), direction=direction)
            await client.send(Api.HEARTBEAT, client.who())
            assert await _is_silent(client)
            client._asked.clear()  # it waits for that answer no more

            assert await client.heartbeat() == 0
            assert _processed(stage) == (["m0"] if direction == "request" else ["m0", "m0"])
            assert len(stage.observations("response", api="Heartbeat")) == 1
            assert stage.stages("f") == ["armed", "triggered", "delivered"]

    story()


@virtually
async def test_an_answer_that_is_corrupted_is_not_what_the_coordinator_said() -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, Corrupt(seed=1, bytes=4), direction="response")
        await client.send(Api.HEARTBEAT, client.who())

        try:
            assert (await client.receive())["error_code"] != 0
        except WireError:
            assert _processed(stage) == ["m0"]
        assert stage.stages("f") == ["armed", "triggered", "delivered"]
        assert stage.observations("response", api="Heartbeat")[0].error == 0


@virtually
async def test_a_request_that_nobody_can_read_any_more_ends_its_connection() -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, Corrupt(bytes=1_000), "JoinGroup")
        await client.send(Api.JOIN_GROUP, client.join_body())

        assert await client.is_closed()
        (closed,) = [obs.body["reason"] for obs in stage.observations("event", who="link") if obs.body["name"] == "closed"]
        assert "JoinGroup" in closed
        assert stage.stages("f") == ["armed", "triggered", "delivered"]


@virtually
async def test_a_request_that_is_still_one_is_processed_as_it_came() -> None:
    """Of some seeds the byte is one of the generation, or of the member's id."""
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        entries: set[int] = set()
        for seed in range(40):
            stage.cluster.arm(Fault(name=f"f{seed}", selector=Selector(api="Heartbeat"), action=Corrupt(seed=seed)))
            with suppress(trio.EndOfChannel, trio.BrokenResourceError):
                entries.add((await stage.connect().ask(Api.HEARTBEAT, client.who()))["error_code"])

        assert {22, 25} <= entries
        assert await client.heartbeat() == 0


@DIRECTIONS
def test_a_frame_waits_until_another_connection_s_has_passed(direction: str) -> None:
    @virtually
    async def story() -> None:
        async with staged() as stage:
            first, second = await stage.stable("m0", "m1")
            _arm(stage, Reorder(), direction=direction, client="m0")
            await first.send(Api.HEARTBEAT, first.who())
            await trio.testing.wait_all_tasks_blocked()
            assert stage.stages("f") == ["armed", "triggered", "delivered"]

            await second.send(Api.HEARTBEAT, second.who())
            assert [(await client.receive())["error_code"] for client in (second, first)] == [0, 0]
            if direction == "request":
                assert _processed(stage) == ["m1", "m0"]
            assert [obs.client for obs in stage.observations("response", api="Heartbeat")] == ["m1", "m0"]
            assert stage.stages("f") == ["armed", "triggered", "delivered", "released"]
            assert stage.observations("fault", stage="released")[0].body["by"] == "passing"

    story()


@virtually
async def test_a_frame_that_nothing_overtakes_waits_for_its_time_or_until_it_is_let_go() -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, Reorder(ms=500))
        began = trio.current_time()
        assert await client.heartbeat() == 0
        assert trio.current_time() - began == pytest.approx(0.5)
        assert stage.observations("fault", stage="released")[0].body["by"] == "time"
        stage.cluster.heal("f")

        for let_go in (stage.cluster.release, stage.cluster.heal):
            stage.cluster.heal("f")
            _arm(stage, Reorder())
            await client.send(Api.HEARTBEAT, client.who())
            await trio.testing.wait_all_tasks_blocked()
            let_go("f")
            assert (await client.receive())["error_code"] == 0


@virtually
async def test_what_comes_on_the_same_connection_overtakes_nothing() -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")
        _arm(stage, Reorder(ms=1_000))
        await client.send(Api.HEARTBEAT, client.who())
        await client.send(Api.HEARTBEAT, client.who())
        began = trio.current_time()
        await client.receive()

        assert trio.current_time() - began == pytest.approx(1)
