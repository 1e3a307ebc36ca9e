"""A broker's settings for consumer groups (KIP-848), by its answers: DescribeConfigs for an unused group, and the answer to a new member.

A group follows the broker's settings or a default for all groups. The effective value counts, from either source (CGD-29, CGD-40).
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from groupproof.harness.subjects.brokers.assigned_topics import LEAVES, consumer_heartbeat
from groupproof.harness.subjects.brokers.cluster import KnownSetting
from groupproof.harness.subjects.brokers.reported_settings import described_configs
from groupproof.harness.subjects.networks.request_connection import GONE, Asker, NoCommonVersion
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.group_configs import GROUP_CONFIGS, HEARTBEAT_INTERVAL, PROTOCOLS, ConfigResource
from groupproof.protocol.vocabulary import Api, ErrorCode

if TYPE_CHECKING:
    from groupproof.harness.subjects.brokers.cluster_map import ClusterMap

__all__ = ["BY_ANSWERS", "BY_GROUPS", "evident_settings"]

BY_GROUPS: Final = "DescribeConfigs of a group"
BY_ANSWERS: Final = "its answers"


async def evident_settings(where: ClusterMap, group: str) -> dict[str, KnownSetting]:
    """Describe the new group `group`, join it and leave it; return the settings that this shows, none where the broker does not support it."""
    if not where.speaks(Api.CONSUMER_GROUP_HEARTBEAT):
        return {}
    try:
        async with where.asker_of(group) as asker:
            return {**await _answered(asker, group), **await _described(asker, group)}
    except GONE:
        return {}


async def _described(asker: Asker, group: str) -> dict[str, KnownSetting]:
    try:
        configs = await described_configs(asker, ConfigResource.GROUP, group)
    except (NoCommonVersion, *GONE):
        return {}
    values = {} if isinstance(configs, str) else {config["name"]: str(config["value"]) for config in configs}
    found = {config.broker: values[name] for name, config in GROUP_CONFIGS.items() if values.get(name, "").isdigit()}
    return {name: KnownSetting(int(value), BY_GROUPS) for name, value in found.items()}


async def _answered(asker: Asker, group: str) -> dict[str, KnownSetting]:
    """Return the heartbeat interval in the answer to a member; 35 shows that the protocol is switched off."""
    member_id = str(uuid.uuid4())
    try:
        answer = await asker.ask(Api.CONSUMER_GROUP_HEARTBEAT, consumer_heartbeat(group, member_id, 0, (group,)))
        if not answer["error_code"]:
            await asker.ask(Api.CONSUMER_GROUP_HEARTBEAT, consumer_heartbeat(group, member_id, LEAVES))
    except (NoCommonVersion, *GONE):
        return {}
    if answer["error_code"] == ErrorCode.UNSUPPORTED_VERSION:
        return {PROTOCOLS: KnownSetting(CLASSIC.name, BY_ANSWERS)}
    return {} if answer["error_code"] else {HEARTBEAT_INTERVAL: KnownSetting(int(answer["heartbeat_interval_ms"]), BY_ANSWERS)}
