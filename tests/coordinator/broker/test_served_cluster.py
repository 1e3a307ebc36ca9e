"""The cluster on real ports of the loopback interface."""

from __future__ import annotations

import functools
import random
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import pytest
import trio
import trio.testing
from tests.coordinator.helpers import Client

from groupproof.coordinator.broker.rights.authorizer import Denial
from groupproof.coordinator.broker.served_cluster import CannotListen, ServingCluster, serve
from groupproof.protocol.faults import Cut, Fault, Selector
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.records import Record, encode_batch

SETTINGS = {"group.initial.rebalance.delay.ms": 0}


def _recorder() -> Recorder:
    began = trio.current_time()
    return Recorder(lambda: round((trio.current_time() - began) * 1e9))


async def _served(nursery: trio.Nursery, **more: Any) -> tuple[ServingCluster, Recorder]:
    recorder = _recorder()
    started = functools.partial(serve, **{"settings": SETTINGS, "topics": {"t": 2}, "records": 20, "recorder": recorder, **more})
    serving: ServingCluster = await nursery.start(started)
    return serving, recorder


@asynccontextmanager
async def _client(address: tuple[str, int], name: str = "m0") -> AsyncIterator[Client]:
    async with await trio.open_tcp_stream("127.0.0.1", address[1]) as stream:
        yield Client(stream, name)


def test_a_member_finds_its_coordinator_on_another_port_and_joins_there() -> None:
    async def run() -> None:
        lines: list[str] = []
        async with trio.open_nursery() as nursery:
            serving, recorder = await _served(nursery, say=lines.append)
            async with _client(serving.addresses[0]) as client:
                (broker,) = (await client.ask(Api.FIND_COORDINATOR, {"coordinator_keys": ("g",)}))["coordinators"]
            assert (broker["host"], broker["port"]) == serving.addresses[broker["node_id"]]
            async with _client((broker["host"], broker["port"])) as member:
                assert (await member.join())["error_code"] == 0

            assert lines == [f"kafka-4.1 on {serving.bootstrap}"]
            assert [obs.node for obs in recorder.trace if obs.kind == "request"] == [0, broker["node_id"]]
            nursery.cancel_scope.cancel()

    trio.run(run)


def test_what_is_denied_from_the_start_every_broker_denies() -> None:
    async def run() -> None:
        async with trio.open_nursery() as nursery:
            serving, _ = await _served(nursery, denials=[Denial.of("READ group g client=app")], ports=(0, 0))
            for address in serving.addresses:
                async with _client(address, "app") as client:
                    assert await client.heartbeat() == ErrorCode.GROUP_AUTHORIZATION_FAILED
            async with _client(serving.addresses[0], "other") as client:
                assert await client.heartbeat() != ErrorCode.GROUP_AUTHORIZATION_FAILED
            nursery.cancel_scope.cancel()

    trio.run(run)


def test_what_is_looked_up_is_denied_on_a_socket_too() -> None:
    async def run() -> None:
        async with trio.open_nursery() as nursery:
            serving, _ = await _served(nursery)
            asked: list[tuple[Api, dict[str, Any], str]] = [
                (Api.FIND_COORDINATOR, {"coordinator_keys": ("g",)}, "coordinators"),
                (Api.METADATA, {"topics": ({"name": "t", "topic_id": None},)}, "topics"),
            ]
            codes = []
            async with _client(serving.addresses[0], "app") as client:
                for denials in ((), ("DESCRIBE group g", "DESCRIBE topic t"), ()):
                    serving.cluster.deny(map(Denial.of, denials))
                    codes.append([(await client.ask(api, body))[entries][0]["error_code"] for api, body, entries in asked])
            assert codes == [[0, 0], [ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED], [0, 0]]
            nursery.cancel_scope.cancel()

    trio.run(run)


@pytest.mark.parametrize("reset", [False, True])
def test_a_cut_closes_with_fin_and_a_reset_with_rst(reset: bool) -> None:
    async def run() -> None:
        async with trio.open_nursery() as nursery:
            serving, _ = await _served(nursery)
            serving.cluster.arm(Fault(name="f", selector=Selector(api="Metadata"), action=Cut(reset=reset)))
            async with _client(serving.addresses[0]) as client:
                await client.send(Api.METADATA, {"topics": ()})
                with pytest.raises(trio.BrokenResourceError) if reset else nullcontext():
                    assert await client.stream.receive_some() == b""
            nursery.cancel_scope.cancel()

    trio.run(run)


@pytest.mark.slow
def test_a_client_that_reads_late_gets_every_answer_whole() -> None:
    batch = encode_batch([Record(offset=0, timestamp_ms=0, value=random.Random(1).randbytes(1_000_000))])
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 2_000_000}
    fetch = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 2_000_000, "topics": ({"topic": "t", "partitions": (partition,)},)}

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            serving, recorder = await _served(nursery, records=0)
            async with _client(serving.addresses[0]) as client:
                written = {"name": "t", "partition_data": ({"index": 0, "records": batch},)}
                await client.ask(Api.PRODUCE, {"acks": 1, "topic_data": (written,)}, 9)
                for _ in range(30):
                    await client.send(Api.FETCH, fetch, 12)
                await trio.testing.wait_all_tasks_blocked(0.2)
                assert len([obs for obs in recorder.trace if obs.api == "Fetch" and obs.kind == "processed"]) < 30, "the kernel took it all"
                for _ in range(30):
                    assert (await client.receive())["responses"][0]["partitions"][0]["records"] == batch
            nursery.cancel_scope.cancel()

    trio.run(run)


def test_a_client_that_resets_its_connection_harms_nobody() -> None:
    async def run() -> None:
        async with trio.open_nursery() as nursery:
            serving, recorder = await _served(nursery)
            rude = await trio.open_tcp_stream(*serving.addresses[0])
            await Client(rude, "rude").send(Api.METADATA, {"topics": ()})
            rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await rude.aclose()

            async with _client(serving.addresses[0]) as client:
                assert (await client.ask(Api.METADATA, {"topics": None}))["topics"] != ()
            assert len([obs for obs in recorder.trace if obs.who == "link" and obs.body["name"] == "connected"]) == 2
            nursery.cancel_scope.cancel()

    trio.run(run)


def test_a_port_in_use_is_one_clear_line() -> None:
    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            with pytest.raises(CannotListen, match=f"cannot listen on 127.0.0.1:{port}: .*choose another port"):
                await serve(ports=(port,), recorder=_recorder())

    trio.run(run)


def test_clients_get_the_advertised_host() -> None:
    async def run() -> None:
        async with trio.open_nursery() as nursery:
            serving, _ = await _served(nursery, advertise="kafka.example", ports=(0, 0, 0))
            async with _client(serving.addresses[2]) as client:
                brokers = (await client.ask(Api.METADATA, {"topics": ()}))["brokers"]

            assert [host for host, _ in serving.addresses] == ["kafka.example"] * 3
            assert [(broker["host"], broker["port"]) for broker in brokers] == list(serving.addresses)
            nursery.cancel_scope.cancel()

    trio.run(run)
