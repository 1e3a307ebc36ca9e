"""Each fault bites: with it the observable changes, without it it doesn't, on a real Toxiproxy."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import trio
from tests.chaos.conftest import Story

from groupproof.chaos.wire.toxiproxy import Proxy, Toxiproxy
from groupproof.chaos.wire.toxiproxy_server import Program
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.protocol import toxics
from groupproof.protocol.toxics import DOWNSTREAM, UPSTREAM, Stream, Toxic

SOME = b"x" * 2_000
MUCH = b"x" * 200_000
HOUR_MS = 3_600_000
"""A fault that lasts so long is told from a busy machine, which no bound of seconds could do."""
LOOK_S = 0.3


class Trip:
    """A way there and back: how many bytes have come, and how long the first of them took."""

    def __init__(self) -> None:
        self.came, self.first_s, self.over = 0, 0.0, trio.Event()

    async def make(self, address: tuple[str, int], some: bytes) -> None:
        """Return when all has come back, or the connection has ended."""
        began = trio.current_time()
        async with await trio.open_tcp_stream(*address) as stream, trio.open_nursery() as nursery:
            nursery.start_soon(stream.send_all, some)
            while self.came < len(some) and (piece := await stream.receive_some()):
                self.first_s = self.first_s or trio.current_time() - began
                self.came += len(piece)
            nursery.cancel_scope.cancel()
        self.over.set()


async def trip(proxy: Proxy, some: bytes = SOME) -> Trip:
    made = Trip()
    await made.make(proxy.address, some)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("stream", [UPSTREAM, DOWNSTREAM])
@pytest.mark.parametrize(
    ("toxic", "some", "came_at_most"),
    [
        (lambda stream: toxics.latency(HOUR_MS, jitter_ms=50, stream=stream), SOME, 0),
        (lambda stream: toxics.bandwidth(1, stream=stream), MUCH, len(MUCH) - 1),
        (lambda stream: toxics.slicer(100, delay_us=HOUR_MS * 1_000, stream=stream), SOME, 100),
    ],
    ids=["latency", "bandwidth", "slicer"],
)
def test_a_fault_keeps_bytes_back_until_it_is_healed(
    through: Callable[[Story], None], toxic: Callable[[str], Toxic], some: bytes, came_at_most: int, stream: str
) -> None:
    async def story(_: Toxiproxy, proxy: Proxy) -> None:
        assert (await trip(proxy, some)).came == len(some)
        struck = Trip()
        async with trio.open_nursery() as nursery, proxy.under(toxic(stream)):
            nursery.start_soon(struck.make, proxy.address, some)
            with trio.move_on_after(LOOK_S):
                await struck.over.wait()
            assert struck.came <= came_at_most
        assert struck.came == len(some)
        assert (await trip(proxy, some)).came == len(some)

    through(story)


@pytest.mark.slow
@pytest.mark.parametrize("stream", [UPSTREAM, DOWNSTREAM])
@pytest.mark.parametrize(
    ("toxic", "came_at_most"),
    [(lambda stream: toxics.timeout(300, stream=stream), 0), (lambda stream: toxics.limit_data(500, stream=stream), 500)],
    ids=["timeout", "limit_data"],
)
def test_a_fault_ends_a_connection_and_healed_it_does_not(
    through: Callable[[Story], None], toxic: Callable[[str], Toxic], came_at_most: int, stream: str
) -> None:
    async def story(_: Toxiproxy, proxy: Proxy) -> None:
        async with proxy.under(toxic(stream)):
            struck = await trip(proxy)
        healed = await trip(proxy)

        assert struck.came <= came_at_most
        assert healed.came == len(SOME)

    through(story)


@pytest.mark.slow
@pytest.mark.parametrize("stream", [UPSTREAM, DOWNSTREAM])
def test_latency_lasts_as_long_as_it_says(through: Callable[[Story], None], stream: Stream) -> None:
    async def story(_: Toxiproxy, proxy: Proxy) -> None:
        async with proxy.under(toxics.latency(400, jitter_ms=50, stream=stream)):
            late = await trip(proxy)

        assert late.came == len(SOME)
        assert late.first_s > LOOK_S

    through(story)


def test_a_reset_is_one(through: Callable[[Story], None]) -> None:
    async def story(_: Toxiproxy, proxy: Proxy) -> None:
        async with proxy.under(toxics.reset_peer(50)):
            with pytest.raises(ExceptionGroup) as raised:
                await trip(proxy)
            assert raised.group_contains(trio.BrokenResourceError)

    through(story)


def test_a_slow_close_keeps_the_end_of_a_connection_back(through: Callable[[Story], None]) -> None:
    async def is_closed(proxy: Proxy, within_s: float = math.inf) -> bool:
        with trio.move_on_after(within_s):
            async with await trio.open_tcp_stream(*proxy.address) as stream:
                await stream.send_eof()
                return await stream.receive_some() == b""
        return False

    async def story(_: Toxiproxy, proxy: Proxy) -> None:
        assert await is_closed(proxy)
        async with proxy.under(toxics.slow_close(HOUR_MS)):
            assert not await is_closed(proxy, LOOK_S)
        assert await is_closed(proxy)

    through(story)


def test_a_proxy_that_is_down_refuses_and_comes_back(through: Callable[[Story], None]) -> None:
    async def story(_: Toxiproxy, proxy: Proxy) -> None:
        async with proxy.down():
            with pytest.raises(OSError, match="all attempts to connect"):
                await trip(proxy)
        assert (await trip(proxy)).came == len(SOME)

    through(story)


def test_its_own_counters_tell_the_bytes_of_each_stream(through: Callable[[Story], None]) -> None:
    async def story(_: Toxiproxy, proxy: Proxy) -> None:
        before = await proxy.traffic()
        async with proxy.under(toxics.limit_data(500)):
            await trip(proxy)
        after = await proxy.traffic()
        while after.sent[DOWNSTREAM] < 500:  # it counts when a connection is over
            after = await proxy.traffic()

        assert before.sent == {UPSTREAM: 0, DOWNSTREAM: 0}
        assert after.received[UPSTREAM] == len(SOME)
        assert after.sent[DOWNSTREAM] == 500

    through(story)


def test_two_servers_at_a_time_are_not_mixed_up(through: Callable[[Story], None], program: Program) -> None:
    async def story(server: Toxiproxy, proxy: Proxy) -> None:
        other = Toxiproxy("127.0.0.1", 9)
        with pytest.raises(BrokenEnvironment, match=r"127\.0\.0\.1:9 would not reset"):
            await other.reset()
        async with proxy.under(toxics.latency(1)):
            await server.reset()
            with pytest.raises(BrokenEnvironment, match="would not remove latency_downstream from echo"):
                await proxy.remove(toxics.latency(1))
            await proxy.add(toxics.latency(1))

    through(story)


def test_what_it_refuses_is_reported_in_its_words(through: Callable[[Story], None]) -> None:
    async def story(_: Toxiproxy, proxy: Proxy) -> None:
        with pytest.raises(BrokenEnvironment, match=r"would not add rot_downstream to echo: .*invalid toxic type"):
            await proxy.add(Toxic(kind="rot"))

    through(story)
