"""The assignment that each consumer computes itself: range and round robin over consumer threads (kafka.consumer.PartitionAssignor of 0.9.0.1).

From the same view all consumers compute the same assignment (ZK-46). It is keyed by consumer, not by thread (DISC-47).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from types import MappingProxyType

from groupproof.protocol.java_hash import java_hash
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["Assigned", "UnevenTopics", "View", "assign"]

Assigned = Mapping[str, Mapping[TopicPartition, str]]
"""Consumer to partition to thread. A consumer without partitions has an empty entry (ZK-55)."""


class UnevenTopics(Exception):
    """Round robin is not allowed: not all topics have the same threads. `str()` is Kafka's own message."""


@dataclass(frozen=True, slots=True)
class View:
    """A consumer's reads: its own topics in order, their partitions, all threads of the group by topic (sorted), and all consumers."""

    topics: tuple[str, ...]
    partitions: tuple[tuple[int, ...], ...]
    threads: tuple[tuple[str, tuple[str, ...]], ...]
    consumers: tuple[str, ...]


@lru_cache(maxsize=16)  # the members of a group usually have the same view
def assign(name: str, view: View) -> Assigned:
    """Assign by `range` or `roundrobin` (ZK-63). Raise `UnevenTopics`, or `KeyError` if a topic of the consumer has no registered thread."""
    assigned: dict[str, dict[TopicPartition, str]] = {}
    for partition, thread in (_round_robin if name == "roundrobin" else _range)(view):
        assigned.setdefault(thread.rpartition("-")[0], {})[partition] = thread
    for consumer in view.consumers:
        assigned.setdefault(consumer, {})
    return MappingProxyType({consumer: MappingProxyType(owners) for consumer, owners in assigned.items()})


def _range(view: View) -> list[tuple[TopicPartition, str]]:
    threads_of = dict(view.threads)
    owners: list[tuple[TopicPartition, str]] = []
    for topic, partitions in zip(view.topics, view.partitions, strict=True):
        threads = threads_of[topic]
        share, extra = divmod(len(partitions), len(threads))
        for position, thread in enumerate(threads):
            start = share * position + min(position, extra)
            count = share + (1 if position < extra else 0)
            owners += [((topic, partition), thread) for partition in partitions[start : start + count]]
    return owners


def _round_robin(view: View) -> list[tuple[TopicPartition, str]]:
    if not view.threads:
        return []
    first, head = view.threads[0]
    for topic, threads in view.threads:
        if threads != head:
            raise UnevenTopics(
                "Round-robin assignment is allowed only if all consumers in the group subscribe to the same topics, AND if the stream counts across topics "
                f"are identical for a given consumer instance. Topic {topic} has {', '.join(threads)}; topic {first} has {', '.join(head)}"
            )
    everything = [(topic, partition) for topic, partitions in zip(view.topics, view.partitions, strict=True) for partition in partitions]
    # sorted by the hash of TopicAndPartition's string, which spreads a topic's partitions
    everything.sort(key=lambda partition: java_hash(f"[{partition[0]},{partition[1]}]"))
    return list(zip(everything, cycle(head), strict=False))
