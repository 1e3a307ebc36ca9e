"""Each fault bites: with it the observable changes, without it it doesn't, on a real Toxiproxy."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
from tests.chaos.conftest import Story

from groupproof.chaos.wire.toxiproxy import Proxy, Toxiproxy
from groupproof.chaos.wire.toxiproxy_server import Program
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.protocol import toxics
from groupproof.protocol.toxics import DOWNSTREAM, UPSTREAM, Toxic

SOME = b"x" * 2_000
QUICK_S = 0.25
"""A round trip without a fault takes a thousandth of it."""
TRIES_MAX = 40
"""One of so many is quick, however busy the machine is; under a fault none is."""


async def quickest(proxy: Proxy) -> tuple[float, int]:
    """Return the first that is quick: the machine may be busy."""
    for _ in range(TRIES_MAX):
        trip = await round_trip(proxy)
        if trip[0] < QUICK_S:
            break
    return trip


async def round_trip(proxy: Proxy, some: bytes = SOME) -> tuple[float, int]:
    """Return how long it took until all came back, or the connection ended, and how many bytes came."""
    began = trio.current_time()
    came = 0
    stream = await trio.open_tcp_stream(*proxy.address)
    async with stream:
        await stream.send_all(some)
        while came < len(some) and (piece := await stream.receive_some()):
            came += len(piece)
    return trio.current_time() - began, came


def checks(toxic: Toxic, holds: Callable[[float, int], bool], *, within_s: float = 60.0) -> Story:
    async def story(_: Toxiproxy, proxy: Proxy) -> None:
        assert await quickest(proxy) < (QUICK_S, 0)
        async with proxy.under(toxic):
            with trio.move_on_after(within_s) as scope:
                took, came = await round_trip(proxy)
                assert holds(took, came), (took, came)
            assert not scope.cancelled_caught, "it ended in no time"
        took, came = await quickest(proxy)
        assert took < QUICK_S
        assert came == len(SOME)

    return story


@pytest.mark.slow
@pytest.mark.parametrize("stream", [UPSTREAM, DOWNSTREAM])
@pytest.mark.parametrize(
    ("toxic", "holds"),
    [
        (lambda stream: toxics.latency(400, jitter_ms=50, stream=stream), lambda took, came: took > 0.3 and came == len(SOME)),
        (lambda stream: toxics.bandwidth(4, stream=stream), lambda took, came: took > QUICK_S and came == len(SOME)),
        (lambda stream: toxics.timeout(300, stream=stream), lambda took, came: took > QUICK_S and came == 0),
        (lambda stream: toxics.limit_data(500, stream=stream), lambda took, came: came <= 500),
        (lambda stream: toxics.slicer(100, delay_us=20_000, stream=stream), lambda took, came: took > QUICK_S and came == len(SOME)),
    ],
    ids=["latency", "bandwidth", "timeout", "limit_data", "slicer"],
)
def test_a_fault_changes_what_comes_back_and_healed_it_does_not(
    through: Callable[[Story], None], toxic: Callable[[str], Toxic], holds: Callable[[float, int], bool], stream: str
) -> None:
    through(checks(toxic(stream), holds))


def test_a_reset_is_one(through: Callable[[Story], None]) -> None:
    async def story(_: Toxiproxy, proxy: Proxy) -> None:
        async with proxy.under(toxics.reset_peer(50)):
            with pytest.raises(trio.BrokenResourceError):
                await round_trip(proxy)

    through(story)


def test_a_slow_close_keeps_the_end_of_a_connection_back(through: Callable[[Story], None]) -> None:
    async def closing(proxy: Proxy) -> float:
        stream = await trio.open_tcp_stream(*proxy.address)
        async with stream:
            await stream.send_eof()
            began = trio.current_time()
            assert await stream.receive_some() == b""
            return trio.current_time() - began

    async def quickest_closing(proxy: Proxy) -> float:
        for _ in range(TRIES_MAX):
            took = await closing(proxy)
            if took < QUICK_S:
                break
        return took

    async def story(_: Toxiproxy, proxy: Proxy) -> None:
        assert await quickest_closing(proxy) < QUICK_S
        async with proxy.under(toxics.slow_close(400)):
            assert await closing(proxy) > QUICK_S

    through(story)


def test_a_proxy_that_is_down_refuses_and_comes_back(through: Callable[[Story], None]) -> None:
    async def story(_: Toxiproxy, proxy: Proxy) -> None:
        async with proxy.down():
            with pytest.raises(OSError, match="all attempts to connect"):
                await round_trip(proxy)
        assert (await round_trip(proxy))[1] == len(SOME)

    through(story)


def test_its_own_counters_tell_the_bytes_of_each_stream(through: Callable[[Story], None]) -> None:
    async def story(_: Toxiproxy, proxy: Proxy) -> None:
        before = await proxy.traffic()
        async with proxy.under(toxics.limit_data(500)):
            await round_trip(proxy)
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


def test_what_it_refuses_is_told_in_its_words(through: Callable[[Story], None]) -> None:
    async def story(_: Toxiproxy, proxy: Proxy) -> None:
        with pytest.raises(BrokenEnvironment, match=r"would not add rot_downstream to echo: .*invalid toxic type"):
            await proxy.add(Toxic(kind="rot"))

    through(story)
