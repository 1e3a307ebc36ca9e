"""Reference brokers of one cluster with different settings, as a user has them who configures each broker in a file of its own."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from groupproof.coordinator.broker import broker as broker_module
from groupproof.coordinator.broker.config_requests import describe_configs
from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.coordinator.machine.coordinator import Coordinator
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.brokers.running_broker import AddressedBrokers
from groupproof.harness.subjects.networks.client_properties import Security
from groupproof.harness.subjects.networks.secure_connection import Connector
from groupproof.protocol.vocabulary import Api

__all__ = ["unlike"]


@asynccontextmanager
async def unlike(
    settings: Sequence[Mapping[str, Any]],
    *,
    profile: str = "kafka-4.1",
    by_hand: Mapping[str, Any] | None = None,
    unlisted: Collection[str] = (),
    variant: Variant = REFERENCE,
) -> AsyncIterator[AddressedBrokers]:
    """Run a broker for each of `settings`; yield them as running brokers, of which the first is the bootstrap broker. Their DescribeConfigs omits
    the settings `unlisted`."""
    of_nodes = [Settings.of(named, profile) for named in settings]

    class Unlike(Cluster):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            coordinators, nodes = self._coordinators, len(of_nodes)
            coordinators._machines = [
                Coordinator(
                    profile=profile, settings=of_node, random=random.Random(node), node_id=node,
                    partitions=range(node, coordinators.partitions, nodes), variant=variant,
                )
                for node, of_node in enumerate(of_nodes)
            ]  # fmt: skip
            self._notify_topics_changed()

    def described(broker: Any, body: Any, version: int) -> dict[str, Any]:
        machine = broker.coordinators._machines[broker.node_id]
        own = SimpleNamespace(
            settings=of_nodes[broker.node_id], group_configs=broker.coordinators.group_configs, group_config_defaults=machine.group_config_defaults
        )  # fmt: skip
        answer = describe_configs(own, body)  # type: ignore[arg-type] # the part of it that is used
        for result in answer["results"]:
            result["configs"] = tuple(config for config in result["configs"] if config["name"] not in unlisted)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("groupproof.harness.subjects.brokers.reference_brokers.Cluster", Unlike)
        patch.setitem(broker_module._ANSWERS, Api.DESCRIBE_CONFIGS, described)
        async with ReferenceBrokers(profile=profile, variant=variant).cluster(settings={}, brokers=len(of_nodes), topics={}) as running:
            patch.setattr(Connector, "connect", lambda _, host, port: running.connect(host, port))
            yield AddressedBrokers(
                bootstrap=running.addresses[:1], security=Security(), say=print, spec="h:9092", asked_profile=profile, is_virtual=True,
                by_hand=by_hand or {},
            )  # fmt: skip
