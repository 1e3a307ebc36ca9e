"""The consumer protocol (KIP-848) on the wire: what a broker of 4.1 tells and answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio
from tests.coordinator.machine.consumer.written_groups import shared_group
from tests.coordinator.machine.written_records import commit, folded

from groupproof.coordinator.broker.served_cluster import ServingCluster, serve
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import frame, read_response, write_request

JOIN = {
    "group_id": "g", "member_id": "a", "member_epoch": 0, "rebalance_timeout_ms": 60_000, "subscribed_topic_names": ("t",), "topic_partitions": (),
}  # fmt: skip


@asynccontextmanager
async def _cluster(recorder: Recorder, profile: str = "kafka-4.1", **options: Any) -> AsyncIterator[ServingCluster]:
    async with trio.open_nursery() as nursery:
        yield await nursery.start(partial(serve, ports=(0,), profile=profile, topics={"t": 2}, recorder=recorder, **options))
        nursery.cancel_scope.cancel()


async def _asked(stream: trio.SocketStream, api: Api, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    await stream.send_all(frame(write_request(api, version, 1, "c", body)))
    data = await stream.receive_some()
    while len(data) < 4 + int.from_bytes(data[:4]):
        data += await stream.receive_some()
    return read_response(api, version, data[4:])[1]


async def _conversation(recorder: Recorder) -> list[dict[str, Any]]:
    async with _cluster(recorder) as serving, await trio.open_tcp_stream(*serving.addresses[0]) as stream:
        answers = [await _asked(stream, Api.CONSUMER_GROUP_HEARTBEAT, 1, JOIN)]
        serving.cluster.grow("t", 3)
        beat = {"group_id": "g", "member_id": "a", "member_epoch": 1}
        answers.append(await _asked(stream, Api.CONSUMER_GROUP_HEARTBEAT, 1, beat))
        offsets = {
            "group_id": "g",
            "member_id": "a",
            "generation_id": 2,
            "topics": ({"name": "t", "partitions": ({"partition_index": 0, "committed_offset": 7},)},),
        }
        answers.append(await _asked(stream, Api.OFFSET_COMMIT, 9, offsets))
        group = {"group_id": "g", "member_id": "a", "member_epoch": 1, "topics": ({"name": "t", "partition_indexes": (0,)},)}
        answers.append(await _asked(stream, Api.OFFSET_FETCH, 9, {"groups": (group,)}))
        answers.append(await _asked(stream, Api.CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": ("g",)}))
        return answers


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


async def _met_again() -> list[dict[str, Any]]:
    stored = folded(*shared_group(state=2), commit(70))
    async with _cluster(Recorder(lambda: 0), stored=stored) as serving, await trio.open_tcp_stream(*serving.addresses[0]) as stream:
        asked = {"group_id": "g", "member_id": "A", "topics": ({"name": "t", "partition_indexes": (0,)},)}
        return [
            await _asked(stream, Api.CONSUMER_GROUP_HEARTBEAT, 1, {"group_id": "g", "member_id": "A", "member_epoch": 2}),
            await _asked(stream, Api.OFFSET_FETCH, 9, {"groups": ({**asked, "member_epoch": 2},)}),
            await _asked(stream, Api.CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": ("g",)}),
        ]


def test_a_member_meets_the_group_that_was_loaded_from_records_and_continues() -> None:
    beating, fetched, described = trio.run(_met_again)

    assert (beating["error_code"], beating["member_epoch"]) == (0, 2)
    assert beating["assignment"]["topic_partitions"][0]["partitions"] == (0, 1, 2, 3)
    assert fetched["groups"][0]["topics"][0]["partitions"][0]["committed_offset"] == 70
    (group,) = described["groups"]
    assert (group["group_state"], group["group_epoch"], group["assignment_epoch"]) == ("Stable", 2, 2)
    assert group["members"][0]["assignment"]["topic_partitions"][0]["topic_name"] == "t"


async def _versions() -> dict[int, tuple[int, int]]:
    async with _cluster(Recorder(lambda: 0)) as serving, await trio.open_tcp_stream(*serving.addresses[0]) as stream:
        answer = await _asked(stream, Api.API_VERSIONS, 0, {})
        return {entry["api_key"]: (entry["min_version"], entry["max_version"]) for entry in answer["api_keys"]}


def test_the_heartbeat_and_the_description_are_advertised() -> None:
    versions = trio.run(_versions)

    assert (versions[Api.CONSUMER_GROUP_HEARTBEAT], versions[Api.CONSUMER_GROUP_DESCRIBE]) == ((0, 1), (0, 1))


async def _talk(profile: str, *asked: tuple[Api, int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    async with _cluster(Recorder(lambda: 0), profile) as serving, await trio.open_tcp_stream(*serving.addresses[0]) as stream:
        return [await _asked(stream, api, version, body) for api, version, body in asked]


def _configs(group: str, **values: str | None) -> tuple[Api, int, Mapping[str, Any]]:
    """Return a request that sets configs of a group, or, with None, deletes them."""
    changes = tuple({"name": name.replace("_", "."), "config_operation": int(value is None), "value": value} for name, value in values.items())
    resource = {"resource_type": 32, "resource_name": group, "configs": changes}
    return Api.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": (resource,), "validate_only": False}


def _description(kind: int, name: str) -> tuple[Api, int, Mapping[str, Any]]:
    return Api.DESCRIBE_CONFIGS, 4, {"resources": ({"resource_type": kind, "resource_name": name, "configuration_keys": None},)}


def _codes(answers: list[dict[str, Any]]) -> list[int]:
    return [answer["responses"][0]["error_code"] for answer in answers if "responses" in answer]


@pytest.mark.requirement("CGD-29", "CGD-30", "CGD-31", "CGD-32", "CGD-33", "CGD-34", "CGD-36", "CGD-37")
@pytest.mark.parametrize(("profile", "code"), [("kafka-4.1", 40), ("kafka-4.4", 0)])
def test_configs_of_a_group_are_set_within_the_brokers_bounds(profile: str, code: int) -> None:
    answers = trio.run(
        partial(
            _talk, profile, _configs("g", consumer_session_timeout_ms="44999"), _configs("g", consumer_session_timeout_ms="60001"),
            _configs("g", consumer_heartbeat_interval_ms="4999"), _configs("g", consumer_colour="1"), _configs("", consumer_session_timeout_ms="50000"),
            _configs("g", consumer_assignment_interval_ms="0"), _configs("g", consumer_session_timeout_ms="50000"),
        )
    )  # fmt: skip

    assert _codes(answers) == [40, 40, 40, 40, 42, code, 0]


@pytest.mark.requirement("CGM-52", "CGD-40")
def test_a_member_goes_by_the_configs_of_its_group_and_a_deleted_one_is_the_brokers_again() -> None:
    beat = (Api.CONSUMER_GROUP_HEARTBEAT, 1, {"group_id": "g", "member_id": "a", "member_epoch": 1})
    joined, _, beaten, described, _, again, of_broker = trio.run(
        partial(
            _talk, "kafka-4.1", (Api.CONSUMER_GROUP_HEARTBEAT, 1, JOIN), _configs("g", consumer_heartbeat_interval_ms="7000"), beat,
            _description(32, "g"), _configs("g", consumer_heartbeat_interval_ms=None), beat, _description(4, "0"),
        )
    )  # fmt: skip

    assert [answer["heartbeat_interval_ms"] for answer in (joined, beaten, again)] == [5_000, 7_000, 5_000]
    configs = {entry["name"]: (entry["value"], entry["config_source"]) for entry in described["results"][0]["configs"]}
    assert configs == {"consumer.session.timeout.ms": ("45000", 5), "consumer.heartbeat.interval.ms": ("7000", 8)}
    settings = {entry["name"]: entry["value"] for entry in of_broker["results"][0]["configs"]}
    assert (settings["group.consumer.session.timeout.ms"], settings["group.max.session.timeout.ms"]) == ("45000", "1800000")


@pytest.mark.requirement("CGO-25", "CGO-26", "CGO-27", "CGO-38", "CGO-39")
def test_offsets_go_by_the_ids_of_topics_from_v10_on() -> None:
    nobody = "00000000-0000-0000-0000-00000000beef"

    async def conversation() -> list[dict[str, Any]]:
        async with _cluster(Recorder(lambda: 0), "kafka-4.2") as serving, await trio.open_tcp_stream(*serving.addresses[0]) as stream:
            topics = (await _asked(stream, Api.METADATA, 12, {"topics": None}))["topics"]
            (topic_id,) = [topic["topic_id"] for topic in topics if topic["name"] == "t"]
            joined = await _asked(stream, Api.CONSUMER_GROUP_HEARTBEAT, 1, JOIN)

            def commit(topic: str, epoch: int) -> Mapping[str, Any]:
                offsets = ({"topic_id": topic, "partitions": ({"partition_index": 0, "committed_offset": 7},)},)
                return {"group_id": "g", "member_id": "a", "generation_id": epoch, "topics": offsets}

            epoch = joined["member_epoch"]
            answers = [
                await _asked(stream, Api.OFFSET_COMMIT, 10, commit(*asked)) for asked in ((topic_id, epoch), (nobody, epoch), (nobody, epoch + 8))
            ]
            asked = tuple({"topic_id": topic, "partition_indexes": (0,)} for topic in (topic_id, nobody))
            group = {"group_id": "g", "member_id": "a", "member_epoch": epoch}
            for topics_asked in (asked, None):
                answers.append(await _asked(stream, Api.OFFSET_FETCH, 10, {"groups": ({**group, "topics": topics_asked},)}))
            return [{"id": topic_id}, *answers]

    topic_id, *commits, fetched, everything = trio.run(conversation)

    ids = [(topic["topic_id"], topic["partitions"][0]["error_code"]) for answer in commits for topic in answer["topics"]]
    assert ids == [(topic_id["id"], 0), (nobody, 100), (nobody, 100)]
    (group,), (whole,) = fetched["groups"], everything["groups"]
    offsets = [(topic["topic_id"], topic["partitions"][0]["committed_offset"], topic["partitions"][0]["error_code"]) for topic in group["topics"]]
    assert (group["error_code"], offsets) == (0, [(topic_id["id"], 7, 0), (nobody, -1, 100)])
    assert [(topic["topic_id"], topic["partitions"][0]["committed_offset"]) for topic in whole["topics"]] == [(topic_id["id"], 7)]


@pytest.mark.requirement("CGO-28")
@pytest.mark.parametrize("api", [Api.OFFSET_COMMIT, Api.OFFSET_FETCH])
def test_before_4_2_offsets_by_id_are_a_version_that_nobody_knows_and_the_connection_ends(api: Api) -> None:
    async def ask() -> bytes:
        async with _cluster(Recorder(lambda: 0)) as serving, await trio.open_tcp_stream(*serving.addresses[0]) as stream:
            await stream.send_all(frame(write_request(api, 10, 1, "c", {"group_id": "g"} if api is Api.OFFSET_COMMIT else {"groups": ()})))
            return await stream.receive_some()

    assert trio.run(ask) == b""


@pytest.mark.requirement("CGH-33")
def test_a_heartbeat_of_a_version_that_nobody_knows_ends_the_connection() -> None:
    async def ask() -> bytes:
        async with _cluster(Recorder(lambda: 0)) as serving, await trio.open_tcp_stream(*serving.addresses[0]) as stream:
            version_1 = write_request(Api.CONSUMER_GROUP_HEARTBEAT, 1, 1, "c", JOIN)
            await stream.send_all(frame(version_1[:2] + (2).to_bytes(2) + version_1[4:]))
            return await stream.receive_some()

    assert trio.run(ask) == b""


@pytest.mark.requirement("CGO-23")
def test_an_offset_of_a_topic_or_partition_that_there_is_not_is_refused_by_itself() -> None:
    async def ask() -> list[int]:
        async with _cluster(Recorder(lambda: 0)) as serving, await trio.open_tcp_stream(*serving.addresses[0]) as stream:
            joined = await _asked(stream, Api.CONSUMER_GROUP_HEARTBEAT, 1, JOIN)
            asked = (("t", 0), ("nowhere", 0), ("t", 99))
            topics = tuple({"name": name, "partitions": ({"partition_index": index, "committed_offset": 7},)} for name, index in asked)
            body = {"group_id": "g", "member_id": "a", "generation_id": joined["member_epoch"], "topics": topics}
            answer = await _asked(stream, Api.OFFSET_COMMIT, 9, body)
            return [partition["error_code"] for topic in answer["topics"] for partition in topic["partitions"]]

    assert sorted(trio.run(ask)) == [0, 3, 3]


CLASSIC_JOIN = {
    "group_id": "k", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000, "member_id": "", "protocol_type": "consumer",
    "protocols": ({"name": "range", "metadata": b""},),
}  # fmt: skip


def _list(**filters: tuple[str, ...]) -> tuple[Api, int, Mapping[str, Any]]:
    return Api.LIST_GROUPS, 5, {"states_filter": (), "types_filter": (), **filters}


def _described(version: int) -> tuple[Api, int, Mapping[str, Any]]:
    return Api.DESCRIBE_GROUPS, version, {"groups": ("g",), "include_authorized_operations": False}


@pytest.mark.requirement("CGD-20", "CGD-21", "CGD-22", "CGD-23")
def test_groups_are_listed_by_their_type_and_state_over_a_socket() -> None:
    join, classic = (Api.CONSUMER_GROUP_HEARTBEAT, 1, JOIN), (Api.JOIN_GROUP, 9, CLASSIC_JOIN)
    filters: list[dict[str, tuple[str, ...]]] = [
        {}, {"types_filter": ("consumer",)}, {"types_filter": ("CLASSIC",)}, {"types_filter": ("share",)},
        {"types_filter": ("Consumer",), "states_filter": ("stable",)}, {"states_filter": ("assigning",)},
    ]  # fmt: skip
    answers = trio.run(partial(_talk, "kafka-4.1", join, classic, *(_list(**names) for names in filters)))[2:]

    assert [[(group["group_id"], group["group_type"], group["group_state"]) for group in answer["groups"]] for answer in answers] == [
        [("g", "consumer", "Stable"), ("k", "classic", "Empty")], [("g", "consumer", "Stable")], [("k", "classic", "Empty")], [],
        [("g", "consumer", "Stable")], [],
    ]  # fmt: skip
    assert {answer["error_code"] for answer in answers} == {0}


@pytest.mark.requirement("CGD-17", "CGD-18", "CGD-24", "CGD-26", "CGD-27", "CGD-11")
def test_a_consumer_group_is_dead_to_describe_groups_and_is_deleted_when_it_is_empty() -> None:
    delete = (Api.DELETE_GROUPS, 2, {"groups_names": ("g", "nobody")})
    leave = (Api.CONSUMER_GROUP_HEARTBEAT, 1, {"group_id": "g", "member_id": "a", "member_epoch": -1})
    describe = (Api.CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": ("g",)})
    _, old, new, refused, _, empty, deleted, gone = trio.run(
        partial(_talk, "kafka-4.1", (Api.CONSUMER_GROUP_HEARTBEAT, 1, JOIN), _described(5), _described(6), delete, leave, describe, delete, describe)
    )

    assert [(answer["groups"][0]["error_code"], answer["groups"][0]["group_state"]) for answer in (old, new, empty)] == [
        (0, "Dead"), (69, "Dead"), (0, "Empty"),
    ]  # fmt: skip
    assert [[result["error_code"] for result in answer["results"]] for answer in (refused, deleted)] == [[68, 69], [0, 69]]
    assert gone["groups"][0]["error_code"] == 69
