"""Kafka's own sticky assignors, from the jar of its Java client, in one process for many groups; and groups to give them, drawn by a seed."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

from groupproof.clients.assignors.assignment import Assignment, Cluster, GroupMember
from groupproof.clients.registry.toolchains.java_archives import java_tool
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["Group", "drawn", "kafkas"]

SOURCE = Path(__file__).parent / "java" / "Assign.java"
ANSWER_S = 120.0

Group = tuple[str, list[GroupMember], Cluster]
"""The assignor, the members in the order of the leader's list, and the cluster."""


def kafkas(groups: Sequence[Group], classes: Path, jars: Path) -> list[Assignment]:
    """Return what Kafka gives each group."""
    path = os.pathsep.join([str(classes), f"{jars}{os.sep}*"])
    asked = "".join(f"{_line(*group)}\n" for group in groups)
    done = subprocess.run([java_tool("java"), "-cp", path, SOURCE.stem], input=asked, capture_output=True, text=True, timeout=ANSWER_S, check=True)
    return [_assignment(line) for line in done.stdout.splitlines()]


def _line(assignor: str, members: Sequence[GroupMember], cluster: Cluster) -> str:
    topics = ",".join(f"{name}:{count}" for name, count in cluster.partitions.items() if count)
    lines = (f"{member.member_id};{','.join(member.topics)};{_partitions_text(member.owned)};{member.generation}" for member in members)
    return "\t".join([assignor, topics, "|".join(lines)])


def _partitions_text(partitions: Sequence[TopicPartition]) -> str:
    return ",".join(f"{topic}-{number}" for topic, number in partitions)


def _assignment(line: str) -> Assignment:
    assignment = {}
    for part in line.split("|"):
        member, _, partitions = part.partition(":")
        pairs = (partition.rpartition("-") for partition in partitions.split(",") if partition)
        assignment[member] = [(topic, int(number)) for topic, _, number in pairs]
    return assignment


def drawn(seed: int, count: int, *, alike: bool) -> list[Group]:
    """Return groups of one subscription, or of several; what members claim to own is in part outdated, gone, or claimed of an older generation too."""
    random_ = random.Random(f"{seed}/{alike}")
    return [_group(random_, alike=alike) for _ in range(count)]


def _group(draw: random.Random, *, alike: bool) -> Group:
    counts = {name: draw.randint(0, 6) for name in draw.sample(["orders", "t0", "t1", "payments", "a"], draw.randint(1, 4))}
    if not any(counts.values()):
        counts["t0"] = 2
    names = list(counts)
    shared = tuple(draw.sample(names, draw.randint(1, len(names))))
    ids = draw.sample(
        [f"{client}-{draw.getrandbits(32):08x}" for client in ("consumer1", "consumer2", "m", "app", "z") for _ in range(3)], draw.randint(1, 8)
    )
    free = [*((name, number) for name in names for number in range(counts[name])), ("gone", 0), ("gone", 1)]
    draw.shuffle(free)
    members: list[GroupMember] = []
    assignor = draw.choice(["sticky", "cooperative-sticky"])
    for member in ids:
        topics = shared if alike else tuple(draw.sample(names, draw.randint(1, len(names))))
        mine = [free.pop() for _ in range(min(len(free), draw.randint(0, 5)))]
        generation = draw.choice([1, 2, 2, 2])
        # Two equal claims end AbstractStickyAssignor of 4.1 with an exception ("No more unfilled consumers to be assigned"): nothing to compare with.
        # Of a claim of an older generation the eager one goes by the order of its hash map: it asks subscriptions for generations that only KIP-792's have.
        if alike and assignor != "sticky" and draw.random() < 0.2 and members and members[-1].generation != generation:
            once = [partition for partition in members[-1].owned if sum(partition in member.owned for member in members) == 1]
            mine = list(dict.fromkeys([*mine, *once[:1]]))
        mine = [partition for partition in mine if partition[0] in (*topics, "gone")]  # Kafka's general algorithm ends with an exception over others
        draw.shuffle(mine)
        members.append(GroupMember(member_id=member, topics=topics, owned=tuple(mine), generation=generation))
    return assignor, members, Cluster(partitions=counts)
