"""Settings that a user tells of a broker, against what the broker does: those that it has stand, others are refuted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.harness.subjects.brokers.unlike_brokers import unlike

from groupproof.harness.subjects.brokers.cluster_map import ClusterMap, mapped
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.brokers.wrong_settings import refutations
from groupproof.harness.subjects.networks.virtual_time import run_virtually

HAS: Mapping[str, Any] = {
    "group.initial.rebalance.delay.ms": 500,
    "group.min.session.timeout.ms": 1_000,
    "group.max.session.timeout.ms": 20_000,
    "group.max.size": 3,
    "offset.metadata.max.bytes": 64,
}


def refuted(claimed: Mapping[str, int], *, profile: str = "kafka-4.1", has: Mapping[str, Any] = HAS) -> dict[str, str]:
    found: dict[str, str] = {}

    async def main() -> None:
        async with ReferenceBrokers(profile=profile).cluster(settings=has, brokers=1, topics={"t": 1}) as running:
            where = ClusterMap(running)
            await where.learn()
            found.update(await refutations(where, 0, "probe", "t", claimed))
            await where.close()

    run_virtually(main, seed=1)
    return found


@pytest.mark.parametrize("profile", ["kafka-2.2", "kafka-4.1"])
def test_settings_that_the_broker_has_stand(profile: str) -> None:
    assert refuted(HAS, profile=profile) == {}


@pytest.mark.parametrize(
    ("name", "claimed", "message"),
    [
        ("group.min.session.timeout.ms", 999, "it refuses a session timeout of 999 ms"),
        ("group.min.session.timeout.ms", 6_000, "it takes a session timeout of 5999 ms"),
        ("group.max.session.timeout.ms", 10_000, "it takes a session timeout of 10001 ms"),
        ("group.max.session.timeout.ms", 30_000, "it refuses a session timeout of 30000 ms"),
        ("group.initial.rebalance.delay.ms", 0, "it delays the first rebalance of a group by 500 ms"),
        ("group.initial.rebalance.delay.ms", 3_000, "it delays the first rebalance of a group by 500 ms"),
        ("offset.metadata.max.bytes", 63, "it takes 64 bytes of commit metadata"),
        ("offset.metadata.max.bytes", 65, "it refuses 65 bytes of commit metadata"),
        ("group.max.size", 1, "it takes 4 members into a group"),
        ("group.max.size", 5, "it refuses member 4 of a group"),
    ],
)
def test_a_setting_that_the_broker_does_not_have_is_refuted_by_what_it_does(name: str, claimed: int, message: str) -> None:
    has = {**HAS, "group.initial.rebalance.delay.ms": 500}
    has = {**has, "group.max.size": 4} if (name, claimed) == ("group.max.size", 1) else has

    assert refuted({name: claimed}, has=has) == {name: message}


def test_what_no_answer_shows_is_believed() -> None:
    claimed = {"offsets.retention.minutes": 7, "group.max.size": 1_000, "offset.metadata.max.bytes": 2_000_000, "offsets.commit.timeout.ms": 9}

    assert refuted(claimed) == {}


def test_each_broker_is_asked_for_its_own_settings() -> None:
    least, found = "group.min.session.timeout.ms", {}

    async def main() -> None:
        async with (
            unlike([{least: 6_000}, {least: 7_000}]) as subject,
            subject.cluster(settings={}, brokers=1, topics={}) as running,
            mapped(running) as where,
        ):
            for node_id in (0, 1, 9):
                found[node_id] = await refutations(where, node_id, "probe", "t", {least: 6_000})

    run_virtually(main, seed=1)

    assert found == {0: {}, 1: {least: "it refuses a session timeout of 6000 ms"}, 9: {}}
