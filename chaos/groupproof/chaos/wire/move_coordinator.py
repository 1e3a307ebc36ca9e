"""Moves a group's coordinator for real: changes the leader of its partition of `__consumer_offsets`.

Releases with elections move only this partition by an election. Older ones need the leader's broker killed, and restarted once another has
taken over. State is lost by tombstones, which the new coordinator finds instead of the group.
"""

from __future__ import annotations

import trio

from groupproof.chaos.wire.bury_group import forget
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster import MovableCluster, RunningCluster
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.brokers.coordinator_election import agreed_partition, can_elect, elect, target_of
from groupproof.harness.subjects.networks.request_connection import GONE, NoCommonVersion
from groupproof.protocol.faults import Move

__all__ = ["move_group"]


async def move_group(running: RunningCluster, where: ClusterMap, group: str, move: Move) -> None:
    """Return when another broker coordinates the group and answers so; raise `BrokenEnvironment` where that is impossible."""
    if isinstance(running, MovableCluster):
        running.move_group(group, move)
        return
    try:
        partition = await agreed_partition(running, where, group)
        target = target_of(partition, move.to)
        if move.state != "kept":
            leader = await where.coordinator_of(group)
            await forget(running.connect, (leader.host, leader.port), group, partition.index)
        if can_elect(where):
            await elect(running, group, partition, target)
            await where.coordinator_of(group, other_than=partition.leader)
        else:
            await _take_over(running, where, group, partition.leader)
    except (*GONE, NoCommonVersion) as error:
        raise BrokenEnvironment(f"the coordinator of {group} can't be moved: {str(error) or type(error).__name__}") from error


async def _take_over(running: RunningCluster, where: ClusterMap, group: str, leader: int) -> None:
    await running.break_broker(leader, "kill")
    try:
        await where.coordinator_of(group, other_than=leader)
    finally:
        with trio.CancelScope(shield=True):
            await running.mend_broker(leader)
