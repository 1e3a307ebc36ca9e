"""One connection through the tap, spoken by hand: what passes, what is struck, and how it ends."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.subjects.tap.lines import Line, beat, beaten, fault, tapped
from tests.harness.subjects.tap.tapped import Peer

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.protocol.faults import Answer, Cut, Duplicate, Hold, Silence
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import read_response, write_request, write_response

REQUESTS = st.one_of(
    st.binary(max_size=60),
    st.builds(lambda key, rest: key.to_bytes(2, "big") + rest, st.sampled_from([int(api) for api in Api]), st.binary(max_size=60)),
    st.builds(beat, st.integers(0, 9)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(REQUESTS.filter(lambda data: data[:4] != b"\0\x11\0\0"), max_size=8), st.lists(st.binary(max_size=60), max_size=8))
def test_whatever_is_sent_either_way_arrives_byte_for_byte(up: list[bytes], down: list[bytes]) -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            for payload in up:
                await client.say(payload)
                assert await broker.hear() == payload
            for payload in down:
                await broker.say(payload)
            assert [await client.hear() for _ in down] == down

    assert not [why for why in tapped(act).closed() if "groupproof failed" in why[1]]


def test_requests_and_answers_are_recorded_as_a_coordinator_would() -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(beat(3))
            await broker.say(beaten(int.from_bytes((await broker.hear())[4:8], "big"), 27))
            assert await client.hear() == beaten(3, 27)

    line = tapped(act)

    request, response = (obs for obs in line.recorder.trace if obs.kind in ("request", "response"))
    assert (request.who, request.api, request.group, request.member, request.generation) == ("coordinator", "Heartbeat", "g", "m", 1)
    assert (response.who, response.client, response.correlation, response.error) == ("coordinator", "app", 3, 27)


def test_an_address_in_an_answer_is_the_taps() -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(write_request(Api.METADATA, 9, 1, "app", {"topics": ()}))
            await broker.hear()
            await broker.say(write_response(Api.METADATA, 9, 1, {"brokers": ({"node_id": 5, "host": "far", "port": 1},)}))
            (entry,) = read_response(Api.METADATA, 9, await client.hear())[1]["brokers"]
            assert (entry["node_id"], entry["host"], entry["port"]) == (5, "tap-1", 9092)

    assert {route.node for route in tapped(act).hub.routes.values()} == {None, 5}


def test_an_answer_is_rewritten_though_its_request_could_not_be_read() -> None:
    odd = write_request(Api.METADATA, 13, 1, "app", {"topics": None})[:-1]

    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(odd)
            assert await broker.hear() == odd
            await broker.say(write_response(Api.METADATA, 13, 1, {"brokers": ({"node_id": 5, "host": "far", "port": 1},)}))
            (entry,) = read_response(Api.METADATA, 13, await client.hear())[1]["brokers"]
            assert (entry["host"], entry["port"]) == ("tap-1", 9092)

    assert ["cannot be read" in entry["why"] for entry in tapped(act).bodies_of("passed")] == [True, True]


def test_what_cannot_be_read_and_what_nobody_asked_for_is_reported() -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(b"\x03\xe7\x00\x01\x00\x00\x00\x09rest")
            await broker.say(await broker.hear())
            await broker.say(beaten(1))
            assert await client.hear() == b"\x03\xe7\x00\x01\x00\x00\x00\x09rest"
            assert await client.hear() == beaten(1)

    line = tapped(act)

    assert [api["api_key"] for api in line.bodies_of("passed")] == [999]
    assert len(line.bodies_of("unasked")) == 2  # the broker's answer to correlation 9 began with other bytes


def test_a_faults_answer_waits_for_the_brokers_before_it() -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(write_request(Api.LIST_GROUPS, 0, 1, "app", {}))
            await client.say(beat(2))
            await client.say(beat(3))
            assert [(await broker.hear())[4:8] for _ in range(2)] == [b"\0\0\0\1", b"\0\0\0\3"]
            await broker.say(write_response(Api.LIST_GROUPS, 0, 1, {}))
            await broker.say(beaten(3))
            assert [(await client.hear())[:4] for _ in range(3)] == [b"\0\0\0\1", b"\0\0\0\2", b"\0\0\0\3"]

    assert tapped(act, fault(Answer(error_code=27))).stages() == ["armed", "triggered", "delivered"]


def test_a_fault_changes_what_the_broker_said() -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(beat(1))
            await broker.hear()
            await broker.say(beaten(1))
            assert await client.hear() == beaten(1, 25)

    line = tapped(act, fault(Answer(error_code=25), direction="response"))

    assert line.stages() == ["armed", "triggered", "delivered"]
    assert [obs.error for obs in line.recorder.trace if obs.kind == "response"] == [25]


@pytest.mark.parametrize("direction", ["request", "response"])
def test_a_held_frame_keeps_back_what_comes_after_it(direction: str) -> None:
    times: list[float] = []

    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            for correlation in (1, 2):
                await client.say(beat(correlation))
            for correlation in (1, 2):
                await broker.hear()
                await broker.say(beaten(correlation))
            for correlation in (1, 2):
                assert await client.hear() == beaten(correlation)
                times.append(trio.current_time())

    line = tapped(act, fault(Hold(ms=5_000), direction=direction))

    assert times == [5.0, 5.0]
    assert line.stages() == ["armed", "triggered", "delivered", "released"]


def test_a_silenced_connection_takes_bytes_and_answers_nothing_until_it_is_healed() -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(beat(1))
            with trio.move_on_after(30) as waited:
                await broker.hear()
            assert waited.cancelled_caught
            line.interception.heal("f")
            await broker.hear()

    assert tapped(act, fault(Silence())).stages() == ["armed", "triggered", "delivered", "healed"]


@pytest.mark.parametrize("direction", ["request", "response"])
def test_a_cut_ends_both_sides(direction: str) -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(beat(1))
            if direction == "response":
                await broker.hear()
                await broker.say(beaten(1))
            assert await client.hear() == b""
            assert await broker.hear() == b""

    line = tapped(act, fault(Cut(reset=True), direction=direction))

    assert line.closed() == [("fault", "fault f cut it")]
    assert line.stages() == ["armed", "triggered", "delivered"]


def test_a_duplicate_is_asked_twice_and_answered_once() -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(beat(1))
            assert [await broker.hear() for _ in range(2)] == [beat(1), beat(1)]
            await broker.say(beaten(1))
            await broker.say(beaten(1, 25))
            await client.say(beat(2))
            await broker.hear()
            await broker.say(beaten(2))
            assert [await client.hear() for _ in range(2)] == [beaten(1), beaten(2)]

    assert tapped(act, fault(Duplicate())).stages() == ["armed", "triggered", "delivered"]


def test_a_faults_answer_that_reaches_nobody_leads_to_another_one() -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(beat(1))
            await broker.hear()
            client.stream.receive_stream.close()  # type: ignore[attr-defined]  # a pair of memory streams
            await broker.say(beaten(1))
            assert await broker.hear() == b""
        async with line.peers() as (client, broker):
            await client.say(beat(1))
            await broker.hear()
            await broker.say(beaten(1))
            assert await client.hear() == beaten(1, 27)

    line = tapped(act, fault(Answer(error_code=27), direction="response"))

    assert line.stages() == ["armed", "triggered", "failed", "triggered", "delivered"]
    assert len(line.bodies_of("unsent")) == 1


def test_a_client_that_hangs_up_is_waved_off_at_the_broker_after_what_it_said() -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(beat(1))
            await client.stream.aclose()
            assert await broker.hear() == beat(1)
            assert await broker.hear() == b""

    line = tapped(act)

    assert line.closed() == [("client", "the client closed it")]
    assert [obs.kind for obs in line.recorder.trace if obs.api == "Heartbeat"] == ["request"]


def test_a_client_that_hangs_up_while_its_request_is_held_is_gone_at_once() -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(beat(1))
            await trio.testing.wait_all_tasks_blocked()
            await client.stream.aclose()
            assert await broker.hear() == b""

    assert tapped(act, fault(Hold())).closed() == [("client", "the client closed it")]


def test_a_broker_that_hangs_up_ends_the_clients_connection_with_a_reason() -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(beat(1))
            await broker.hear()
            await broker.stream.send_all(b"\0\0\0\x09half")
            await broker.stream.aclose()
            assert await client.hear() == b""
        async with line.peers() as (client, broker):
            await client.say(beat(2))
            assert await broker.hear() == beat(2)

    line = tapped(act)

    assert line.closed()[0] == ("upstream", "the broker closed it within a frame, of which 8 bytes came")
    assert line.bodies_of("closed")[0]["owed"] == 1


@pytest.mark.parametrize(
    ("refusal", "message"),
    [(ConnectionRefusedError("connection refused"), "connection refused"), (BrokenEnvironment("no TLS with broker:9092"), "no TLS")],
)
def test_a_broker_that_refuses_ends_the_clients_connection_and_the_tap_continues(
    refusal: Exception, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(line: Line) -> None:
        line.refusal = refusal
        for _ in range(3):
            refused = Peer(await line.doors.connect("tap-0", 9092))
            assert await refused.hear() == b""
        line.refusal = None
        async with line.peers() as (client, broker):
            await client.say(beat(1))
            assert await broker.hear() == beat(1)

    by, reason = tapped(act).closed()[0]

    assert by == "upstream"
    assert reason.startswith("the broker can't be reached")
    assert message in reason
    assert [record.message for record in caplog.records] == [
        f"the broker broker:9092 can't be reached: {refusal}; clients' connections to it end until it is back",
        "the broker broker:9092 is back; meanwhile 3 connections were refused",
    ]


@pytest.mark.parametrize(("from_client", "by"), [(True, "tap"), (False, "upstream")])
def test_a_frame_beyond_the_bound_ends_the_connection_after_what_came_before(from_client: bool, by: str) -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, broker):
            await client.say(beat(1))
            assert await broker.hear() == beat(1)
            await (client if from_client else broker).stream.send_all(b"\x7f\0\0\0")
            assert await client.hear() == b""
            assert await broker.hear() == b""

    line = tapped(act, frame_bytes_max=1_000)

    assert line.closed()[0][0] == by
    assert "the bound is 1000" in line.closed()[0][1]


def test_tokens_without_headers_are_not_accepted() -> None:
    async def act(line: Line) -> None:
        async with line.peers() as (client, _):
            await client.say(write_request(Api.SASL_HANDSHAKE, 0, 1, "app", {"mechanism": "PLAIN"}))
            assert await client.hear() == b""

    assert "use v1" in tapped(act).closed()[0][1]
