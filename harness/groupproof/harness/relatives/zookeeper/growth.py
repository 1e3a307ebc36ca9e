"""What one member more, or less, costs a group on ZooKeeper, by simulation: `grow(1_000, 1)` in seconds, up to 10,000 members in minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupproof.clients.relatives.zookeeper.group_settings import ConsumerSettings
from groupproof.clients.relatives.zookeeper.paths import GroupPaths, consumer_id
from groupproof.coordinator.relatives.zookeeper.ensemble import Ensemble
from groupproof.harness.relatives.zookeeper.connections import Member
from groupproof.harness.relatives.zookeeper.costs import Costs
from groupproof.harness.relatives.zookeeper.figures import Figures
from groupproof.harness.relatives.zookeeper.simulated_consumers import MS, SimulatedGroup
from groupproof.harness.simulation.random_streams import Streams

if TYPE_CHECKING:
    import random

__all__ = ["CHURNS", "grow"]

CHURNS: Final = ("join", "leave", "crash")
_TOPIC: Final = "t"
_WITHIN_US: Final = 24 * 3_600 * 1_000 * MS
_PAUSE_US: Final = 1_000 * MS


def grow(
    members: int,
    seed: int,
    *,
    churn: str = "join",
    partitions: int | None = None,
    settings: ConsumerSettings | None = None,
    costs: Costs | None = None,
) -> Figures:
    """Form a group of so many members with one thread each, let one join, leave or crash, and count until the group is stable again.

    There are two partitions for each member unless said otherwise. Pure: the same arguments give the same figures. Raises `ValueError` for a churn that
    is none of `CHURNS`, or no members.
    """
    if churn not in CHURNS or members < 1:
        raise ValueError(f"a group has a member at least, and the churn is {', '.join(CHURNS)}: not {members}, {churn!r}")
    partitions = 2 * members if partitions is None else partitions
    settings = settings or ConsumerSettings(group="g", topics={_TOPIC: 1})
    costs = costs or Costs()
    chance = Streams(seed).named("zookeeper", members, churn)
    group = SimulatedGroup(topics={_TOPIC: partitions}, costs=costs, zookeeper=Ensemble(), chance=chance)
    formed = _form(group, members, settings, chance)
    group.run(group.now_us + _PAUSE_US + chance.randrange(_PAUSE_US))
    began_us = _begin(group, churn, formed, settings, chance)
    group.settle(_WITHIN_US)
    return _figures(group, members, seed, churn, began_us, settings.group)


def _form(group: SimulatedGroup, members: int, settings: ConsumerSettings, chance: random.Random) -> list[Member]:
    """Let all members start at one moment, registered already; their group has offsets of every partition."""
    paths = GroupPaths(settings.group)
    for partition in group.partitions:
        group.put(paths.offset(partition), b"0")
    names = [_name(settings.group, chance) for _ in range(members)]
    formed = [group.add_registered(name, settings, way_us=chance.randint(*group.costs.way_us)) for name in names]
    for member in formed:
        group.start(member)
    group.settle(_WITHIN_US)
    return formed


def _name(group: str, chance: random.Random) -> str:
    return consumer_id(group, f"host-{chance.getrandbits(16):04x}", 1_700_000_000_000, chance.getrandbits(32))


def _begin(group: SimulatedGroup, churn: str, formed: list[Member], settings: ConsumerSettings, chance: random.Random) -> int:
    """Let the churn begin, counters at zero; return when."""
    one = chance.choice(formed)
    group.operations.clear()
    group.reports.clear()
    group.watch_events = 0
    began_us = group.now_us
    if churn == "join":
        group.add(_name(settings.group, chance), settings, way_us=chance.randint(*group.costs.way_us))
    elif churn == "leave":
        group.close(one)
    else:
        group.kill(one)
        while group.zookeeper.is_alive(one.session_id):
            group.run(group.zookeeper.next_deadline_us or group.now_us)
    return began_us


def _figures(world: SimulatedGroup, members: int, seed: int, churn: str, began_us: int, group: str) -> Figures:
    tree, paths = world.zookeeper.tree(), GroupPaths(group)
    unowned = sum(tree.node(paths.owner(partition)) is None for partition in world.partitions)
    is_stable = world.is_quiet and not unowned
    return Figures(
        members=members,
        partitions=len(world.partitions),
        seed=seed,
        churn=churn,
        operations=dict(sorted(world.operations.items())),
        watch_events=world.watch_events,
        rebalances=world.reports["rebalances"],
        attempts=world.reports["attempts"],
        conflicts=world.reports["conflicts"],
        failures=world.reports["failures"],
        stable_ms=-(-(world.settled_us - began_us) // MS) if is_stable else None,
        unowned=unowned,
    )
