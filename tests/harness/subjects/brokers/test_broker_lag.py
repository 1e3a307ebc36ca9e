from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
from tests.harness.subjects.brokers.test_cluster_map import Dying, run

from groupproof.harness.subjects.brokers import broker_lag as module
from groupproof.harness.subjects.brokers.broker_lag import LagReporter
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap, beat_of_nobody
from groupproof.harness.subjects.networks.request_connection import Asker


class Lateness:
    """How long the broker takes for the next Heartbeat of nobody's."""

    def __init__(self) -> None:
        self.next_s = 0.0

    async def beat(self, asker: Asker, group: str) -> int:
        late_s, self.next_s = self.next_s, 0.0
        await trio.sleep(late_s)
        return await beat_of_nobody(asker, group)


Then = Callable[[Dying, Lateness], Awaitable[None]]


def felt(then: Then, monkeypatch: pytest.MonkeyPatch) -> tuple[list[float], float]:
    """Return what a listener was told, and the worst, while `then` went on."""
    entries: list[float] = []
    worst: list[float] = []
    lateness = Lateness()
    monkeypatch.setattr(module, "beat_of_nobody", lateness.beat)

    async def body(cluster: Dying, where: ClusterMap) -> None:
        pulse = LagReporter(where, "pulse")
        end = pulse.listen(entries.append)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pulse.run)
            await trio.sleep(1)
            await then(cluster, lateness)
            nursery.cancel_scope.cancel()
        end()
        worst.append(pulse.worst_ms)

    run(body)
    return entries, worst[0]


def test_a_broker_in_time_is_not_spoken_of(monkeypatch: pytest.MonkeyPatch) -> None:
    async def then(cluster: Dying, lateness: Lateness) -> None:
        await trio.sleep(5)

    assert felt(then, monkeypatch) == ([], 0.0)


def test_a_late_answer_is_reported_with_how_late_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    async def then(cluster: Dying, lateness: Lateness) -> None:
        lateness.next_s = 0.18
        await trio.sleep(5)

    entries, worst = felt(then, monkeypatch)

    assert worst == max(entries) == pytest.approx(180)


def test_an_answer_that_is_still_to_come_is_announced_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    async def then(cluster: Dying, lateness: Lateness) -> None:
        lateness.next_s = 60.0
        await trio.sleep(2)

    entries, worst = felt(then, monkeypatch)

    assert entries == sorted(entries)
    assert len(entries) >= 6
    assert 1_500 < worst < 2_000


def test_a_broker_that_is_gone_is_asked_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    async def then(cluster: Dying, lateness: Lateness) -> None:
        cluster.cluster.kill(0)
        cluster.is_away = True
        await trio.sleep(3)
        assert lateness.next_s == 0.0
        cluster.cluster.mend(0)
        cluster.is_away = False
        lateness.next_s = 0.3
        await trio.sleep(3)

    entries, worst = felt(then, monkeypatch)

    assert worst == max(entries) == pytest.approx(300)
