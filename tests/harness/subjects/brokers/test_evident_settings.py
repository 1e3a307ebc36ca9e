"""What a broker shows of its settings for KIP-848's groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from groupproof.harness.subjects.brokers.cluster import KnownSetting
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.brokers.evident_settings import evident_settings
from groupproof.harness.subjects.brokers.known_settings import values_of
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.request_connection import Asker, NoCommonVersion
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.vocabulary import Api

SESSION, INTERVAL, LEAST = (f"group.consumer.{name}.ms" for name in ("session.timeout", "heartbeat.interval", "min.heartbeat.interval"))
PROTOCOLS = "group.coordinator.rebalance.protocols"


def asked_of(settings: Mapping[str, Any], profile: str = "kafka-4.1") -> dict[str, KnownSetting]:
    found: dict[str, KnownSetting] = {}

    async def main() -> None:
        async with ReferenceBrokers(profile=profile).cluster(settings=settings, brokers=1, topics={}) as cluster:
            where = ClusterMap(cluster)
            await where.learn()
            found.update(await evident_settings(where, "new"))
            await where.close()

    run_virtually(main, seed=1)
    return found


@pytest.fixture
def told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the broker not speak DescribeConfigs."""
    ask = Asker.ask

    async def refused(asker: Asker, api: Api, body: Mapping[str, Any], **versions: Any) -> dict[str, Any]:
        if api is Api.DESCRIBE_CONFIGS:
            raise NoCommonVersion("it does not speak DescribeConfigs")
        return await ask(asker, api, body, **versions)

    monkeypatch.setattr(Asker, "ask", refused)


def test_the_settings_of_a_group_without_members_are_described_by_its_configs() -> None:
    settings = {SESSION: 50_000, INTERVAL: 3_000, LEAST: 1_000}

    assert values_of(asked_of(settings)) == {SESSION: 50_000, INTERVAL: 3_000}
    assert {setting.source for setting in asked_of(settings).values()} == {"DescribeConfigs of a group"}
    assert set(asked_of({}, "kafka-4.3")) == {SESSION, INTERVAL, "group.consumer.assignment.interval.ms"}


@pytest.mark.usefixtures("told_nothing")
def test_a_broker_that_reports_no_configs_gives_a_member_its_interval() -> None:
    assert asked_of({INTERVAL: 3_000, LEAST: 1_000}) == {INTERVAL: KnownSetting(3_000, "its answers")}


def test_a_protocol_that_is_switched_off_is_refused_and_one_that_is_not_spoken_is_not_asked_for() -> None:
    assert asked_of({PROTOCOLS: "classic"})[PROTOCOLS] == KnownSetting("classic", "its answers")
    assert asked_of({}, "kafka-3.3") == {}
