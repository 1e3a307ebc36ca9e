"""Warnings about a group whose members do not fit together."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from groupproof.clients.relatives.zookeeper.registration import Registration

__all__ = ["hazards"]


def hazards(registered: Mapping[str, Registration], coordinated: Collection[str] = ()) -> tuple[str, ...]:
    """Return why this group mixes logics, one sentence per reason, or nothing if it does not (ZK-08).

    `registered` are the group's consumers on ZooKeeper by id, `coordinated` its members at a coordinator. A rebalance may move a partition from one
    logic to the other: stop the old consumers before the new ones start.
    """
    found = []
    subscribed = {(registration.pattern, frozenset(topic for topic, _ in registration.topics)) for registration in registered.values()}
    if len(subscribed) > 1:
        patterns = "; ".join(sorted(f"{pattern} {', '.join(sorted(topics))}" for pattern, topics in subscribed))
        found.append(f"consumers of one group subscribe to different topics ({patterns}): a rebalance may hand messages from one logic to the other")
    if registered and coordinated:
        found.append(
            f"{len(registered)} consumers share the group by ZooKeeper, {len(coordinated)} by the coordinator: each side takes all partitions, so that "
            "messages are read twice; stop the old consumers before the new ones start"
        )
    return tuple(found)
