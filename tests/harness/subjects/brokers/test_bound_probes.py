from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import pytest

from groupproof.harness.subjects.brokers.bound_probes import UNLIMITED, bounds_by_answers
from groupproof.harness.subjects.brokers.cluster import KnownSetting
from groupproof.harness.subjects.brokers.cluster_map import mapped
from groupproof.harness.subjects.brokers.evident_settings import BY_ANSWERS
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.rules.classic.classic_settings import MAX_SESSION, METADATA_BYTES, NO_LIMIT

DELAY = "group.initial.rebalance.delay.ms"


def bounds(settings: Mapping[str, int], *, profile: str = "kafka-4.1", topic: str = "t") -> dict[str, KnownSetting]:
    found: dict[str, KnownSetting] = {}
    numbers = count()

    async def new_group() -> str:
        return f"new{next(numbers)}"

    async def main() -> None:
        async with (
            ReferenceBrokers(profile=profile).cluster(settings=settings, brokers=1, topics={"t": 1}) as running,
            mapped(running) as where,
        ):
            found.update(await bounds_by_answers(where, new_group, topic, {MAX_SESSION, METADATA_BYTES}))

    run_virtually(main, seed=1)
    return found


@pytest.mark.parametrize("session_ms", [30_000, 300_000, 1_799_999, 1_800_000, 1_800_001, 7_654_321])
@pytest.mark.parametrize("length", [0, 100, 4_096, 10_000])
def test_the_bounds_of_a_broker_show_in_its_answers(session_ms: int, length: int) -> None:
    assert bounds({MAX_SESSION: session_ms, METADATA_BYTES: length}) == {
        MAX_SESSION: KnownSetting(session_ms, BY_ANSWERS), METADATA_BYTES: KnownSetting(length, BY_ANSWERS)
    }  # fmt: skip


def test_a_broker_without_bounds_has_none() -> None:
    assert bounds({MAX_SESSION: NO_LIMIT, METADATA_BYTES: 1_000_000}) == dict.fromkeys(
        (MAX_SESSION, METADATA_BYTES), KnownSetting(NO_LIMIT, UNLIMITED)
    )


def test_the_usual_bounds_are_found_where_each_join_waits_for_the_first_rebalance() -> None:
    assert bounds({DELAY: 3_000}, profile="kafka-1.1")[MAX_SESSION].value == 300_000
    assert bounds({DELAY: 3_000}, profile="kafka-2.3", topic="")[MAX_SESSION].value == 1_800_000


def test_a_bound_that_would_take_too_long_to_find_stays_unknown() -> None:
    assert bounds({DELAY: 3_000, MAX_SESSION: 123_456}, profile="kafka-1.1").keys() == {METADATA_BYTES}


def test_a_bound_below_every_usual_session_stays_unknown() -> None:
    assert bounds({MAX_SESSION: 20_000}, topic="") == {}
