from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import trio
import trio.testing
from tests.harness.subjects.shims.fakes import Heard

from groupproof.harness.subjects.shims.conversation import ShimGone
from groupproof.harness.subjects.shims.shim_memory import Gate, InProcessShim

HELLO = '{"name":"hello","contract":1,"client":"c","version":"1","language":"python","capabilities":[]}'

Connect = Callable[[str, int], Awaitable[trio.abc.Stream]]


async def echoing(
    lines: AsyncIterator[str], emit: Callable[[str], Awaitable[None]], connect: Connect, *, seed: int, variant: str | None = None
) -> None:
    """Say ok to everything but `crash`; `connect` opens a connection."""
    await emit(HELLO)
    async for line in lines:
        command = json.loads(line)
        if command["command"] == "crash":
            raise RuntimeError("as asked")
        if command["command"] == "connect":
            await connect("broker", 1)
        await emit(json.dumps({"id": command["id"], "ok": True, "seed": seed, "variant": variant}))


class Line:
    """One connection's other end."""

    def __init__(self) -> None:
        self.ours, self.theirs = trio.testing.memory_stream_pair()

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        return self.theirs


def shim(line: Line | None = None) -> InProcessShim:
    return InProcessShim(echoing, (line or Line()).connect, seed=5, variant="odd")


def test_the_contract_is_spoken_over_channels_with_the_seed_and_the_variant() -> None:
    async def main() -> None:
        running = shim()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(running.run)
            assert (await running.conversation.wait_for_hello()).client == "c"
            answer = await running.conversation.ask("pause", {}, "m0")
            assert (answer.body["seed"], answer.body["variant"]) == (5, "odd")
            running.close_stdin()
        assert running.conversation.ending is not None
        assert running.conversation.ending.status == 0

    trio.run(main)


def test_a_member_that_raises_has_crashed_with_its_traceback_as_last_words() -> None:
    async def main() -> None:
        running, heard = shim(), Heard()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(running.run)
            await running.conversation.wait_for_hello()
            running.conversation.attach("m0", heard)
            with pytest.raises(ShimGone):
                await running.conversation.ask("crash", {}, "m0")
        assert heard.endings[0].status == 1
        assert heard.endings[0].stderr[-1] == "RuntimeError: as asked"

    trio.run(main)


def test_a_killed_member_drops_its_connections_and_says_nothing() -> None:
    async def main() -> None:
        line = Line()
        running, heard = shim(line), Heard()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(running.run)
            await running.conversation.wait_for_hello()
            running.conversation.attach("m0", heard)
            await running.conversation.ask("connect", {}, "m0")
            running.kill()
            await running.ended.wait()
            assert await line.ours.receive_some() == b""
        assert heard.endings[0].status == -9
        assert heard.events == []

    trio.run(main)


def test_a_frozen_member_neither_receives_nor_sends_until_it_thaws() -> None:
    async def main() -> None:
        line = Line()
        gate = Gate(line.connect)
        stream = await gate.connect("broker", 1)
        heard: list[bytes] = []

        async def hear() -> None:
            heard.append(bytes(await stream.receive_some()))

        async with trio.open_nursery() as nursery:
            gate.freeze()
            gate.freeze()  # who is frozen already is not frozen twice
            nursery.start_soon(stream.send_all, b"from")
            nursery.start_soon(hear)
            await line.ours.send_all(b"to")
            with trio.move_on_after(60) as waited:
                await line.ours.receive_some()
            assert waited.cancelled_caught
            assert heard == []
            gate.thaw()
            assert await line.ours.receive_some() == b"from"
        assert heard == [b"to"]

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_a_connection_that_the_member_closed_is_not_cut_again() -> None:
    async def main() -> None:
        gate = Gate(Line().connect)
        stream = await gate.connect("broker", 1)
        await stream.aclose()
        await gate.cut()
        with pytest.raises(trio.ClosedResourceError):
            await stream.send_all(b"x")

    trio.run(main)
