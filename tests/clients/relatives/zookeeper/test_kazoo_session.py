from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import trio
from tests.clients.relatives.zookeeper.real_world import NEEDS_JAVA, SESSION_MS, RealWorld, real_zookeeper
from tests.coordinator.relatives.zookeeper.scenes import SCENES, Event, Scene, Vanish, play

from groupproof.protocol.relatives.zookeeper_messages import Answer, Children, Code, Create, EventKind, GetEach, Set, WatchEvent

pytestmark = [pytest.mark.java, pytest.mark.network, pytest.mark.slow, NEEDS_JAVA]


def test_a_real_zookeeper_tells_what_each_scene_says(tmp_path: Path) -> None:
    wrong: list[str] = []

    def check(where: str, pairs: Sequence[Event], expected: Sequence[Event]) -> None:
        if list(pairs) != list(expected):
            wrong.append(f"{where} saw\n  {pairs}, not\n  {list(expected)}")

    async def one(scene: Scene, root: str, address: tuple[str, int]) -> None:
        # A session that vanishes is waited for; the others outlive any hitch of the machine.
        session_ms = SESSION_MS if any(isinstance(step, Vanish) for step in scene.steps) else 10 * SESSION_MS
        async with RealWorld.begun(address, root, session_ms) as world:
            await play(scene, world, check)

    async def all_of_them() -> None:
        async with real_zookeeper(tmp_path) as server, trio.open_nursery() as nursery:
            for number, scene in enumerate(SCENES):
                nursery.start_soon(one, scene, f"/scene-{number}", server.address)

    trio.run(all_of_them)
    assert not wrong, "\n".join(wrong)


def test_a_session_that_was_cut_off_for_too_long_expires_and_the_next_one_begins_without_watches(tmp_path: Path) -> None:
    async def live() -> None:
        async with real_zookeeper(tmp_path) as server, RealWorld.begun(server.address, "/cut", SESSION_MS) as world:
            a, b = await world.open(), await world.open()
            await b.ask(Create("/e", is_ephemeral=True))
            await b.ask(Children("/", is_watched=True))
            first = b.session_id
            await b.cut()
            await a.ask(Set("/", b"1"))
            await world.lapse()
            await b.heal()
            await a.ask(Create("/c"))
            await world.settle()

            assert b.events == ["connected", Answer(Code.OK), Answer(Code.OK, children=("e",)), "disconnected", "expired", "connected"]
            assert b.session_id not in (0, first)
            assert b.session.heard == 0

    trio.run(live)


def test_requests_are_counted_by_kind_and_those_that_failed_with_them(tmp_path: Path) -> None:
    async def live() -> None:
        async with real_zookeeper(tmp_path) as server, RealWorld.begun(server.address, "/count") as world:
            client = await world.open()
            for operation in (Create("/p"), Create("/p/a"), Create("/p/a"), Children("/p", is_watched=True), GetEach("/p", ("a", "x", "a"))):
                await client.ask(operation)
            await client.ask(Create("/p/b"))
            await world.settle()
            assert client.session.asked == {"Create": 4, "Children": 1, "Get": 2, "Exists": 1}
            assert client.session.heard == 1
            assert client.events[-2:] == [WatchEvent(EventKind.CHILDREN_CHANGED, "/p"), Answer(Code.OK)]

    trio.run(live)
