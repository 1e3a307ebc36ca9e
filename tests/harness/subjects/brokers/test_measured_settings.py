from __future__ import annotations

from collections.abc import Mapping

import pytest

from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.brokers.measured_settings import INITIAL_DELAY, MIN_SESSION, measured
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.virtual_time import run_virtually


@pytest.mark.parametrize("profile", ["kafka-1.1", "kafka-4.1"])
@pytest.mark.parametrize(
    ("settings", "by_name"),
    [
        ({INITIAL_DELAY: 0, MIN_SESSION: 100}, {MIN_SESSION: 100, INITIAL_DELAY: 0}),
        ({INITIAL_DELAY: 3_000, MIN_SESSION: 6_000}, {MIN_SESSION: 6_000, INITIAL_DELAY: 3_000}),
        ({INITIAL_DELAY: 0, MIN_SESSION: 60_000}, {}),
    ],
)
def test_a_broker_is_seen_to_have_what_it_has(settings: Mapping[str, int], by_name: Mapping[str, int], profile: str) -> None:
    found: list[Mapping[str, int]] = []

    async def main() -> None:
        async with ReferenceBrokers(profile=profile).cluster(settings=settings, brokers=1, topics={}) as cluster:
            where = ClusterMap(cluster)
            await where.learn()
            found.append(await measured(where, "new"))
            await where.close()

    run_virtually(main, seed=1)

    assert found == [by_name]
