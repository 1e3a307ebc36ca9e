"""One connection: versions, order, and every way to end."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import trio
import trio.testing

from groupproof.clients.consumer.connection import REQUESTS_MAX, Connection, Exchange
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import Framer, WireRequest, frame, read_request, write_response

VERSIONS = {"error_code": 0, "api_keys": tuple({"api_key": int(api), "min_version": 0, "max_version": 4} for api in (Api.HEARTBEAT, Api.METADATA))}
HEARTBEAT = {"group_id": "g", "generation_id": 1, "member_id": "m"}


class Broker:
    """The far end: takes requests as they come, and answers what it is told to."""

    def __init__(self) -> None:
        self.stream, self.ours = trio.testing.memory_stream_pair()
        self.framer = Framer()
        self.ready: list[bytes] = []

    async def take(self) -> WireRequest:
        while not self.ready:
            self.ready += self.framer.feed(bytes(await self.ours.receive_some()))
        return read_request(self.ready.pop(0))

    async def answer(self, request: WireRequest, body: dict[str, Any]) -> None:
        await self.ours.send_all(frame(write_response(request.api, request.version, request.correlation, body)))

    async def agree(self) -> None:
        await self.answer(await self.take(), VERSIONS)


class Client:
    def __init__(
        self, broker: Broker, versions: dict[Api, int] | None = None, timeout_s: float = math.inf, *, repeats_correlations: bool = False
    ) -> None:
        self.answers: list[dict[str, Any] | None] = []
        self.reasons: list[Exception] = []
        self.exchanges: list[Exchange] = []

        async def connect(_host: str, _port: int) -> trio.abc.Stream:
            return broker.stream

        self.connection = Connection(
            connect, "h", 9092, client_id="c", versions=versions or {}, closed=self.reasons.append, timeout_s=timeout_s,
            observer=self.exchanges.append, number=7, repeats_correlations=repeats_correlations,
        )  # fmt: skip

    def heartbeat(self) -> None:
        self.connection.send(Api.HEARTBEAT, HEARTBEAT, self.answers.append)


def run(story: Callable[[Broker, Client], Coroutine[Any, Any, None]], **client: Any) -> Client:
    made: list[Client] = []

    async def main() -> None:
        broker = Broker()
        made.append(Client(broker, **client))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(made[0].connection.run)
            await story(broker, made[0])
            nursery.cancel_scope.cancel()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return made[0]


def test_requests_are_answered_in_order_with_the_newest_common_version() -> None:
    async def story(broker: Broker, client: Client) -> None:
        client.heartbeat()
        client.heartbeat()
        await broker.agree()
        first, second = await broker.take(), await broker.take()
        assert (first.version, first.client_id, first.body["generation_id"]) == (4, "c", 1)
        await broker.answer(first, {"error_code": 27})
        await broker.answer(second, {"error_code": 0})
        await trio.testing.wait_all_tasks_blocked()

    client = run(story)
    assert [result["error_code"] for result in client.answers if result] == [27, 0]


def test_a_client_that_repeats_one_correlation_id_goes_by_the_order_of_the_answers() -> None:
    async def story(broker: Broker, client: Client) -> None:
        client.heartbeat()
        client.heartbeat()
        await broker.agree()
        first, second = await broker.take(), await broker.take()
        assert first.correlation == second.correlation == 0
        await broker.answer(first, {"error_code": 27})
        await broker.answer(second, {"error_code": 0})
        await trio.testing.wait_all_tasks_blocked()

    client = run(story, repeats_correlations=True)
    assert [result["error_code"] for result in client.answers if result] == [27, 0]


def test_a_policys_version_is_the_newest_that_is_spoken() -> None:
    async def story(broker: Broker, client: Client) -> None:
        client.heartbeat()
        await broker.agree()
        assert (await broker.take()).version == 1

    run(story, versions={Api.HEARTBEAT: 1})


def test_a_broker_that_refuses_the_newest_apiversions_is_asked_in_v0() -> None:
    async def story(broker: Broker, client: Client) -> None:
        client.heartbeat()
        newest = await broker.take()
        assert newest.version == 3
        await broker.ours.send_all(frame(write_response(Api.API_VERSIONS, 0, newest.correlation, VERSIONS | {"error_code": 35})))
        oldest = await broker.take()
        assert oldest.version == 0
        await broker.answer(oldest, VERSIONS)
        assert (await broker.take()).api is Api.HEARTBEAT

    run(story)


@pytest.mark.parametrize(
    ("api", "message"), [(Api.JOIN_GROUP, "does not speak JoinGroup"), (Api.METADATA, "speaks Metadata v90 to v99, this client v0 to v13")]
)
def test_an_api_without_a_common_version_ends_the_connection_with_the_reason(api: Api, message: str) -> None:
    async def story(broker: Broker, client: Client) -> None:
        client.connection.send(api, {}, client.answers.append)
        metadata = {"api_key": int(Api.METADATA), "min_version": 90, "max_version": 99}
        await broker.answer(await broker.take(), VERSIONS | {"api_keys": (metadata,)})
        await trio.testing.wait_all_tasks_blocked()

    client = run(story)
    assert client.answers == [None]
    assert message in str(client.reasons[0])


@pytest.mark.parametrize(
    ("bytes_", "message"),
    [
        (b"", "closed the connection"),
        (frame(struct.pack(">i", 99) + b"\x00" * 8), "came where"),
        (struct.pack(">i", -5), "-5 bytes"),
        (frame(struct.pack(">i", 2)), "cannot be read"),
    ],
)
def test_a_peer_that_ends_or_talks_nonsense_ends_the_connection_and_nothing_else(bytes_: bytes, message: str) -> None:
    async def story(broker: Broker, client: Client) -> None:
        client.heartbeat()
        client.heartbeat()
        await broker.agree()
        await broker.take()
        if bytes_:
            await broker.ours.send_all(bytes_)
        else:
            await broker.ours.aclose()
        await trio.testing.wait_all_tasks_blocked()

    client = run(story)
    assert client.answers == [None, None]
    assert len(client.reasons) == 1
    assert message in str(client.reasons[0])


def test_an_answer_that_nothing_asked_for_ends_the_connection() -> None:
    async def story(broker: Broker, _client: Client) -> None:
        await broker.agree()
        await broker.ours.send_all(frame(b"\x00" * 8))
        await trio.testing.wait_all_tasks_blocked()

    assert "an answer came without a request" in str(run(story).reasons[0])


def test_a_broker_that_is_not_there_is_reported_once() -> None:
    async def refuse(_host: str, _port: int) -> trio.abc.Stream:
        raise ConnectionRefusedError("nobody listens")

    reasons: list[Exception] = []
    answers: list[object] = []
    connection = Connection(refuse, "h", 1, client_id="c", versions={}, closed=reasons.append)

    async def main() -> None:
        connection.send(Api.HEARTBEAT, HEARTBEAT, answers.append)
        await connection.run()

    trio.run(main)

    assert answers == [None]
    assert list(map(str, reasons)) == ["h:1: nobody listens"]


def test_a_broker_that_never_accepts_is_given_up() -> None:
    async def hang(_host: str, _port: int) -> trio.abc.Stream:
        await trio.sleep_forever()
        raise AssertionError("not reached")

    reasons: list[Exception] = []
    connection = Connection(hang, "h", 1, client_id="c", versions={}, closed=reasons.append)
    trio.run(connection.run, clock=trio.testing.MockClock(autojump_threshold=0))

    assert len(reasons) == 1


def test_a_request_without_an_answer_ends_the_connection_in_its_time() -> None:
    async def story(broker: Broker, client: Client) -> None:
        client.heartbeat()
        await broker.agree()
        first = await broker.take()
        await trio.sleep(4)
        client.heartbeat()
        await broker.answer(first, {"error_code": 0})
        await trio.sleep(4.9)
        assert client.reasons == []
        await trio.sleep(0.2)

    client = run(story, timeout_s=5)
    assert [result and result["error_code"] for result in client.answers] == [0, None]
    assert str(client.reasons[0]) == "h:9092: no answer for 5 s"


def test_requests_that_nobody_writes_are_bounded() -> None:
    async def story(_broker: Broker, client: Client) -> None:
        for _ in range(REQUESTS_MAX + 1):
            client.heartbeat()
        await trio.testing.wait_all_tasks_blocked()

    client = run(story)
    assert client.answers == [None] * REQUESTS_MAX
    assert list(map(str, client.reasons)) == [f"{REQUESTS_MAX} requests wait to be written"]


def test_an_observer_sees_each_request_as_it_leaves_and_again_with_its_answer() -> None:
    async def story(broker: Broker, client: Client) -> None:
        await broker.agree()
        client.heartbeat()
        client.heartbeat()
        first = await broker.take()
        await broker.answer(first, {"error_code": 27})
        await broker.take()
        await trio.testing.wait_all_tasks_blocked()

    client = run(story)

    beat = (7, Api.HEARTBEAT, 4)
    assert [exchange[:3] for exchange in client.exchanges] == [beat] * 3
    [answered] = [exchange for exchange in client.exchanges if exchange.answer is not None]
    assert answered.answer is not None
    assert (answered.correlation, answered.request, answered.answer["error_code"]) == (2, HEARTBEAT, 27)
    assert sorted(exchange.correlation for exchange in client.exchanges if exchange.answer is None) == [2, 3]


def test_the_same_metadata_is_read_once_and_still_belongs_to_its_request() -> None:
    metadata = {"topics": ({"name": "t", "partitions": ({"partition_index": 0},)},)}
    answers: list[Any] = []

    async def story(broker: Broker, client: Client) -> None:
        await broker.agree()
        for wrong in (0, 0, 1):
            client.connection.send(Api.METADATA, {"topics": None}, answers.append)
            request = await broker.take()
            request.correlation += wrong
            await broker.answer(request, metadata)
            await trio.testing.wait_all_tasks_blocked()

    client = run(story)

    assert answers[0] is answers[1]
    assert answers[0]["topics"][0]["partitions"][0]["partition_index"] == 0
    assert answers[2] is None
    assert "came where 4 was due" in str(client.reasons[0])
