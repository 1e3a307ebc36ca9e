from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import pytest
import trio

from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.brokers.measured_settings import JOINS_MAX, Measurement, measured
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.request_connection import Asker
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.rules.classic.classic_settings import INITIAL_DELAY, MIN_SESSION
from groupproof.protocol.vocabulary import Api


def measurement(settings: Mapping[str, int], profile: str) -> Measurement:
    found: list[Measurement] = []
    numbers = count()

    async def new_group() -> str:
        return f"new{next(numbers)}"

    async def main() -> None:
        async with ReferenceBrokers(profile=profile).cluster(settings=settings, brokers=1, topics={}) as cluster:
            where = ClusterMap(cluster)
            await where.learn()
            found.append(await measured(where, new_group))
            await where.close()

    run_virtually(main, seed=1)
    return found[0]


@pytest.fixture
def late_by(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """Return the seconds by which the answers to successful joins are late, by their numbers from 0: the test fills them."""
    lateness: dict[int, float] = {}
    numbers, ask = count(), Asker.ask

    async def slowly(self: Asker, api: Api, body: Mapping[str, Any], **named: Any) -> dict[str, Any]:
        answer = await ask(self, api, body, **named)
        if api is Api.JOIN_GROUP and not answer["error_code"]:
            await trio.sleep(lateness.get(next(numbers), 0.0))
        return answer

    monkeypatch.setattr(Asker, "ask", slowly)
    return lateness


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
    assert measurement(settings, profile) == Measurement(values=by_name)


@pytest.mark.parametrize("late", [(0.4,), (0.05, 0.4), (0.4, 0.9), (0.4, 0.2, 1.5)])
def test_late_answers_do_not_make_the_delay_longer(late: Sequence[float], late_by: dict[int, float]) -> None:
    late_by.update(enumerate(late))

    assert measurement({INITIAL_DELAY: 1_000, MIN_SESSION: 100}, "kafka-4.1").values[INITIAL_DELAY] == 1_000


def test_a_delay_of_which_no_two_measurements_agree_stays_unknown(late_by: dict[int, float]) -> None:
    late_by.update({number: 0.2 * number for number in range(JOINS_MAX)})

    found = measurement({INITIAL_DELAY: 1_000, MIN_SESSION: 100}, "kafka-4.1")

    assert found.values == {MIN_SESSION: 100}
    assert found.doubts == {INITIAL_DELAY: "new groups were answered after 1000, 1200, 1400, 1600, 1800, 2000 ms, so that the kit can't measure it"}
