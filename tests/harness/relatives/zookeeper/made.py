"""Worlds for tests."""

from __future__ import annotations

import random

from groupproof.clients.relatives.zookeeper.group_settings import ConsumerSettings
from groupproof.coordinator.relatives.zookeeper.ensemble import Ensemble
from groupproof.harness.relatives.zookeeper.connections import Member
from groupproof.harness.relatives.zookeeper.costs import Costs
from groupproof.harness.relatives.zookeeper.simulated_consumers import SimulatedGroup

__all__ = ["SETTINGS", "formed", "world_of"]

SETTINGS = ConsumerSettings(group="g", topics={"t": 1})


def world_of(partitions: int, *, servers: int = 1, seed: int = 1) -> SimulatedGroup:
    return SimulatedGroup(topics={"t": partitions}, costs=Costs(), zookeeper=Ensemble(servers=servers), chance=random.Random(seed))


def formed(members: int, partitions: int, *, servers: int = 1) -> tuple[SimulatedGroup, list[Member]]:
    """Return a world with a group whose members came one after the other, settled."""
    world = world_of(partitions, servers=servers)
    group = []
    for number in range(members):
        group.append(world.add(f"m{number}", SETTINGS, way_us=200, server=number % servers))
        world.settle(60_000_000)
    return world, group
