"""A group's coordinator moved for real: the leader of its partition of `__consumer_offsets` is made another.

Where the release has it (2.4 and later, KIP-455 and KIP-460), the replicas are put in another order and the first of them elected, which moves
this one partition; before that the leader's broker is killed, and started again once another has taken over. State is lost by tombstones, which
whoever takes over finds in place of the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import trio

from groupproof.chaos.wire.bury_group import forget
from groupproof.coordinator.machine.storage import partition_of
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster import MovableCluster, RunningCluster
from groupproof.harness.subjects.brokers.cluster_map import METADATA_NEWEST, ClusterMap
from groupproof.harness.subjects.brokers.readiness import controller_of
from groupproof.harness.subjects.networks.request_connection import GONE, Asker, NotSpoken, asking
from groupproof.protocol.faults import Move
from groupproof.protocol.vocabulary import Api, error_named

__all__ = ["move_group", "offsets_partitions"]

_TOPIC: Final = "__consumer_offsets"
_ANSWER_MS: Final = 20_000
_ELECTION_NOT_NEEDED: Final = 84
_PREFERRED: Final = 0
_LOOKS: Final = 200
_PAUSE_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class _Partition:
    index: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


async def move_group(running: RunningCluster, where: ClusterMap, group: str, move: Move) -> None:
    """Return when another broker coordinates the group, and says so; raise `BrokenEnvironment` where that can't be brought about."""
    if isinstance(running, MovableCluster):
        running.move_group(group, move)
        return
    try:
        partition = await _agreed(running, where, group)
        target = _target(partition, move.to)
        if move.state != "kept":
            leader = await where.coordinator_of(group)
            await forget(running.connect, (leader.host, leader.port), group, partition.index)
        if where.speaks(Api.ALTER_PARTITION_REASSIGNMENTS) and where.speaks(Api.ELECT_LEADERS):
            await _elect(running, group, partition, target)
            await where.coordinator_of(group, other_than=partition.leader)
        else:
            await _take_over(running, where, group, partition.leader)
    except (*GONE, NotSpoken) as error:
        raise BrokenEnvironment(f"the coordinator of {group} can't be moved: {str(error) or type(error).__name__}") from error


async def _agreed(running: RunningCluster, where: ClusterMap, group: str) -> _Partition:
    """Return the group's partition, once the brokers are of one mind who leads it: after a start, leaders are still put where they belong."""
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


def _target(partition: _Partition, to: int | None) -> int:
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


async def _partition(running: RunningCluster, group: str) -> _Partition:
    async with asking(await running.connect(*running.addresses[0])) as asker:
        metadata = (await _metadata(asker))["partitions"]
    if not metadata:
        raise BrokenEnvironment(f"the coordinator can't be moved: the cluster shows no topic {_TOPIC}")
    index = partition_of(group, len(metadata))
    part = next(partition for partition in metadata if partition["partition_index"] == index)
    return _Partition(index, part["leader_id"], tuple(part["replica_nodes"]), tuple(part["isr_nodes"]))


async def _elect(running: RunningCluster, group: str, partition: _Partition, target: int) -> None:
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


async def _take_over(running: RunningCluster, where: ClusterMap, group: str, leader: int) -> None:
    await running.break_broker(leader, "kill")
    try:
        await where.coordinator_of(group, other_than=leader)
    finally:
        with trio.CancelScope(shield=True):
            await running.mend_broker(leader)
