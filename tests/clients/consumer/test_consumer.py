"""The consumer over streams: time, callbacks, moves of the coordinator, and bounds."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from groupproof.clients.consumer.consumer import Consumer, ConsumerError, now_ms
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.outputs import Callback, CallbackKind, CommitResult, Fail
from groupproof.protocol.faults import Answer, Cut, Fault, Move, Selector, Silence
from groupproof.protocol.vocabulary import api_named
from groupproof.protocol.wire.message_codec import Framer, frame, read_request, write_response

if TYPE_CHECKING:
    from tests.clients.conftest import Pair

Story = Callable[["Pair"], Coroutine[Any, Any, None]]


def test_the_clock_in_milliseconds_is_never_early_for_a_deadline() -> None:
    async def main() -> None:
        for deadline_ms in (1, 57, 570, 1001, 12_345):
            await trio.sleep_until(deadline_ms / 1000)
            assert now_ms() == deadline_ms

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_members_follow_a_coordinator_that_moves(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", "m1")
        await pair.settled("m0", "m1")
        generation = pair.generation
        pair.cluster.move(Move(), "g")
        await trio.sleep(3)
        assert pair.is_settled("m0", "m1")
        assert pair.generation == generation, "a move is no rebalance"
        assert (await pair.ask("m0", "commit", offsets=[["t", 0, 1]]))["ok"]

    tell(story)


@pytest.mark.parametrize("api", ["FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "OffsetFetch", "Metadata", "ListOffsets", "Fetch"])
@pytest.mark.parametrize("direction", ["request", "response"])
def test_a_connection_cut_at_any_request_is_overcome(tell: Callable[..., None], api: str, direction: str) -> None:
    async def story(pair: Pair) -> None:
        pair.cluster.arm(Fault(name="cut", selector=Selector(api=api, direction=direction), action=Cut()))
        await pair.start("m0")
        await pair.settled("m0")
        await pair.until(lambda: sum(event["count"] for event in pair.events("m0", "records_consumed")) == 80)
        await trio.sleep(2)
        assert pair.evidence.receipts("cut", "delivered")
        assert pair.is_settled("m0")

    tell(story)


@pytest.mark.parametrize("api", ["FindCoordinator", "Metadata", "OffsetFetch", "ListOffsets", "Fetch"])
def test_a_broker_that_falls_silent_is_given_up_in_time(tell: Callable[..., None], api: str) -> None:
    async def story(pair: Pair) -> None:
        pair.cluster.arm(Fault(name="silent", selector=Selector(api=api), action=Silence()))
        await pair.start("m0", properties={"request.timeout.ms": 2000, "metadata.max.age.ms": 1000})
        await pair.until(lambda: sum(event["count"] for event in pair.events("m0", "records_consumed")) == 80)
        assert pair.evidence.receipts("silent", "delivered")
        assert len(pair.requests(api_named(api), "m0")) >= 2, "it asked again"
        assert pair.events("m0", "error") == []

    tell(story)


@pytest.mark.parametrize("api", ["Fetch", "ListOffsets"])
def test_a_partition_whose_leader_moved_is_asked_for_again(tell: Callable[..., None], api: str) -> None:
    async def story(pair: Pair) -> None:
        pair.cluster.arm(Fault(name="moved", selector=Selector(api=api, count=2), action=Answer(error_code=6)))
        await pair.start("m0")
        await pair.until(lambda: sum(event["count"] for event in pair.events("m0", "records_consumed")) == 80)
        assert len(pair.evidence.receipts("moved", "delivered")) == 2
        assert pair.events("m0", "error") == []

    tell(story)


def test_a_leader_gives_out_the_partitions_that_a_topic_gets(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", "m1", properties={"metadata.max.age.ms": 500})
        await pair.settled("m0", "m1")
        pair.cluster.grow("t", 8)
        await pair.until(lambda: sum(len(pair.last_callback(name).get("partitions", ())) for name in ("m0", "m1")) == 8)
        owned = [partition["partition"] for member in ("m0", "m1") for partition in pair.last_callback(member)["partitions"]]
        assert sorted(owned) == list(range(8)), "each partition has one owner"

    tell(story)


def test_the_next_owner_continues_where_the_last_one_committed(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", auto_commit=True, auto_commit_interval_ms=200)
        await pair.until(lambda: sum(event["count"] for event in pair.events("m0", "records_consumed")) == 80)
        await pair.ask("m0", "close")
        await pair.start("m1")
        await pair.settled("m1")
        await trio.sleep(2)
        assert pair.events("m1", "records_consumed") == []
        assert (await pair.ask("m1", "position"))["offsets"] == [["t", number, 20] for number in range(4)]

    tell(story)


def test_the_same_seed_gives_the_same_history(tell: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as the clients go: trio's own order of tasks is made a function of a seed, as pytest-trio does for Hypothesis."""
    scheduling = importlib.import_module("trio._core._run")
    monkeypatch.setattr(scheduling, "_ALLOW_DETERMINISTIC_SCHEDULING", True)
    histories: list[list[object]] = []

    async def story(pair: Pair) -> None:
        await pair.start("m0", "m1", variant="jittered-heartbeats")
        await pair.settled("m0", "m1")
        await trio.sleep(5)
        await pair.ask("m0", "close")
        await pair.settled("m1")
        histories.append([(obs.at_ns, obs.kind, obs.client, obs.api, obs.member, obs.error) for obs in pair.evidence.trace])

    for _ in range(3):
        monkeypatch.setattr(scheduling, "_r", random.Random(7))
        tell(story)

    assert histories[0] == histories[1] == histories[2]


class Lonely:
    """A consumer that finds nobody to talk to."""

    def __init__(self, **settings: Any) -> None:
        self.callbacks: list[CallbackKind] = []
        self.results: list[CommitResult | Fail] = []
        self.tries = 0
        wanted: dict[str, Any] = {"group": "g", "topics": ("t",)} | settings
        self.consumer = Consumer(
            MemberSettings(**wanted), self.connect, [("a", 1), ("b", 1)], client_id="m0", listener=self.listen, report=self.results.append
        )  # fmt: skip

    async def connect(self, _host: str, _port: int) -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        self.tries += 1
        raise ConnectionRefusedError("nobody listens")

    async def listen(self, callback: Callback) -> None:
        self.callbacks.append(callback.kind)


def alone(story: Callable[[Lonely], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def main() -> None:
        lonely = Lonely(**settings)
        async with trio.open_nursery() as nursery:
            await nursery.start(lonely.consumer.run)
            await story(lonely)
            nursery.cancel_scope.cancel()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_without_brokers_it_tries_on_in_measured_steps_and_polls_return_in_time() -> None:
    async def story(lonely: Lonely) -> None:
        for _ in range(100):
            before = now_ms()
            assert await lonely.consumer.poll(100) == []
            assert now_ms() - before == 100
        assert 10 <= lonely.tries <= 60

    alone(story)


def test_without_brokers_a_commit_fails_and_a_close_ends() -> None:
    async def story(lonely: Lonely) -> None:
        await lonely.consumer.poll(100)
        committed = await lonely.consumer.commit({("t", 0): 1})
        assert committed.error == "UNKNOWN_MEMBER_ID"
        assert lonely.results == [committed]
        assert (await lonely.consumer.commit()).error is None, "nothing to commit is no failure"
        with pytest.raises(ConsumerError, match="REQUEST_TIMED_OUT"):
            await lonely.consumer.committed(frozenset({("t", 0)}))
        await lonely.consumer.close()
        assert lonely.callbacks == []

    alone(story, default_api_timeout_ms=3000)


def test_an_interrupted_poll_returns_at_once() -> None:
    async def story(lonely: Lonely) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lonely.consumer.poll, 60_000)
            await trio.sleep(1)
            lonely.consumer.interrupt()
        assert now_ms() == 1000

    alone(story)


def test_positions_that_do_not_come_are_waited_for_no_longer_than_asked() -> None:
    async def story(lonely: Lonely) -> None:
        await lonely.consumer.await_positions(frozenset({("t", 0)}), 700)
        assert now_ms() == 700

    alone(story)


def test_nothing_can_happen_between_records_and_who_polled_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A callback that began in between would tell of a revocation before the records that came first."""

    async def main() -> None:
        lonely, order = Lonely(), list[str]()

        async def another_task() -> None:
            order.append("another task")

        async with trio.open_nursery() as nursery:

            def deliver() -> list[str]:
                nursery.start_soon(another_task)
                return ["records"]

            await nursery.start(lonely.consumer.run)
            monkeypatch.setattr(lonely.consumer._reading, "deliver", deliver)
            for _ in range(20):  # trio runs what is ready in any order
                order += map(str, await lonely.consumer.poll(100))
                await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()

        assert order == ["records", "another task"] * 20

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_a_broker_without_the_apis_of_groups_is_a_fatal_error() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:

            async def connect(_host: str, _port: int) -> trio.abc.Stream:
                near, far = trio.testing.memory_stream_pair()
                nursery.start_soon(answer_versions, far)
                return near

            settings = MemberSettings(group="g", topics=("t",))
            consumer = Consumer(settings, connect, [("a", 1)], client_id="m0", listener=Lonely().listen, report=lambda _end: None)
            await nursery.start(consumer.run)
            with pytest.raises(ConsumerError, match=r"does not speak (FindCoordinator|Metadata)") as raised:
                await consumer.poll(5000)
            assert raised.value.error == "UNSUPPORTED_VERSION"
            nursery.cancel_scope.cancel()

    async def answer_versions(stream: trio.abc.Stream) -> None:
        request = read_request(Framer().feed(bytes(await stream.receive_some()))[0])
        await stream.send_all(frame(write_response(request.api, request.version, request.correlation, {"error_code": 0, "api_keys": ()})))
        await trio.sleep_forever()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
