"""Builders of script steps in the dialect of KIP-848: one function for each request. Its defaults are what a well-behaved member sends.

A member's id is its name in the script, because in this protocol the client chooses it. Keywords override fields, by Kafka's names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from groupproof.harness.model.script import Ask, Group, OwnedById, PartitionsById, Ref, ScriptStep, Topic, TopicId, TopicPattern
from groupproof.harness.model.script_builders import ask
from groupproof.protocol.rules.consumer.group_configs import ConfigOperation, ConfigResource
from groupproof.protocol.vocabulary import Api

__all__ = [
    "LEFT", "REVOCATION_MS", "SLOT_KEPT", "acknowledge", "away", "beat", "commit", "commit_by_id", "configure", "delete_groups", "describe",
    "describe_configs", "fetch", "fetch_by_id", "full", "join", "leave", "settled",
]  # fmt: skip

LEFT: Final = -1
"""The epoch with which a member leaves."""

SLOT_KEPT: Final = -2
"""The epoch with which a static member leaves to come back."""

REVOCATION_MS: Final = 60_000
"""The rebalance timeout of a member: how long it may take to revoke partitions."""

_GROUP: Final = Group()


Owned = Sequence[tuple[str, int]] | str | None
"""What a member reports as owned: partitions by the script's names, "own" for its latest assignment, None for an absent field."""


def _reported(member: str, owned: Owned) -> Any:
    if owned is None:
        return None
    return OwnedById(member) if owned == "own" else PartitionsById(tuple(owned))  # type: ignore[arg-type]  # the other strings are no partitions


def beat(
    member: str,
    *,
    epoch: Any = None,
    owned: Owned = None,
    names: Iterable[str] | None = None,
    regex: str | None = None,
    instance: str | None = None,
    timeout: int = -1,
    **overrides: Any,
) -> Ask:
    """Send ConsumerGroupHeartbeat as `member`, with its epoch and the changed fields. By default nothing has changed."""
    fields = {
        "group_id": _GROUP,
        "member_id": member,
        "member_epoch": Ref(member, "member_epoch") if epoch is None else epoch,
        "instance_id": instance,
        "rack_id": None,
        "rebalance_timeout_ms": timeout,
        "subscribed_topic_names": None if names is None else tuple(Topic(name) for name in names),
        "subscribed_topic_regex": None if regex is None else TopicPattern(regex),
        "server_assignor": None,
        "topic_partitions": _reported(member, owned),
    }
    return ask(member, Api.CONSUMER_GROUP_HEARTBEAT, fields, overrides, label=f"beat {member}")


def join(member: str, *, names: Iterable[str] | None = ("t",), **overrides: Any) -> Ask:
    """Join: epoch 0, a subscription, a rebalance timeout, and no partitions."""
    return beat(member, names=names, **{"epoch": 0, "owned": (), "timeout": REVOCATION_MS, "label": f"join {member}", **overrides})


def full(member: str, *, names: Iterable[str] | None = ("t",), **overrides: Any) -> Ask:
    """Send a heartbeat with all fields, which the coordinator answers with all fields (CGM-26)."""
    return beat(member, names=names, **{"owned": "own", "timeout": REVOCATION_MS, **overrides})


def acknowledge(member: str, **overrides: Any) -> Ask:
    """Report the latest assignment as owned. Partitions that the member had to revoke are then given up."""
    return beat(member, **{"owned": "own", "label": f"acknowledge {member}", **overrides})


def leave(member: str, **overrides: Any) -> Ask:
    return beat(member, epoch=LEFT, **{"label": f"leave {member}", **overrides})


def away(member: str, instance: str, **overrides: Any) -> Ask:
    """Leave as a static member that comes back."""
    return beat(member, epoch=SLOT_KEPT, instance=instance, **{"label": f"away {member}", **overrides})


def describe(member: str, *groups: Any, **overrides: Any) -> Ask:
    fields = {"group_ids": groups or (_GROUP,), "include_authorized_operations": False}
    return ask(member, Api.CONSUMER_GROUP_DESCRIBE, fields, overrides, label=f"describe {member}")


def _committed(offsets: Mapping[tuple[str, int], int], metadata: str) -> tuple[Mapping[str, Any], ...]:
    topics: dict[str, list[Mapping[str, Any]]] = {}
    for (topic, partition), offset in offsets.items():
        topics.setdefault(topic, []).append({"partition_index": partition, "committed_offset": offset, "committed_metadata": metadata})
    return tuple({"name": Topic(name), "partitions": tuple(partitions)} for name, partitions in topics.items())


def commit(
    member: str,
    offsets: Mapping[tuple[str, int], int] | None = None,
    *,
    epoch: Any = None,
    metadata: str = "",
    instance: str | None = None,
    **overrides: Any,
) -> Ask:
    """Send OffsetCommit v9 with the member's epoch, by default for partition 0 of topic t at offset 1."""
    fields = {
        "group_id": _GROUP,
        "generation_id": Ref(member, "member_epoch") if epoch is None else epoch,
        "member_id": member,
        "group_instance_id": instance,
        "topics": _committed({("t", 0): 1} if offsets is None else offsets, metadata),
    }
    return ask(member, Api.OFFSET_COMMIT, fields, {"version": 9, **overrides}, label=f"commit {member}")


def fetch(
    member: str, partitions: Mapping[str, Sequence[int]] | None = None, *, epoch: Any = None, everything: bool = False, **overrides: Any
) -> Ask:
    """Send OffsetFetch v9 with the member's epoch: partition 0 of topic t, the `partitions`, or `everything` that was committed."""
    wanted = {"t": (0,)} if partitions is None else partitions
    topics = None if everything else tuple({"name": Topic(name), "partition_indexes": tuple(of)} for name, of in wanted.items())
    group = {
        "group_id": overrides.pop("group_id", _GROUP),
        "member_id": overrides.pop("member_id", member),
        "member_epoch": Ref(member, "member_epoch") if epoch is None else epoch,
        "topics": topics,
    }
    fields = {"groups": (group,), "require_stable": overrides.pop("require_stable", False)}
    return ask(member, Api.OFFSET_FETCH, fields, {"version": 9, **overrides}, label=f"fetch {member}")


def commit_by_id(member: str, offsets: Mapping[tuple[str, int], int] | None = None, *, epoch: Any = None, **overrides: Any) -> Ask:
    """Send OffsetCommit v10, which names topics by id. A topic that the script does not have gets an id that no topic has."""
    ask = commit(member, offsets, epoch=epoch, **{"version": 10, **overrides})
    return replace(ask, fields={**ask.fields, "topics": _by_id(ask.fields["topics"])})


def fetch_by_id(member: str, partitions: Mapping[str, Sequence[int]] | None = None, *, epoch: Any = None, **overrides: Any) -> Ask:
    """Send OffsetFetch v10, which names topics by their ids."""
    ask = fetch(member, partitions, epoch=epoch, **{"version": 10, **overrides})
    (group,) = ask.fields["groups"]
    return replace(ask, fields={**ask.fields, "groups": ({**group, "topics": _by_id(group["topics"])},)})


def _by_id(topics: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    return tuple({**{name: value for name, value in topic.items() if name != "name"}, "topic_id": TopicId(topic["name"].name)} for topic in topics)


def configure(member: str, configs: Mapping[str, str | None], *, group: Any = _GROUP, only_checks: bool = False, **overrides: Any) -> Ask:
    """Send IncrementalAlterConfigs for the group's own configs. A value of None deletes the config."""
    changes = tuple(
        {"name": name, "config_operation": (ConfigOperation.DELETE if value is None else ConfigOperation.SET).value, "value": value}
        for name, value in configs.items()
    )
    fields = {"resources": ({"resource_type": ConfigResource.GROUP.value, "resource_name": group, "configs": changes},), "validate_only": only_checks}
    return ask(member, Api.INCREMENTAL_ALTER_CONFIGS, fields, overrides, label=f"configure {member}")


def describe_configs(member: str, *, group: Any = _GROUP, **overrides: Any) -> Ask:
    """Send DescribeConfigs for the configs of the group."""
    resource = {"resource_type": ConfigResource.GROUP.value, "resource_name": group, "configuration_keys": None}
    fields = {"resources": (resource,), "include_synonyms": False, "include_documentation": False}
    return ask(member, Api.DESCRIBE_CONFIGS, fields, overrides, label=f"configs {member}")


def delete_groups(member: str, *, group: Any = _GROUP, **overrides: Any) -> Ask:
    return ask(member, Api.DELETE_GROUPS, {"groups_names": (group,)}, overrides, label=f"delete {member}")


def settled(*members: str, rounds: int = 3) -> tuple[ScriptStep, ...]:
    """Let the members send heartbeats in turn, each with its latest assignment, until every partition has its owner."""
    return tuple(acknowledge(member) for _ in range(rounds) for member in members)
