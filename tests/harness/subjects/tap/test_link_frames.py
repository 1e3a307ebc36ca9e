"""Frames that are swallowed, corrupted or overtaken on their way through the tap."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from tests.harness.subjects.tap.lines import Line, beat, beaten, fault, tapped
from tests.harness.subjects.tap.tapped import Peer

from groupproof.protocol.faults import Corrupt, Drop, Reorder


@pytest.mark.parametrize("direction", ["request", "response"])
def test_a_frame_that_is_swallowed_goes_no_further_and_the_connection_lives_on(direction: str) -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            for number in (1, 2):
                await client.say(beat(number))
            for number in (2,) if direction == "request" else (1, 2):
                assert await broker.hear() == beat(number)
                await broker.say(beaten(number))
            assert await client.hear() == beaten(2)

    line = tapped(act, fault(Drop(), direction=direction))
    assert line.stages() == ["armed", "triggered", "delivered"]
    assert [obs.correlation for obs in line.recorder.trace if obs.kind == "response"] == [2]


@pytest.mark.parametrize("direction", ["request", "response"])
def test_a_frame_that_is_corrupted_keeps_its_header_and_its_length(direction: str) -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(beat(1))
            asked = await broker.hear()
            await broker.say(beaten(1))
            answered = await client.hear()
            sent, got = (beat(1), asked) if direction == "request" else (beaten(1), answered)
            start = 8 + 2 + len("app") if direction == "request" else 4
            assert (asked == beat(1)) == (direction == "response")
            assert (answered == beaten(1)) == (direction == "request")
            assert (got[:start], len(got)) == (sent[:start], len(sent))
            assert sum(one != other for one, other in zip(got, sent, strict=True)) == 2

    line = tapped(act, fault(Corrupt(seed=3, bytes=2), direction=direction))
    assert line.stages() == ["armed", "triggered", "delivered"]


@pytest.mark.parametrize("direction", ["request", "response"])
def test_a_frame_waits_until_another_connection_s_has_passed(direction: str) -> None:
    heard: list[int] = []

    async def act(line: Line) -> None:
        async with line.peers() as (one, first), line.peers() as (other, second), trio.open_nursery() as nursery:

            async def answering(broker: Peer, number: int) -> None:
                assert await broker.hear() == beat(number)
                heard.append(number)
                await broker.say(beaten(number))

            nursery.start_soon(answering, first, 1)
            nursery.start_soon(answering, second, 2)
            await one.say(beat(1))
            await trio.testing.wait_all_tasks_blocked()
            assert line.stages()[-1] == "delivered"
            await other.say(beat(2))
            assert (await other.hear(), await one.hear()) == (beaten(2), beaten(1))

    line = tapped(act, fault(Reorder(), direction=direction))
    assert heard == ([2, 1] if direction == "request" else [1, 2])
    assert [obs.correlation for obs in line.recorder.trace if obs.kind == "response"] == [2, 1]
    assert line.stages() == ["armed", "triggered", "delivered", "released"]
