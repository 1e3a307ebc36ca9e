from __future__ import annotations

from typing import Any

import pytest
import trio
from tests.harness.subjects.tap.tapped import SETTINGS

from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.request_connection import asking
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.tap.group_inquiry import own_settings
from groupproof.protocol.vocabulary import Api

INTERVAL = "consumer.heartbeat.interval.ms"


def inquired(profile: str, *, sets: bool) -> Any:
    """Return what is told of group `g`, which has an interval of its own where the test `sets` one."""
    found: list[Any] = []

    async def main() -> None:
        async with ReferenceBrokers(profile=profile, seed=1).cluster(settings=SETTINGS, brokers=1, topics={}) as cluster:
            if sets:
                await _set(cluster)
            found.append(await own_settings(cluster.connect, cluster.addresses[0], "g"))

    run_virtually(main, seed=1)
    return found[0]


async def _set(cluster: RunningCluster) -> None:
    change = {"name": INTERVAL, "config_operation": 0, "value": "7000"}
    async with asking(await cluster.connect(*cluster.addresses[0])) as asker:
        body = {"resources": ({"resource_type": 32, "resource_name": "g", "configs": (change,)},), "validate_only": False}
        await asker.ask(Api.INCREMENTAL_ALTER_CONFIGS, body)


@pytest.mark.parametrize("sets", [False, True])
def test_a_group_tells_the_settings_that_it_has_for_itself(*, sets: bool) -> None:
    assert inquired("kafka-4.1", sets=sets) == {"settings": {INTERVAL: "7000"} if sets else {}}


def test_a_broker_that_does_not_tell_is_named() -> None:
    assert inquired("kafka-1.1", sets=False) == {"settings": None, "untold": "it does not speak DescribeConfigs"}


def test_a_broker_that_is_gone_is_no_end_of_the_tap() -> None:
    async def connect(host: str, port: int) -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        raise ConnectionRefusedError("refused")

    async def main() -> None:
        assert await own_settings(connect, ("nowhere", 1), "g") == {"settings": None, "untold": "refused"}

    run_virtually(main, seed=1)
