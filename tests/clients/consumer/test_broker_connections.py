"""Which connection a request takes."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from groupproof.clients.consumer.broker_connections import ANY, Brokers
from groupproof.clients.outputs import Node
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import Framer, frame, read_request, write_response

VERSIONS = {"error_code": 0, "api_keys": ({"api_key": int(Api.HEARTBEAT), "min_version": 0, "max_version": 4},)}
HEARTBEAT = {"group_id": "g", "generation_id": 1, "member_id": "m"}
NODE = Node(node_id=1, host="n1", port=9092)


class World:
    """Counts the connections that are opened, and where to; refuses those to `down`, answers heartbeats with `code` where it is given."""

    def __init__(
        self,
        nursery: trio.Nursery,
        *,
        shares: bool = False,
        down: tuple[str, ...] = (),
        hangs_up: bool = False,
        code: int | None = None,
        after_s: float = 0,
        idle_s: float = math.inf,
    ) -> None:
        self.opened: list[str] = []
        self.lost: list[tuple[Node | None, str]] = []
        self.far: list[trio.abc.Stream] = []
        self.answers: list[object] = []
        self._down, self._code, self._after_s, self._nursery = down, code, after_s, nursery
        self.brokers = Brokers(
            self.connect, [("b0", 1), ("b1", 1)], nursery, client_id="c", versions={}, shares_connections=shares, timeout_s=30,
            lost=lambda to, lane, _reason: self.lost.append((to, lane)), hangs_up=hangs_up, idle_s=idle_s,
        )  # fmt: skip

    async def connect(self, host: str, _port: int) -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        self.opened.append(host)
        if host in self._down:
            raise ConnectionRefusedError(host)
        near, far = trio.testing.memory_stream_pair()
        self.far.append(far)
        if self._code is not None:
            self._nursery.start_soon(_answer, far, self._code, self._after_s)
        return near

    async def send(self, to: Node | None, lane: str) -> None:
        self.brokers.send(to, lane, Api.HEARTBEAT, {}, self.answers.append)
        await trio.testing.wait_all_tasks_blocked()


def within(story: Callable[[trio.Nursery], Any]) -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            await story(nursery)
            nursery.cancel_scope.cancel()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0.01))


def test_a_lane_has_one_connection_to_each_broker() -> None:
    async def story(nursery: trio.Nursery) -> None:
        world = World(nursery)
        for lane in ("group", "group", "fetch"):
            await world.send(NODE, lane)
        assert world.opened == ["n1", "n1"]

    within(story)


def test_a_client_that_shares_has_one_connection_to_each_broker() -> None:
    async def story(nursery: trio.Nursery) -> None:
        world = World(nursery, shares=True)
        for lane in ("group", "fetch", "joins"):
            await world.send(NODE, lane)
        assert world.opened == ["n1"]

    within(story)


def test_any_broker_is_the_same_one_until_it_fails() -> None:
    async def story(nursery: trio.Nursery) -> None:
        world = World(nursery, down=("b0",))
        await world.send(None, ANY)
        assert (world.opened, world.answers, world.lost) == (["b0"], [None], [(None, ANY)])
        await world.send(None, ANY)
        await world.send(None, ANY)
        assert world.opened == ["b0", "b1"]

    within(story)


def test_dropped_connections_end_in_silence_and_others_stay() -> None:
    async def story(nursery: trio.Nursery) -> None:
        world = World(nursery)
        await world.send(NODE, "group")
        await world.send(NODE, "fetch")
        world.brokers.drop(NODE, frozenset({"group"}))
        await trio.testing.wait_all_tasks_blocked()
        assert world.answers == [None]
        assert world.lost == []
        await world.send(NODE, "fetch")
        assert world.opened == ["n1", "n1"]
        world.brokers.close()
        await trio.testing.wait_all_tasks_blocked()
        assert world.answers == [None] * 3

    within(story)


def test_a_connection_that_the_broker_ends_is_reported() -> None:
    async def story(nursery: trio.Nursery) -> None:
        world = World(nursery)
        await world.send(NODE, "group")
        await world.far[0].aclose()
        await trio.testing.wait_all_tasks_blocked()
        assert world.lost == [(NODE, "group")]

    within(story)


@pytest.mark.parametrize(("code", "opened"), [(27, ["n1", "n1"]), (0, ["n1"])])
def test_a_client_that_hangs_up_over_refusals_opens_another_connection(code: int, opened: list[str]) -> None:
    async def story(nursery: trio.Nursery) -> None:
        world = World(nursery, hangs_up=True, code=code)
        for _ in range(2):
            world.brokers.send(NODE, "group", Api.HEARTBEAT, HEARTBEAT, world.answers.append)
            await trio.sleep(0.1)
        assert [answer["error_code"] for answer in world.answers if isinstance(answer, dict)] == [code, code]
        assert (world.opened, world.lost) == (opened, [])

    within(story)


@pytest.mark.parametrize(("down", "expected"), [((), [0]), (("b1",), [0]), (("b0", "b1"), [None])])
def test_a_request_to_each_bootstrap_broker_gets_the_first_good_answer_or_the_last_failure(down: tuple[str, ...], expected: list[int | None]) -> None:
    async def story(nursery: trio.Nursery) -> None:
        world = World(nursery, down=down, code=0)
        world.brokers.send_to_each(Api.HEARTBEAT, HEARTBEAT, world.answers.append)
        await trio.sleep(0.1)
        assert sorted(world.opened) == ["b0", "b1"]
        assert [answer["error_code"] if isinstance(answer, dict) else answer for answer in world.answers] == expected

    within(story)


async def _answer(far: trio.abc.Stream, code: int, after_s: float) -> None:
    framer = Framer()
    with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        while data := await far.receive_some():
            for item in framer.feed(bytes(data)):
                asked = read_request(item)
                body = VERSIONS if asked.api is Api.API_VERSIONS else {"error_code": code}
                await trio.sleep(0 if asked.api is Api.API_VERSIONS else after_s)
                await far.send_all(frame(write_response(asked.api, asked.version, asked.correlation, body)))


def test_a_connection_that_nobody_uses_is_closed_and_not_lost() -> None:
    async def story(nursery: trio.Nursery) -> None:
        world = World(nursery, code=0, idle_s=10)
        for lane in (ANY, "group"):
            world.brokers.send(NODE, lane, Api.HEARTBEAT, HEARTBEAT, world.answers.append)
        await trio.sleep(9)
        world.brokers.send(NODE, ANY, Api.HEARTBEAT, HEARTBEAT, world.answers.append)
        await trio.sleep(9)
        assert len(world.far) == 2
        await trio.sleep(2)
        for lane in (ANY, "group"):
            world.brokers.send(NODE, lane, Api.HEARTBEAT, HEARTBEAT, world.answers.append)
        await trio.sleep(1)
        assert (len(world.far), world.lost) == (3, [])
        assert [answer["error_code"] for answer in world.answers if isinstance(answer, dict)] == [0] * 5

    within(story)


def test_a_connection_whose_request_waits_for_its_answer_is_not_idle() -> None:
    async def story(nursery: trio.Nursery) -> None:
        world = World(nursery, code=0, after_s=15, idle_s=10)
        world.brokers.send(NODE, ANY, Api.HEARTBEAT, HEARTBEAT, world.answers.append)
        await trio.sleep(16)
        world.brokers.send(NODE, ANY, Api.HEARTBEAT, HEARTBEAT, world.answers.append)
        await trio.sleep(16)
        assert (len(world.far), world.lost, len(world.answers)) == (1, [], 2)

    within(story)


def test_nodes_are_known_from_metadata() -> None:
    async def story(nursery: trio.Nursery) -> None:
        world = World(nursery)
        assert world.brokers.node(1) is None
        world.brokers.learn({1: ("n1", 9092)})
        assert world.brokers.node(1) == NODE
        await world.send(None, ANY)
        assert world.opened == ["n1"]

    within(story)
