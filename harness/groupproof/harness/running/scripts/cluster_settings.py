"""The effective settings of a running cluster: requested, reported or observed, and of which broker.

Brokers that the kit did not start may have different settings. A group follows those of the broker that coordinates it.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import trio

from groupproof.harness.subjects.brokers.bound_probes import bounds_by_answers
from groupproof.harness.subjects.brokers.cluster import BrokerSubject, KnownSetting
from groupproof.harness.subjects.brokers.cluster_map import BrokerAddress, ClusterMap
from groupproof.harness.subjects.brokers.evident_settings import evident_settings
from groupproof.harness.subjects.brokers.known_settings import differing, values_of
from groupproof.harness.subjects.brokers.measured_settings import Measurement, are_alike, measured
from groupproof.harness.subjects.brokers.reported_settings import reported_settings
from groupproof.harness.subjects.brokers.running_broker import AddressedBrokers
from groupproof.protocol.rules.classic.classic_settings import INITIAL_DELAY, MAX_SESSION, METADATA_BYTES, MIN_SESSION
from groupproof.protocol.rules.consumer.group_configs import ASSIGNMENT_INTERVAL

__all__ = ["ClusterSettings", "EffectiveSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveSettings:
    """The settings that a broker has, and the requested ones that it lacks (`unmet`), with the reason.

    `known_settings` are those that it has in any case: reported by the user, or observed. `delay_ms` is the delay of a first rebalance where the kit
    measured it. `disagreement` says why the settings do not hold for all groups of a script.
    """

    values: Mapping[str, Any]
    unmet: Mapping[str, str]
    known_settings: Mapping[str, KnownSetting]
    delay_ms: int | None = None
    disagreement: str = ""


class ClusterSettings:
    """Learns the effective settings of the cluster at `where`, of which `asked` were requested. The names of its groups begin with `prefix`.

    `topic` is an existing topic, for commits; "" for none.
    """

    def __init__(self, subject: BrokerSubject, where: ClusterMap, asked: Mapping[str, Any], prefix: str, topic: str = "") -> None:
        self._subject = subject
        self._where = where
        self._asked = dict(asked)
        self._prefix = prefix
        self._topic = topic
        self._by_node: dict[int, EffectiveSettings] = {}
        self._lock = trio.Lock()

    async def of_first_broker(self) -> EffectiveSettings:
        """Return the settings of the broker at the first address."""
        nodes = self._where.nodes
        return await self._of_broker(next((node for node in nodes if (node.host, node.port) == self._where.cluster.addresses[0]), nodes[0]))

    async def of_groups(self, groups: Iterable[str]) -> EffectiveSettings:
        """Return the settings of the broker that coordinates `groups`; with a `disagreement` where several brokers do, and differ."""
        coordinators = {node.node_id: node for node in [await self._where.coordinator_of(group) for group in groups]}
        found = {node_id: await self._of_broker(node) for node_id, node in sorted(coordinators.items())}
        found = _with_one_delay(found)
        first = next(iter(found.values()), None) or await self.of_first_broker()
        return replace(first, disagreement=_disagreement(found))

    def known_texts(self) -> Iterator[str]:
        """Yield the known settings with their sources. A setting in which the brokers differ is named with each broker."""
        for name in sorted({name for settings in self._by_node.values() for name in settings.known_settings}):
            found = [
                (node_id, settings.known_settings[name]) for node_id, settings in sorted(self._by_node.items()) if name in settings.known_settings
            ]
            if len({setting.value for _, setting in found}) == 1:
                yield f"{name}={found[0][1].value} ({found[0][1].source})"
            else:
                yield from (f"{name}={setting.value} ({setting.source}, broker {node_id})" for node_id, setting in found)

    async def _of_broker(self, node: BrokerAddress) -> EffectiveSettings:
        async with self._lock:
            if node.node_id not in self._by_node:
                self._by_node[node.node_id] = await self._learned(node)
        return self._by_node[node.node_id]

    async def _learned(self, node: BrokerAddress) -> EffectiveSettings:
        cluster, asked = self._where.cluster, self._asked
        report = await self._where.settings_of(node)
        address = (node.host, node.port) if self._where.may_differ else cluster.addresses[0]
        reported = await reported_settings(cluster.connect, address) if report.unmet.keys() - report.settings.keys() else {}
        evident = await self._evident(node, report.settings)
        unmet = {name: why for name, why in _unmet(asked, report.unmet, reported).items() if name not in evident} | differing(asked, evident)
        known_settings = {**report.settings, **evident}
        values = {**_values(asked, unmet, reported), **values_of(known_settings)}
        unknown = {INITIAL_DELAY, MIN_SESSION} & (unmet.keys() - values.keys())
        found = await measured(self._where, partial(self._new_group, node)) if unknown else Measurement()
        found_values = {name: value for name, value in found.values.items() if name in unknown}
        unmet |= {name: f"{unmet[name]}; {why}" for name, why in found.doubts.items() if name in unknown}
        return EffectiveSettings(
            values={**found_values, **values}, unmet=unmet, known_settings=known_settings, delay_ms=found_values.get(INITIAL_DELAY)
        )

    async def _evident(self, node: BrokerAddress, reported: Collection[str]) -> Mapping[str, KnownSetting]:
        """Return the settings that an already running broker shows by its behaviour: those of consumer groups (KIP-848), and the bounds that it does
        not report. Each broker is asked once a run."""
        if not isinstance(self._subject, AddressedBrokers):
            return {}
        evident = self._subject.evident
        if node.node_id not in evident:
            group = await self._new_group(node)
            of_consumers = {} if group is None else await evident_settings(self._where, group)
            bounds = {MAX_SESSION, METADATA_BYTES} - set(reported)
            evident[node.node_id] = {
                **await bounds_by_answers(self._where, partial(self._new_group, node), self._topic, bounds), **of_consumers
            }  # fmt: skip
        return evident[node.node_id]

    async def _new_group(self, node: BrokerAddress) -> str | None:
        """Return the name of an unused group that the broker coordinates. Brokers that the kit started are all alike: then any of them does."""
        name = f"{self._prefix}settings-{random.SystemRandom().getrandbits(32):08x}"
        return await self._where.group_at(node.node_id, name) if self._where.may_differ else name


def _unmet(asked: Mapping[str, Any], unmet: Mapping[str, str], reported: Mapping[str, str | None] | str) -> dict[str, str]:
    """Return the settings that do not hold. A broker without a pause between targets (before 4.3, KIP-1263) is as good as one with 0 ms."""
    listed = {} if isinstance(reported, str) else reported
    has_no_pause = asked.get(ASSIGNMENT_INTERVAL) == 0 and listed.get(ASSIGNMENT_INTERVAL) is None
    return {name: why for name, why in unmet.items() if not (has_no_pause and name == ASSIGNMENT_INTERVAL)}


def _values(asked: Mapping[str, Any], unmet: Mapping[str, str], reported: Mapping[str, str | None] | str) -> dict[str, Any]:
    """Return the requested settings, with the broker's values in place of the unmet ones where it reports them."""
    listed = {} if isinstance(reported, str) else reported
    fulfilled = {name: value for name, value in asked.items() if name not in unmet}
    return {**fulfilled, **{name: _number(value) for name in unmet if (value := listed.get(name)) is not None}}


def _number(value: str) -> int | str:
    return int(value) if value.lstrip("-").isdigit() else value


def _with_one_delay(found: Mapping[int, EffectiveSettings]) -> dict[int, EffectiveSettings]:
    """Return the settings of the brokers with the shortest delay of a first rebalance for all, where the kit measured it at each of them and the
    delays differ by no more than a late answer. Early is judged strictly, so that the shortest is the safe one."""
    delays = [settings.delay_ms for settings in found.values() if settings.delay_ms is not None]
    if not delays or len(delays) < len(found) or not are_alike(delays):
        return dict(found)
    return {node_id: replace(settings, values={**settings.values, INITIAL_DELAY: min(delays)}) for node_id, settings in found.items()}


def _disagreement(found: Mapping[int, EffectiveSettings]) -> str:
    """Return what a script's groups need where their coordinators differ, "" where these do not."""
    for name in sorted({name for settings in found.values() for name in settings.values}):
        values = {node_id: settings.values.get(name, "an unknown value") for node_id, settings in found.items()}
        if len(set(values.values())) > 1:
            return f"one value of {name}: {', '.join(f'broker {node_id} has {value}' for node_id, value in values.items())}"
    return ""
