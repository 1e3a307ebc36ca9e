"""One connection: requests in order, one at a time; whatever a peer sends ends that connection alone, with its reason.

Time is that of trio's MockClock.
"""

from __future__ import annotations

import gc
import logging
import random
import struct
import tracemalloc

import pytest
import trio
import trio.testing
from tests.coordinator.helpers import SUBSCRIBED, Client, staged, virtually

from groupproof.coordinator.broker.client_connection import SEND_S_MAX
from groupproof.coordinator.broker.request_queue import INBOX_FRAMES_MAX
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import FRAME_BYTES_MAX, frame, write_request

HEARTBEAT = write_request(Api.HEARTBEAT, 4, 1, "m", {"group_id": "g", "generation_id": 1, "member_id": "m"})

HOSTILE = {
    "a length of 2 GiB": (b"\x7f\xff\xff\xff" + b"x" * 100, f"a frame of 2147483647 bytes was announced, the bound is {FRAME_BYTES_MAX}"),
    "a negative length": (b"\xff\xff\xff\xfe", "a frame of -2 bytes was announced"),
    "an unknown API": (frame(struct.pack(">hhih", 999, 0, 1, -1)), "API key 999 and version 0: no such API is known"),
    "an unknown version": (frame(struct.pack(">hhih", 12, 77, 1, -1)), "API key 12 and version 77: Heartbeat is read from v0 to v4"),
    "an API that is not served": (
        frame(write_request(Api.SASL_HANDSHAKE, 1, 1, "m", {"mechanism": "PLAIN"})),
        "SaslHandshake v1: this broker does not",
    ),
    "a version that the release does not have": (
        frame(write_request(Api.OFFSET_COMMIT, 10, 1, "m", {})),
        "OffsetCommit v10: this broker answers v2 to v9",
    ),
    "a garbage body": (frame(HEARTBEAT[:10] + random.Random(1).randbytes(40)), "cannot be read"),
    "a cut body": (frame(HEARTBEAT[:-3]), "member_id is said to have 1 bytes, but only 0 are left"),
    "an empty frame": (frame(b""), "a request of 0 bytes is shorter than its header"),
    "a TLS greeting": (bytes.fromhex("16030100a5010000a10303"), "a frame of 369295616 bytes was announced"),
    "an HTTP request": (b"GET / HTTP/1.1\r\n\r\n", "a frame of 1195725856 bytes was announced"),
    "half a frame": (frame(HEARTBEAT)[:20], "the client closed it within a frame, of which 20 bytes came"),
}


@pytest.mark.parametrize("complaint", HOSTILE)
@virtually
async def test_hostile_bytes_end_their_connection_with_a_logged_reason_while_another_member_lives(
    complaint: str, caplog: pytest.LogCaptureFixture
) -> None:
    data, reason = HOSTILE[complaint]
    async with staged() as stage:
        (member,) = await stage.stable("m0")
        hostile = stage.connect("bad")
        with caplog.at_level(logging.WARNING):
            await hostile.stream.send_all(data)
            assert isinstance(hostile.stream, trio.StapledStream)
            await hostile.stream.send_eof()
            await trio.testing.wait_all_tasks_blocked()

        (closed,) = stage.closings()
        assert reason in closed
        assert (reason in caplog.text) == ("the client closed it" not in reason)
        assert await member.heartbeat() == 0


@pytest.mark.slow
@virtually
async def test_random_bytes_never_harm_another_member() -> None:
    async with staged() as stage:
        (member,) = await stage.stable("m0")
        chance = random.Random(7)
        for _ in range(100):
            hostile = stage.connect("bad")
            key, version = chance.choice([11, 12, 14, 8, 9, 1, 3, 18, 0, 60]), chance.randrange(10)
            garbage = struct.pack(">hhih", key, version, 1, -1) + chance.randbytes(chance.randrange(60))
            await hostile.stream.send_all(frame(garbage) if chance.random() < 0.8 else garbage)
            await hostile.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()

        assert await member.heartbeat() == 0
        assert len(stage.closings()) == 100
        assert [reason for reason in stage.closings() if "groupproof failed" in reason] == []


@virtually
async def test_frames_before_the_one_that_cannot_be_read_are_still_answered() -> None:
    async with staged() as stage:
        (member,) = await stage.stable("m0")
        await member.send(Api.HEARTBEAT, member.who())
        await member.stream.send_all(frame(b"junk"))

        assert (await member.receive())["error_code"] == 0
        assert await member.is_closed()


@virtually
async def test_an_unknown_version_of_api_versions_is_answered_in_version_zero() -> None:
    async with staged() as stage:
        client = stage.connect(node=1)
        await client.stream.send_all(frame(struct.pack(">hhih", 18, 99, 7, -1) + b"\0\0\0"))
        data = await client.stream.receive_some()

        assert struct.unpack_from(">iihi", data) == (len(data) - 4, 7, 35, 1)  # length, correlation, error, one range
        assert struct.unpack_from(">hhh", data, 14) == (18, 0, 4)
        (request,) = stage.observations("request")
        assert request.version == 99
        assert await client.ask(Api.METADATA, {"topics": ()}) != {}


@virtually
async def test_an_older_profile_refuses_newer_versions_of_api_versions_in_the_same_way() -> None:
    async with staged(profile="kafka-2.4") as stage:
        answer = await stage.connect().ask(Api.API_VERSIONS, {"client_software_name": "kit", "client_software_version": "1"}, 4)

        assert answer["error_code"] == 35
        assert answer["api_keys"] == ({"api_key": 18, "min_version": 0, "max_version": 3},)


@virtually
async def test_a_version_outside_the_profile_ends_the_connection() -> None:
    async with staged(profile="kafka-1.1") as stage:
        client = stage.connect()
        await client.send(Api.HEARTBEAT, client.who(), 4)

        assert await client.is_closed()
        assert stage.closings() == ["Heartbeat v4: this broker answers v0 to v1"]


@virtually
async def test_the_bound_of_a_frame_is_kafkas_setting() -> None:
    async with staged(settings={"socket.request.max.bytes": 1_000}) as stage:
        client = stage.connect()
        await client.stream.send_all(struct.pack(">i", 1_001))

        assert await client.is_closed()
        assert "the bound is 1000" in stage.closings()[0]


@virtually
async def test_a_parked_join_keeps_back_what_its_client_sent_after_it() -> None:
    async with staged(settings={"group.initial.rebalance.delay.ms": 3_000}) as stage:
        client = stage.connect()
        await client.send(Api.JOIN_GROUP, client.join_body(), 3)
        await client.send(Api.METADATA, {"topics": ()})
        await trio.testing.wait_all_tasks_blocked()

        assert [obs.api for obs in stage.observations("request")] == ["JoinGroup", "Metadata"]
        assert [obs.api for obs in stage.observations("processed")] == ["JoinGroup"]
        assert (await client.receive())["generation_id"] == 1
        await client.receive()
        assert [obs.api for obs in stage.trace if obs.kind in ("processed", "response")] == ["JoinGroup", "JoinGroup", "Metadata", "Metadata"]
        assert stage.observations("processed", api="Metadata")[0].at_ms == 3_000


@virtually
async def test_reading_continues_behind_a_parked_request_only_within_its_bound() -> None:
    async with staged(settings={"group.initial.rebalance.delay.ms": 3_000}) as stage:
        client = stage.connect()
        await client.send(Api.JOIN_GROUP, client.join_body(), 3)
        for _ in range(INBOX_FRAMES_MAX * 2):
            await client.send(Api.HEARTBEAT, client.who())
        await trio.testing.wait_all_tasks_blocked()
        arrived = len(stage.observations("request", api="Heartbeat"))

        assert INBOX_FRAMES_MAX <= arrived <= INBOX_FRAMES_MAX + 2  # the last read may hold two
        for _ in range(INBOX_FRAMES_MAX * 2 + 1):
            await client.receive()
        assert len(stage.observations("response", api="Heartbeat")) == INBOX_FRAMES_MAX * 2


@virtually
async def test_a_member_stays_when_its_client_goes_while_its_join_is_parked() -> None:
    async with staged(settings={"group.initial.rebalance.delay.ms": 3_000}) as stage:
        client = stage.connect()
        await client.send(Api.JOIN_GROUP, client.join_body(), 3)
        await trio.testing.wait_all_tasks_blocked()
        await client.stream.aclose()
        await trio.sleep(3.5)

        view = stage.cluster.view("g")
        assert view is not None
        assert (view.generation, len(view.members)) == (1, 1)
        assert stage.closings() == ["the client closed it"]
        assert stage.observations("response", api="JoinGroup") == []


@virtually
async def test_what_was_sent_behind_a_parked_join_is_processed_after_it_though_the_client_is_gone() -> None:
    async with staged(settings={"group.initial.rebalance.delay.ms": 3_000}) as stage:
        client = stage.connect()
        answer = await client.ask(Api.JOIN_GROUP, client.join_body(), 4)
        client.member_id = answer["member_id"]
        await client.send(Api.JOIN_GROUP, client.join_body(), 4)
        await client.send(Api.LEAVE_GROUP, {"group_id": "g", "members": ({"member_id": client.member_id},)})
        await trio.testing.wait_all_tasks_blocked()
        await client.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        assert stage.closings() == ["the client closed it"]
        await trio.sleep(3.5)

        view = stage.cluster.view("g")
        assert view is not None
        assert view.members == ()
        assert stage.observations("processed", api="LeaveGroup")[0].at_ms == 3_000


@virtually
async def test_a_client_that_does_not_take_its_answers_is_let_go() -> None:
    async with staged() as stage:
        never = trio.Event()
        ours, theirs = trio.testing.memory_stream_pair()
        theirs.send_stream.send_all_hook = never.wait
        stage.nursery.start_soon(stage.cluster.serve_connection, 0, theirs, "127.0.0.1:1")
        await Client(ours, "slow").send(Api.METADATA, {"topics": ()})
        await trio.sleep(SEND_S_MAX + 1)

        assert stage.closings() == [f"the client did not take its answer to Metadata within {SEND_S_MAX:.0f} s"]
        (answered,) = stage.observations("response")
        (unsent,) = (obs for obs in stage.observations("event", who="link") if obs.body["name"] == "unsent")
        assert unsent.exchange_id == answered.exchange_id


@virtually
async def test_a_broken_stream_is_contained() -> None:
    async def break_it() -> None:
        raise trio.BrokenResourceError("reset by peer")

    async with staged() as stage:
        (member,) = await stage.stable("m0")
        ours, theirs = trio.testing.memory_stream_pair()
        theirs.receive_stream.receive_some_hook = break_it
        await stage.cluster.serve_connection(0, theirs, "127.0.0.1:1")

        assert stage.closings() == ["the connection broke: reset by peer"]
        assert await member.heartbeat() == 0
        await ours.aclose()


@virtually
async def test_a_failure_of_ours_ends_one_connection_and_is_reported(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    async with staged() as stage:
        (member,) = await stage.stable("m0")
        monkeypatch.setattr("groupproof.coordinator.broker.broker.metadata", lambda *_: 1 / 0)
        client = stage.connect()
        await client.send(Api.METADATA, {"topics": ()})

        assert await client.is_closed()
        assert stage.closings() == ["groupproof failed: ZeroDivisionError('division by zero')"]
        assert "Traceback" in caplog.text
        assert await member.heartbeat() == 0


@virtually
async def test_every_connection_is_reported_with_its_peer_its_end_and_who_ended_it() -> None:
    async with staged() as stage:
        client = stage.connect(node=1)
        await client.ask(Api.METADATA, {"topics": ()})
        await client.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()

        connected, closed = stage.observations("event", who="link")
        assert (connected.node, connected.connection, connected.body) == (1, 1, {"name": "connected", "peer": "127.0.0.1:50001"})
        assert (closed.connection, closed.body) == (1, {"name": "closed", "reason": "the client closed it", "by": "client"})


@virtually
async def test_a_request_is_observed_on_arrival_at_processing_and_at_its_answer() -> None:
    async with staged() as stage:
        client = stage.connect("m0")
        answer = await client.join()

        kinds = [obs for obs in stage.trace if obs.api == "JoinGroup"]
        assert [obs.kind for obs in kinds] == ["request", "processed", "response"]
        assert {(obs.connection, obs.correlation, obs.client, obs.group, obs.version) for obs in kinds} == {(1, 1, "m0", "g", 3)}
        request, processed, response = kinds
        assert request.body["protocols"] == ({"name": "range", "metadata": SUBSCRIBED},)
        assert processed.rule == "JoinGroup/none/first-member"
        assert (response.member, response.generation, response.error) == (answer["member_id"], 1, 0)


@pytest.mark.slow
@virtually
async def test_memory_stays_flat_under_hostile_bytes() -> None:
    async with staged(recorder=Recorder(lambda: 0, keeps=False)) as stage:

        async def flood(times: int) -> None:
            for _ in range(times):
                hostile = stage.connect("bad")
                await hostile.stream.send_all(b"\x06\x00\x00\x00" + b"x" * 10_000)
                await hostile.stream.aclose()
                await trio.testing.wait_all_tasks_blocked()

        tracemalloc.start()
        await flood(20)  # what is made once, on first use, is there now
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        await flood(100)
        gc.collect()  # it is kept memory that counts, not when its cycles are found
        after, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert after - before < 200_000
        assert peak - before < 2_000_000
