"""A case's administrative requests for topics and groups: records, more partitions, configs of a group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.assigned_topics import wait_until_assigned
from groupproof.harness.subjects.brokers.cluster import MovableCluster, RunningCluster
from groupproof.harness.subjects.brokers.readiness import controller_of, create_topics, delete_topics
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.request_connection import GONE, Connect, NoCommonVersion, asking
from groupproof.protocol.rules.consumer.group_configs import ConfigOperation, ConfigResource
from groupproof.protocol.vocabulary import Api, ErrorCode, TopicPartition, error_named
from groupproof.protocol.wire.records import Record, encode_batch

__all__ = ["configure_group", "fill_topics", "grow_topic", "has_partitions", "unconfigure_group"]

_NAMING_UNTIL: Final = 12
"""The newest version of Produce with topic names."""

_WRITTEN_MS: Final = 1_704_067_200_000  # 2024-01-01, as in the reference cluster's own topics
_ANSWER_MS: Final = 20_000
_LED_S: Final = 20.0
_PAUSE_S: Final = 0.05
_LED_ELSEWHERE: Final = frozenset({
    ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_ENOUGH_REPLICAS,
})  # fmt: skip


async def fill_topics(connect: Connect, bootstrap: Address, topics: Mapping[str, int], records: int, *, at_ms: int = _WRITTEN_MS) -> None:
    """Append `records` to each partition; their values contain topic, partition and offset. Raise `BrokenEnvironment` where that fails.

    Their timestamp is `at_ms`, by default long ago: brokers with a retention delete such records half a minute after their start.
    """
    left = {(topic, index) for topic, partitions in topics.items() for index in range(partitions)} if records else set()
    deadline = trio.current_time() + _LED_S
    reason = "nobody leads them"
    while left:
        try:
            for leader, led in (await _leaders(connect, bootstrap, left)).items():
                refused = await _append(connect, leader, led, records, at_ms)
                left -= led - refused.keys()
                reason = ", ".join(sorted({error_named(code) for code in refused.values()})) or reason
        except (*GONE, NoCommonVersion) as error:
            reason = str(error) or type(error).__name__
        if left and trio.current_time() > deadline:
            raise BrokenEnvironment(f"{len(left)} partitions could not be filled with records within {_LED_S:.0f} s: {reason}")
        if left:
            await trio.sleep(_PAUSE_S)


async def has_partitions(cluster: RunningCluster, topic: str, partitions: int, *, is_new: bool) -> None:
    """Create a topic, let it grow to `partitions`, or delete it for 0; raise `BrokenEnvironment` with the broker's message."""
    if isinstance(cluster, MovableCluster):
        cluster.grow(topic, partitions) if partitions else cluster.delete_topic(topic)
    elif not partitions:
        if refused := await delete_topics(cluster.connect, cluster.addresses[0], [topic]):
            raise BrokenEnvironment(f"it cannot be deleted: {refused[0]}")
    elif is_new:
        await create_topics(cluster.connect, cluster.addresses[0], {topic: partitions}, replicas=1)
    else:
        await grow_topic(cluster.connect, cluster.addresses[0], topic, partitions)
        await wait_until_assigned(cluster.connect, cluster.addresses[0], {topic: partitions})


async def grow_topic(connect: Connect, bootstrap: Address, topic: str, partitions: int) -> None:
    """Let an existing topic grow to `partitions`; raise `BrokenEnvironment` with the broker's message."""
    body = {"topics": ({"name": topic, "count": partitions, "assignments": None},), "timeout_ms": _ANSWER_MS, "validate_only": False}
    try:
        async with asking(await connect(*bootstrap)) as asker:
            controller = await controller_of(asker, bootstrap)
        async with asking(await connect(*controller)) as asker:
            (result,) = (await asker.ask(Api.CREATE_PARTITIONS, body))["results"]
    except (*GONE, NoCommonVersion) as error:
        raise BrokenEnvironment(f"topic {topic} can't be given {partitions} partitions: {str(error) or type(error).__name__}") from error
    if result["error_code"]:
        raise BrokenEnvironment(
            f"topic {topic} can't be given {partitions} partitions: {result.get('error_message') or error_named(result['error_code'])}"
        )


async def configure_group(connect: Connect, bootstrap: Address, group: str, configs: Mapping[str, str]) -> None:
    """Set configs of a group (KIP-848); raise `BrokenEnvironment` with the broker's message."""
    operations = [{"name": name, "config_operation": ConfigOperation.SET.value, "value": value} for name, value in configs.items()]
    await _alter_configs(connect, bootstrap, group, operations, f"group {group} can't be given {dict(configs)}")


async def unconfigure_group(connect: Connect, bootstrap: Address, group: str, names: Iterable[str]) -> None:
    """Delete configs of a group, so that it has the broker's settings again; raise `BrokenEnvironment` with the broker's message."""
    operations = [{"name": name, "config_operation": ConfigOperation.DELETE.value, "value": None} for name in names]
    await _alter_configs(connect, bootstrap, group, operations, f"group {group} keeps its configs")


async def _alter_configs(connect: Connect, bootstrap: Address, group: str, operations: Sequence[Mapping[str, Any]], otherwise: str) -> None:
    resource = {"resource_type": ConfigResource.GROUP.value, "resource_name": group, "configs": tuple(operations)}
    try:
        async with asking(await connect(*bootstrap)) as asker:
            controller = await controller_of(asker, bootstrap)
        async with asking(await connect(*controller)) as asker:
            (result,) = (await asker.ask(Api.INCREMENTAL_ALTER_CONFIGS, {"resources": (resource,), "validate_only": False}))["responses"]
    except (*GONE, NoCommonVersion) as error:
        raise BrokenEnvironment(f"{otherwise}: {str(error) or type(error).__name__}") from error
    if result["error_code"]:
        raise BrokenEnvironment(f"{otherwise}: {result.get('error_message') or error_named(result['error_code'])}")


async def _leaders(connect: Connect, bootstrap: Address, wanted: set[TopicPartition]) -> dict[Address, set[TopicPartition]]:
    """Return the partitions by their leader's address; those without a leader are left out."""
    async with asking(await connect(*bootstrap)) as asker:
        names = tuple({"name": name} for name in sorted({topic for topic, _ in wanted}))
        answer = await asker.ask(Api.METADATA, {"topics": names, "allow_auto_topic_creation": True}, newest=8)
    where = {broker["node_id"]: (broker["host"], broker["port"]) for broker in answer["brokers"]}
    led: dict[Address, set[TopicPartition]] = {}
    for topic in answer["topics"]:
        for part in topic["partitions"]:
            partition = (topic["name"], part["partition_index"])
            if partition in wanted and part["leader_id"] in where:
                led.setdefault(where[part["leader_id"]], set()).add(partition)
    return led


async def _append(connect: Connect, leader: Address, led: set[TopicPartition], records: int, at_ms: int) -> dict[TopicPartition, int]:
    """Return the partitions that were refused for now, with the code; raise `BrokenEnvironment` for a permanent error."""
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(led):
        topics.setdefault(topic, []).append(index)
    data = tuple(
        {"name": topic, "partition_data": tuple({"index": index, "records": _batch(topic, index, records, at_ms)} for index in indexes)}
        for topic, indexes in topics.items()
    )
    async with asking(await connect(*leader)) as asker:
        body = {"transactional_id": None, "acks": -1, "timeout_ms": _ANSWER_MS, "topic_data": data}
        answer = await asker.ask(Api.PRODUCE, body, newest=_NAMING_UNTIL)
    codes = {(topic["name"], part["index"]): part["error_code"] for topic in answer["responses"] for part in topic["partition_responses"]}
    refused = {partition: code for partition, code in codes.items() if code}
    if final := {code for code in refused.values() if code not in _LED_ELSEWHERE}:
        raise BrokenEnvironment(f"topics can't be filled: Produce is answered {', '.join(map(error_named, final))}")
    return refused


def _batch(topic: str, index: int, records: int, at_ms: int) -> bytes:
    return encode_batch([
        Record(offset=offset, timestamp_ms=at_ms + offset, key=str(offset).encode(), value=f"{topic}-{index}-{offset}".encode())
        for offset in range(records)
    ])  # fmt: skip
