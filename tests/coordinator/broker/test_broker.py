"""One broker: what it passes to the coordinator, what it answers itself, and how long a Fetch waits, under trio's MockClock."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing
from tests.coordinator.helpers import Client, staged, virtually

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.records import Record, encode_batch


def _fetch_body(offset: int, **more: Any) -> dict[str, Any]:
    partitions = ({"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1_000_000},)
    return {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1_000_000, "topics": ({"topic": "t", "partitions": partitions},), **more}


def _produce_body(acks: int = -1) -> dict[str, Any]:
    batch = encode_batch([Record(offset=0, timestamp_ms=1, value=b"new")])
    return {"acks": acks, "timeout_ms": 1_000, "topic_data": ({"name": "t", "partition_data": ({"index": 0, "records": batch},)},)}


def _high_watermark(answer: dict[str, Any]) -> int:
    return int(answer["responses"][0]["partitions"][0]["high_watermark"])


@virtually
async def test_a_fetch_with_nothing_to_return_waits_as_long_as_it_may() -> None:
    async with staged() as stage:
        client = stage.connect(node=0)
        began = trio.current_time()

        assert _high_watermark(await client.ask(Api.FETCH, _fetch_body(20), 12)) == 20
        assert trio.current_time() - began == pytest.approx(0.5)
        assert _high_watermark(await client.ask(Api.FETCH, _fetch_body(20, max_wait_ms=0), 12)) == 20
        assert trio.current_time() - began == pytest.approx(0.5)


@virtually
async def test_a_waiting_fetch_is_answered_by_the_next_record() -> None:
    async with staged() as stage:
        reader, writer = stage.connect("reader", node=0), stage.connect("writer", node=0)
        await reader.send(Api.FETCH, _fetch_body(20), 12)
        await trio.sleep(0.2)
        began = trio.current_time()
        produced = await writer.ask(Api.PRODUCE, _produce_body(), 9)

        assert produced["responses"][0]["partition_responses"][0]["base_offset"] == 20
        assert _high_watermark(await reader.receive()) == 21
        assert trio.current_time() == began


@virtually
async def test_a_waiting_fetch_keeps_back_what_its_client_sent_after_it() -> None:
    async with staged() as stage:
        client = stage.connect(node=0)
        await client.send(Api.FETCH, _fetch_body(20), 12)
        await client.send(Api.METADATA, {"topics": ()})
        await client.receive()
        await client.receive()

        assert stage.observations("processed", api="Metadata")[0].at_ms == 500


@virtually
async def test_a_client_that_leaves_ends_its_waiting_fetch_at_once() -> None:
    async with staged() as stage:
        client = stage.connect(node=0)
        await client.send(Api.FETCH, _fetch_body(20, max_wait_ms=60_000), 12)
        await client.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()

        assert stage.closings() == ["the client closed it"]


@virtually
async def test_a_produce_without_acks_is_never_answered() -> None:
    async with staged() as stage:
        client = stage.connect(node=0)
        await client.send(Api.PRODUCE, _produce_body(acks=0), 9)
        client._asked.clear()

        assert _high_watermark(await client.ask(Api.FETCH, _fetch_body(20), 12)) == 21
        assert stage.observations("response", api="Produce") == []


@virtually
async def test_a_commit_to_an_unknown_partition_is_refused_beside_one_that_is_kept() -> None:
    async with staged() as stage:
        (client,) = await stage.stable("m0")

        assert await client.commit(5, 0, 7) == [0, 3]
        assert await client.commit(5, 0, topic="unknown") == [3]
        assert len(stage.observations("processed", api="OffsetCommit")) == 2


@virtually
async def test_every_broker_names_the_same_coordinator_and_the_others_refuse() -> None:
    async with staged(brokers=3) as stage:
        for node in stage.cluster.nodes:
            stage.cluster.advertise(node, f"host{node}", 9_000 + node)
        for node in stage.cluster.nodes:
            client = stage.connect(node=node)
            (broker,) = (await client.ask(Api.FIND_COORDINATOR, {"coordinator_keys": ("g",)}))["coordinators"]
            assert (broker["node_id"], broker["host"], broker["port"]) == (stage.coordinator, f"host{stage.coordinator}", 9_000 + stage.coordinator)
            assert await client.heartbeat() == (25 if node == stage.coordinator else 16)


def _asked(api: Api) -> dict[str, Any]:
    """Return a body for each API that the broker answers itself."""
    partition = {"partition_index": 0, "partition": 0, "timestamp": -1, "leader_epoch": 0}
    named: dict[Api, dict[str, Any]] = {
        Api.API_VERSIONS: {"client_software_name": "kit", "client_software_version": "1"},
        Api.METADATA: {"topics": ({"name": "t"},)},
        Api.FIND_COORDINATOR: {"coordinator_keys": ("g",)},
        Api.LIST_OFFSETS: {"topics": ({"name": "t", "partitions": ({k: partition[k] for k in ("partition_index", "timestamp")},)},)},
        Api.OFFSET_FOR_LEADER_EPOCH: {"topics": ({"topic": "t", "partitions": ({k: partition[k] for k in ("partition", "leader_epoch")},)},)},
        Api.CREATE_TOPICS: {"topics": ({"name": "new", "num_partitions": 1, "replication_factor": 1},)},
        Api.DESCRIBE_TOPIC_PARTITIONS: {"topics": ({"name": "t"},)},
    }
    return named.get(api, {})


@pytest.mark.parametrize(
    "api",
    [
        Api.API_VERSIONS, Api.METADATA, Api.FIND_COORDINATOR, Api.LIST_OFFSETS, Api.OFFSET_FOR_LEADER_EPOCH, Api.CREATE_TOPICS,
        Api.INIT_PRODUCER_ID, Api.DESCRIBE_CLUSTER, Api.DESCRIBE_TOPIC_PARTITIONS,
    ],
)  # fmt: skip
@virtually
async def test_what_the_broker_answers_itself_works_in_every_version_it_advertises(api: Api) -> None:
    async with staged() as stage:
        client = stage.connect(node=0)
        answer = await client.ask(Api.API_VERSIONS, _asked(Api.API_VERSIONS), 3)
        (own,) = [item for item in answer["api_keys"] if item["api_key"] == api]
        for version in range(own["min_version"], own["max_version"] + 1):
            await client.ask(api, _asked(api), version)

        assert {obs.error for obs in stage.observations("response", api=api.title)} <= {0, 36}
        assert stage.closings() == []


@pytest.mark.parametrize("version", range(10))
@virtually
async def test_a_member_lives_through_every_version_of_join(version: int) -> None:
    async with staged() as stage:
        client: Client = stage.connect()
        answer = await client.ask(Api.JOIN_GROUP, client.join_body(), version)
        if version >= 4:
            assert answer["error_code"] == 79
            client.member_id = answer["member_id"]
            answer = await client.ask(Api.JOIN_GROUP, client.join_body(), version)
        client.joined(answer)

        assert (answer["error_code"], answer["generation_id"]) == (0, 1)
        assert (await client.sync())["error_code"] == 0
        assert await client.heartbeat() == 0
