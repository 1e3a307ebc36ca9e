"""Moves a group's coordinator by an election: its partition of `__consumer_offsets` gets another leader, and every broker stays up.

The replicas get another order and the first of them is elected (2.4 and later, KIP-455 and KIP-460), which moves only the groups of this partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import trio

from groupproof.coordinator.machine.storage import partition_of
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.cluster_map import METADATA_NEWEST, ClusterMap
from groupproof.harness.subjects.brokers.readiness import controller_of
from groupproof.harness.subjects.networks.request_connection import GONE, Asker, NoCommonVersion, asking
from groupproof.protocol.vocabulary import Api, error_named

__all__ = ["OffsetsPartition", "agreed_partition", "can_elect", "elect", "elect_another", "offsets_partitions", "target_of"]

_TOPIC: Final = "__consumer_offsets"
_ANSWER_MS: Final = 20_000
_ELECTION_NOT_NEEDED: Final = 84
_PREFERRED: Final = 0
_LOOKS: Final = 200
_PAUSE_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class OffsetsPartition:
    """One partition of `__consumer_offsets`, by Metadata."""

    index: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


def can_elect(where: ClusterMap) -> bool:
    """Return whether the brokers support both requests."""
    return where.speaks(Api.ALTER_PARTITION_REASSIGNMENTS) and where.speaks(Api.ELECT_LEADERS)


async def elect_another(running: RunningCluster, where: ClusterMap, group: str) -> None:
    """Elect another broker as leader of the group's partition; raise `BrokenEnvironment` where that is impossible."""
    try:
        partition = await agreed_partition(running, where, group)
        await elect(running, group, partition, target_of(partition))
    except (*GONE, NoCommonVersion) as error:
        raise BrokenEnvironment(f"the coordinator of {group} can't be moved: {str(error) or type(error).__name__}") from error


async def agreed_partition(running: RunningCluster, where: ClusterMap, group: str) -> OffsetsPartition:
    """Return the group's partition, once the brokers agree on its leader: after a start, leaders still move to their preferred replicas."""
    for _ in range(_LOOKS):
        coordinator, partition = await where.coordinator_of(group), await _partition(running, group)
        if partition.leader == coordinator.node_id:
            return partition
        await trio.sleep(_PAUSE_S)
    raise BrokenEnvironment(f"the coordinator of {group} can't be moved: the brokers do not agree on who it is")


async def offsets_partitions(running: RunningCluster) -> int:
    """Return how many partitions `__consumer_offsets` has; 0 where the cluster shows none."""
    async with asking(await running.connect(*running.addresses[0])) as asker:
        return len((await _metadata(asker))["partitions"])


def target_of(partition: OffsetsPartition, to: int | None = None) -> int:
    """Return the broker to elect: `to`, or any other that can lead; raise `BrokenEnvironment`."""
    others = [node for node in partition.replicas if node != partition.leader and node in partition.in_sync]
    if to is not None and to not in others:
        raise BrokenEnvironment(f"the coordinator can't be moved to node {to}: it is there already, or that node has no replica in sync")
    if not others:
        raise BrokenEnvironment("the coordinator can't be moved: no other broker has its groups")
    return others[0] if to is None else to


async def _metadata(asker: Asker) -> Mapping[str, Any]:
    body = {"topics": ({"name": _TOPIC},), "allow_auto_topic_creation": False}
    topic: Mapping[str, Any] = (await asker.ask(Api.METADATA, body, newest=METADATA_NEWEST))["topics"][0]
    return topic


async def _partition(running: RunningCluster, group: str) -> OffsetsPartition:
    async with asking(await running.connect(*running.addresses[0])) as asker:
        metadata = (await _metadata(asker))["partitions"]
    if not metadata:
        raise BrokenEnvironment(f"the coordinator can't be moved: the cluster shows no topic {_TOPIC}")
    index = partition_of(group, len(metadata))
    part = next(partition for partition in metadata if partition["partition_index"] == index)
    return OffsetsPartition(index, part["leader_id"], tuple(part["replica_nodes"]), tuple(part["isr_nodes"]))


async def elect(running: RunningCluster, group: str, partition: OffsetsPartition, target: int) -> None:
    """Elect `target` and return when it leads; raise `BrokenEnvironment` with the broker's message."""
    order = (target, *(node for node in partition.replicas if node != target))
    topic = {"name": _TOPIC, "partitions": ({"partition_index": partition.index, "replicas": order},)}
    wanted = {"topic": _TOPIC, "partitions": (partition.index,)}
    async with asking(await running.connect(*running.addresses[0])) as asker:
        controller = await controller_of(asker, running.addresses[0])
    async with asking(await running.connect(*controller)) as asker:
        answer = await asker.ask(Api.ALTER_PARTITION_REASSIGNMENTS, {"topics": (topic,), "timeout_ms": _ANSWER_MS})
        _check([answer, *(part for response in answer["responses"] for part in response["partitions"])])
        for _ in range(_LOOKS):
            if (await _partition(running, group)).replicas == order:
                break
            await trio.sleep(_PAUSE_S)
        answer = await asker.ask(Api.ELECT_LEADERS, {"election_type": _PREFERRED, "topic_partitions": (wanted,), "timeout_ms": _ANSWER_MS})
        _check([answer, *(part for result in answer["replica_election_results"] for part in result["partition_result"])])


def _check(results: list[Mapping[str, Any]]) -> None:
    for result in results:
        code = result.get("error_code", 0)
        if code not in (0, _ELECTION_NOT_NEEDED):
            raise BrokenEnvironment(f"the coordinator can't be moved: the broker answers {result.get('error_message') or error_named(code)}")
