"""The consumer protocol (KIP-848) on the wire: what a broker of 4.1 tells and answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import trio

from groupproof.coordinator.broker.serve import ServingCluster, serve
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import frame, read_response, write_request

JOIN = {
    "group_id": "g", "member_id": "a", "member_epoch": 0, "rebalance_timeout_ms": 60_000, "subscribed_topic_names": ("t",), "topic_partitions": (),
}  # fmt: skip


@asynccontextmanager
async def _cluster(recorder: Recorder) -> AsyncIterator[ServingCluster]:
    async with trio.open_nursery() as nursery:
        yield await nursery.start(partial(serve, ports=(0,), profile="kafka-4.1", topics={"t": 2}, recorder=recorder))
        nursery.cancel_scope.cancel()


async def _asked(stream: trio.SocketStream, api: Api, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    await stream.send_all(frame(write_request(api, version, 1, "c", body)))
    data = await stream.receive_some()
    while len(data) < 4 + int.from_bytes(data[:4]):
        data += await stream.receive_some()
    return read_response(api, version, data[4:])[1]


async def _conversation(recorder: Recorder) -> list[dict[str, Any]]:
    async with _cluster(recorder) as serving, await trio.open_tcp_stream(*serving.addresses[0]) as stream:
        told = [await _asked(stream, Api.CONSUMER_GROUP_HEARTBEAT, 1, JOIN)]
        serving.cluster.grow("t", 3)
        beat = {"group_id": "g", "member_id": "a", "member_epoch": 1}
        told.append(await _asked(stream, Api.CONSUMER_GROUP_HEARTBEAT, 1, beat))
        offsets = {
            "group_id": "g",
            "member_id": "a",
            "generation_id": 2,
            "topics": ({"name": "t", "partitions": ({"partition_index": 0, "committed_offset": 7},)},),
        }
        told.append(await _asked(stream, Api.OFFSET_COMMIT, 9, offsets))
        group = {"group_id": "g", "member_id": "a", "member_epoch": 1, "topics": ({"name": "t", "partition_indexes": (0,)},)}
        told.append(await _asked(stream, Api.OFFSET_FETCH, 9, {"groups": (group,)}))
        told.append(await _asked(stream, Api.CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": ("g",)}))
        return told


def test_a_member_joins_is_assigned_what_grows_and_commits_by_its_epoch() -> None:
    recorder = Recorder(lambda: 0)
    joined, grown, committed, fetched, described = trio.run(_conversation, recorder)

    assert (joined["member_epoch"], [part["partitions"] for part in joined["assignment"]["topic_partitions"]]) == (1, [(0, 1)])
    assert (grown["member_epoch"], [part["partitions"] for part in grown["assignment"]["topic_partitions"]]) == (2, [(0, 1, 2)])
    assert committed["topics"][0]["partitions"][0]["error_code"] == 0
    assert fetched["groups"][0]["error_code"] == 113
    assert (described["groups"][0]["group_state"], described["groups"][0]["group_epoch"]) == ("Stable", 2)
    observed = [obs for obs in recorder.trace if obs.kind == "transition"]
    assert [obs.state_after for obs in observed][:2] == ["Empty", "Stable"]


async def _versions() -> dict[int, tuple[int, int]]:
    async with _cluster(Recorder(lambda: 0)) as serving, await trio.open_tcp_stream(*serving.addresses[0]) as stream:
        answer = await _asked(stream, Api.API_VERSIONS, 0, {})
        return {entry["api_key"]: (entry["min_version"], entry["max_version"]) for entry in answer["api_keys"]}


def test_the_heartbeat_and_the_description_are_advertised() -> None:
    versions = trio.run(_versions)

    assert (versions[Api.CONSUMER_GROUP_HEARTBEAT], versions[Api.CONSUMER_GROUP_DESCRIBE]) == ((0, 1), (0, 1))
