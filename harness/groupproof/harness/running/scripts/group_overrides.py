"""Gives the groups of a case the settings that a running broker lacks, as configs of the group (KIP-848, KIP-1263).

Kafka from 4.3 on has a pause of 1 s between two targets by default, and most cases need none (CGR-28, CGR-33). A group may have a pause of its own
(CGD-37), so the broker's user need not change the broker.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.script import Ask, Script
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.brokers.reported_settings import described_configs
from groupproof.harness.subjects.brokers.topic_admin import configure_group, unconfigure_group
from groupproof.harness.subjects.networks.request_connection import GONE, NoCommonVersion
from groupproof.protocol.rules.consumer.group_configs import GROUP_CONFIGS, ConfigResource
from groupproof.protocol.rules.setting_values import as_text
from groupproof.protocol.vocabulary import Api

__all__ = ["BY_CASE", "broker_settings", "configured", "overridable"]

BY_CASE: Final = "a config of the case's groups"

KNOWN_S: Final = 10.0
"""How long a group's coordinator may take, in seconds, to know a config that the controller has accepted."""

_PAUSE_S: Final = 0.02
_REMOVAL_S: Final = 5.0
_ABOUT_CONFIGS: Final = frozenset({Api.INCREMENTAL_ALTER_CONFIGS, Api.DESCRIBE_CONFIGS})


def overridable(script: Script, unmet: Collection[str]) -> dict[str, Any]:
    """Return the unmet settings of the script that can be configs of its groups; none if the script is about such configs."""
    if any(isinstance(step, Ask) and step.api in _ABOUT_CONFIGS for step in script.steps):
        return {}
    return {name: script.settings[config.broker] for name, config in GROUP_CONFIGS.items() if config.broker in script.settings.keys() & unmet}


def broker_settings(configs: Mapping[str, Any]) -> dict[str, Any]:
    """Return configs of a group by the names of the broker's settings that they override."""
    return {GROUP_CONFIGS[name].broker: value for name, value in configs.items()}


@asynccontextmanager
async def configured(where: ClusterMap, groups: Collection[str], configs: Mapping[str, Any]) -> AsyncIterator[str]:
    """Give the groups these configs, and remove them at the end. Yield "", or why the broker refuses them."""
    texts = {name: as_text(value) for name, value in configs.items()}
    changed: list[str] = []
    try:
        yield await _refusal(where, groups, texts, changed)
    finally:
        with trio.move_on_after(_REMOVAL_S, shield=True):
            await _remove(where, changed, texts)


async def _refusal(where: ClusterMap, groups: Collection[str], texts: Mapping[str, str], changed: list[str]) -> str:
    try:
        for group in groups:
            await configure_group(where.cluster.connect, where.cluster.addresses[0], group, texts)
            changed.append(group)
            await _until_known(where, group, texts)
    except BrokenEnvironment as refused:
        return str(refused)
    return ""


async def _until_known(where: ClusterMap, group: str, texts: Mapping[str, str]) -> None:
    """Return when the group's coordinator describes the group with its configs; raise `BrokenEnvironment` after `KNOWN_S`."""
    until = trio.current_time() + KNOWN_S
    while trio.current_time() < until:
        if await _knows(where, group, texts):
            return
        await trio.sleep(_PAUSE_S)
    raise BrokenEnvironment(f"the coordinator of group {group} does not report {dict(texts)} {KNOWN_S:g} s after the broker accepted them")


async def _knows(where: ClusterMap, group: str, texts: Mapping[str, str]) -> bool:
    try:
        async with where.asker_of(group) as asker:
            configs = await described_configs(asker, ConfigResource.GROUP, group)
    except (*GONE, NoCommonVersion) as error:
        raise BrokenEnvironment(f"the configs of group {group} can't be read: {str(error) or type(error).__name__}") from error
    return not isinstance(configs, str) and texts.items() <= {config["name"]: config["value"] for config in configs}.items()


async def _remove(where: ClusterMap, groups: Collection[str], configs: Collection[str]) -> None:
    for group in groups:
        try:
            await unconfigure_group(where.cluster.connect, where.cluster.addresses[0], group, configs)
        except BrokenEnvironment:
            return
