"""A broker's settings for consumer groups (KIP-848), by its answers: DescribeConfigs for an unused group, and the answer to a new member.

A group follows the broker's settings or a default for all groups. The effective value counts, from either source (CGD-29, CGD-40).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

import trio

from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.brokers.known_settings import KnownSetting
from groupproof.harness.subjects.networks.request_connection import GONE, Asker, NoCommonVersion
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.group_configs import GROUP_CONFIGS, HEARTBEAT_INTERVAL, PROTOCOLS, ConfigResource
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["BY_ANSWERS", "BY_GROUPS", "evident_settings"]

BY_GROUPS: Final = "DescribeConfigs of a group"
BY_ANSWERS: Final = "its answers"

_LEAVES: Final = -1
_REBALANCE_MS: Final = 60_000


async def evident_settings(where: ClusterMap, group: str) -> dict[str, KnownSetting]:
    """Describe the new group `group`, join it and leave it; return the settings that this shows, none where the broker does not support it."""
    if not where.speaks(Api.CONSUMER_GROUP_HEARTBEAT):
        return {}
    where.cluster.used([group])
    node = await where.coordinator_of(group)
    try:
        stream = await where.cluster.connect(node.host, node.port)
    except GONE:
        return {}
    try:
        asker = where.asker(stream)
        return {**await _answered(asker, group), **await _described(asker, group)}
    finally:
        await trio.aclose_forcefully(stream)


async def _described(asker: Asker, group: str) -> dict[str, KnownSetting]:
    resource = {"resource_type": ConfigResource.GROUP.value, "resource_name": group, "configuration_keys": None}
    try:
        (result,) = (await asker.ask(Api.DESCRIBE_CONFIGS, {"resources": (resource,)}))["results"]
    except (NoCommonVersion, *GONE):
        return {}
    values = {} if result["error_code"] else {entry["name"]: str(entry["value"]) for entry in result["configs"]}
    found = {config.broker: values[name] for name, config in GROUP_CONFIGS.items() if values.get(name, "").isdigit()}
    return {name: KnownSetting(int(value), BY_GROUPS) for name, value in found.items()}


async def _answered(asker: Asker, group: str) -> dict[str, KnownSetting]:
    """Return the heartbeat interval in the answer to a member; 35 shows that the protocol is switched off."""
    member_id = str(uuid.uuid4())
    try:
        answer = await asker.ask(Api.CONSUMER_GROUP_HEARTBEAT, _beat(group, member_id, epoch=0))
        if not answer["error_code"]:
            await asker.ask(Api.CONSUMER_GROUP_HEARTBEAT, _beat(group, member_id, epoch=_LEAVES))
    except (NoCommonVersion, *GONE):
        return {}
    if answer["error_code"] == ErrorCode.UNSUPPORTED_VERSION:
        return {PROTOCOLS: KnownSetting(CLASSIC.name, BY_ANSWERS)}
    return {} if answer["error_code"] else {HEARTBEAT_INTERVAL: KnownSetting(int(answer["heartbeat_interval_ms"]), BY_ANSWERS)}


def _beat(group: str, member_id: str, *, epoch: int) -> Mapping[str, Any]:
    is_join = epoch == 0
    return {
        "group_id": group, "member_id": member_id, "member_epoch": epoch, "instance_id": None, "rack_id": None,
        "rebalance_timeout_ms": _REBALANCE_MS if is_join else -1, "subscribed_topic_names": (group,) if is_join else None,
        "subscribed_topic_regex": None, "server_assignor": None, "topic_partitions": () if is_join else None,
    }  # fmt: skip
