from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from groupproof.harness.running.scripts.script_connection import RAW_BYTES_MAX, Exchange, ScriptLink
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import frame, write_response

Body = Callable[[ScriptLink, trio.abc.Stream, Recorder], Awaitable[None]]

BEAT = {"group_id": "g", "generation_id": 1, "member_id": "m"}


@asynccontextmanager
async def linked(answered: list[Exchange]) -> AsyncIterator[tuple[ScriptLink, trio.abc.Stream, Recorder]]:
    ours, theirs = trio.testing.memory_stream_pair()
    recorder = Recorder(lambda: 0)
    link = ScriptLink("a", 7, 3, ours, recorder, on_answer=answered.append)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(link.read)
        yield link, theirs, recorder
        await link.cut()


def run(body: Body) -> list[Exchange]:
    answered: list[Exchange] = []

    async def main() -> None:
        async with linked(answered) as (link, theirs, recorder):
            await body(link, theirs, recorder)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return answered


async def beat(link: ScriptLink) -> Exchange:
    return await link.ask(member="a", label="beat a", api=Api.HEARTBEAT, version=4, body=BEAT)


def answer(correlation: int, code: int = 0, *, throttle_ms: int = 0) -> bytes:
    return frame(write_response(Api.HEARTBEAT, 4, correlation, {"error_code": code, "throttle_time_ms": throttle_ms}))


def events_of(recorder: Recorder) -> list[tuple[str, str]]:
    return [(obs.who, obs.body["name"]) for obs in recorder.trace if obs.kind == "event"]


def test_an_answer_is_recorded_and_reported_before_anyone_who_waits_for_it_continues() -> None:
    async def body(link: ScriptLink, theirs: trio.abc.Stream, recorder: Recorder) -> None:
        exchange = await beat(link)
        await theirs.send_all(answer(1, 25))
        await exchange.done.wait()
        assert exchange.answer == {"throttle_time_ms": 0, "error_code": 25}
        assert recorder.trace[-1].error == 25

    assert [exchange.label for exchange in run(body)] == ["beat a"]


def test_answers_in_pieces_and_out_of_order_find_their_requests() -> None:
    async def body(link: ScriptLink, theirs: trio.abc.Stream, recorder: Recorder) -> None:
        first, second = await beat(link), await beat(link)
        both = answer(2, 27) + answer(1)
        await theirs.send_all(both[:5])
        await theirs.send_all(both[5:])
        await first.done.wait()
        assert (second.answer or {})["error_code"] == 27

    assert len(run(body)) == 2


@pytest.mark.parametrize(
    "garbage", [b"\xff\xff\xff\xff", frame(b"\x00\x00\x00\x63" + bytes(8)), answer(1)[:-1] + b"\x07", frame(b"\x00\x00\x00\x01\x00")]
)
def test_what_cannot_be_read_is_reported_and_ends_the_connection(garbage: bytes) -> None:
    async def body(link: ScriptLink, theirs: trio.abc.Stream, recorder: Recorder) -> None:
        exchange = await beat(link)
        await theirs.send_all(garbage)
        await exchange.done.wait()
        assert exchange.answer is None
        assert events_of(recorder) == [("link", "connected"), ("kit", "garbage"), ("link", "closed")]

    assert run(body) == []


def test_the_end_of_the_connection_lets_go_whoever_waits() -> None:
    async def body(link: ScriptLink, theirs: trio.abc.Stream, recorder: Recorder) -> None:
        exchange = await beat(link)
        await theirs.aclose()
        await exchange.done.wait()
        assert exchange.answer is None
        assert not link.is_open
        assert recorder.trace[-1].body["owed"] == ["beat a"]
        await beat(link)

    run(body)


def test_what_the_broker_says_to_raw_bytes_is_kept_as_it_came() -> None:
    async def body(link: ScriptLink, theirs: trio.abc.Stream, recorder: Recorder) -> None:
        await link.send_raw(b"anything")
        assert await theirs.receive_some() == b"anything"
        await theirs.send_all(frame(b"\x00\x00\x00\x63ok"))
        await trio.testing.wait_all_tasks_blocked()
        assert recorder.trace[-1].body == {"name": "answered-raw", "bytes": 6}
        assert recorder.trace[-1].raw == b"\x00\x00\x00\x63ok"
        assert link.is_open

    run(body)


def test_a_frame_that_is_too_long_is_left_out_of_the_trace_beside_its_body() -> None:
    async def body(link: ScriptLink, theirs: trio.abc.Stream, recorder: Recorder) -> None:
        long = {**BEAT, "member_id": "m" * RAW_BYTES_MAX}
        with trio.move_on_after(1):
            await link.ask(member="a", label="", api=Api.HEARTBEAT, version=4, body=long)
        assert recorder.trace[-1].raw is None
        assert recorder.trace[-1].body["member_id"] == long["member_id"]

    run(body)


def test_while_it_does_not_read_no_answer_comes_in() -> None:
    async def body(link: ScriptLink, theirs: trio.abc.Stream, recorder: Recorder) -> None:
        exchange = await beat(link)
        link.stop_reading()
        await theirs.send_all(answer(1))
        await trio.testing.wait_all_tasks_blocked()
        assert exchange.answer is None
        link.read_again()
        await exchange.done.wait()
        assert exchange.answer is not None

    run(body)


@pytest.mark.parametrize(("throttle_ms", "waits_s"), [(0, 0), (-1, 0), (700, 0.7), (11_000, 11), (11_001, 0)])
def test_a_throttled_client_sends_nothing_for_as_long_as_a_quota_can_ask(throttle_ms: int, waits_s: float) -> None:
    async def body(link: ScriptLink, theirs: trio.abc.Stream, recorder: Recorder) -> None:
        exchange = await beat(link)
        await theirs.send_all(answer(1, throttle_ms=throttle_ms))
        await exchange.done.wait()
        began = trio.current_time()
        await link.until_free()
        assert trio.current_time() - began == pytest.approx(waits_s)
        assert link.throttle_ms == waits_s * 1_000

    run(body)


def test_a_cut_with_reset_resets() -> None:
    async def main() -> None:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listeners[0].socket.getsockname()[1]
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        theirs = await listeners[0].accept()
        link = ScriptLink("a", 1, 0, stream, Recorder(lambda: 0), on_answer=lambda _: None)
        await link.cut(resets=True)
        with pytest.raises(trio.BrokenResourceError) as raised:
            await theirs.receive_some()
        assert isinstance(raised.value.__cause__, ConnectionResetError)
        await theirs.aclose()
        await listeners[0].aclose()

    trio.run(main)


def test_what_is_under_way_when_the_connection_is_cut_is_nobodys() -> None:
    async def body(link: ScriptLink, theirs: trio.abc.Stream, recorder: Recorder) -> None:
        await beat(link)
        await theirs.send_all(answer(1))
        await link.cut()
        await trio.testing.wait_all_tasks_blocked()
        assert events_of(recorder) == [("link", "connected"), ("link", "closed")]

    assert run(body) == []
