from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing
from tests.harness.running.scripts.test_coordinator_stage import PROMPT, case

from groupproof.harness.judging.case_result import Play
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.script import AwaitClose, Raw
from groupproof.harness.model.script_builders import beat, stable
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.scripts.cluster_pool import DEATHS_MAX, ClusterKeeper, PartitionTurns, PooledCluster, cluster_spec_of, opened
from groupproof.harness.running.scripts.coordinator_stage import BrokerStage
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.virtual_time import run_virtually

SLY = case(*stable("s"), Raw(connection="r", data=b"die!"), AwaitClose(connection="r"), id="a/classic/sly")
DEADLY = case(*stable("a"), Raw(connection="r", data=b"die!"), beat("a", label="after"), id="a/classic/deadly")
HARMLESS = case(*stable("b"), *(beat("b") for _ in range(50)), id="a/classic/harmless")


class Mortal(ReferenceBrokers):
    """Dies of four certain bytes: every connection ends, none is taken any more, and a while later its process has ended."""

    @asynccontextmanager
    async def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AsyncIterator[RunningCluster]:
        async with super().cluster(settings=settings, brokers=brokers, topics=topics) as inner:
            yield _Mortal(inner)


class _Mortal:
    def __init__(self, inner: RunningCluster) -> None:
        self.is_dead = False
        self.ends_at = math.inf
        self._inner = inner
        self._streams: list[trio.abc.Stream] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        if self.is_dead:
            raise ConnectionRefusedError("nobody listens")
        stream = await self._inner.connect(host, port)
        send_all = stream.send_all

        async def listening(data: bytes) -> None:
            if data == b"die!":
                self.is_dead, self.ends_at = True, trio.current_time() + 0.2
                for stream in self._streams:
                    await trio.aclose_forcefully(stream)
                return
            await send_all(data)

        stream.send_all = listening  # type: ignore[method-assign, assignment] # a double of one method
        self._streams.append(stream)
        return stream

    def deaths(self) -> list[str]:
        return ["broker 0 ended with status 2; its last words: panic: die!"] if trio.current_time() >= self.ends_at else []


def test_a_cluster_that_has_died_is_replaced_for_those_still_to_come() -> None:
    started: list[PooledCluster] = []

    async def main() -> None:
        subject = Mortal(profile="kafka-4.1")
        keeper = ClusterKeeper(lambda: opened(subject, cluster_spec_of(HARMLESS), [HARMLESS]))
        async with trio.open_nursery() as nursery:
            started.append(await nursery.start(keeper.run))
            assert await keeper.current() is started[0]
            assert not await keeper.has_died(started[0], within_s=1.0)
            started[0].where.cluster.ends_at = 0.0  # type: ignore[attr-defined] # the double's own
            assert await keeper.has_died(started[0])
            started.append(await keeper.current())
            assert started[0] is not started[1]
            assert await keeper.has_died(started[0])
            assert await keeper.current() is started[1]
            nursery.cancel_scope.cancel()

    run_virtually(main, seed=1)


def test_one_that_dies_again_and_again_is_given_up() -> None:
    async def main() -> None:
        subject = Mortal(profile="kafka-4.1")
        keeper = ClusterKeeper(lambda: opened(subject, cluster_spec_of(HARMLESS), [HARMLESS]))
        async with trio.open_nursery() as nursery:
            await nursery.start(keeper.run)
            for _ in range(DEATHS_MAX):
                cluster = await keeper.current()
                cluster.where.cluster.ends_at = 0.0  # type: ignore[attr-defined] # the double's own
                assert await keeper.has_died(cluster)

    with pytest.raises(ExceptionGroup) as raised:
        run_virtually(main, seed=1)
    assert raised.group_contains(BrokenEnvironment, match=f"the broker died {DEATHS_MAX} times; the last: .*panic: die!")


def test_the_case_that_kills_the_broker_is_found_among_those_it_died_under() -> None:
    plays: dict[str, Play] = {}

    async def main() -> None:
        subject, spec = Mortal(profile="kafka-4.1"), cluster_spec_of(HARMLESS)
        keeper = ClusterKeeper(lambda: opened(subject, spec, [HARMLESS, DEADLY, SLY]))
        async with trio.open_nursery() as keeping:
            await keeping.start(keeper.run)
            stage = BrokerStage(subject=subject, spec=spec, cluster=None, profile="kafka-4.1", seed=1, token="", keeper=keeper)

            async def play(name: str, which: Any) -> None:
                plays[name] = await stage.play(which, key=name)

            async with trio.open_nursery() as nursery:
                for name, which in (("harmless", HARMLESS), ("deadly", DEADLY), ("sly", SLY), ("other", HARMLESS)):
                    nursery.start_soon(play, name, which)
            keeping.cancel_scope.cancel()
        stages.append(stage)

    stages: list[BrokerStage] = []
    run_virtually(main, seed=1)

    by_name = {"deadly": DEADLY, "sly": SLY}
    judged = {name: stages[0].judge(by_name.get(name, HARMLESS), play.trace) for name, play in plays.items()}
    assert {name: judgement.verdict for name, judgement in judged.items()} == {
        "harmless": Verdict.OK, "deadly": Verdict.FAILED, "sly": Verdict.FAILED, "other": Verdict.OK
    }  # fmt: skip
    for name in by_name:
        (died,) = judged[name].findings
        assert "panic: die!" in died.detail
    assert all(play.trouble is None for play in plays.values())


def test_the_settings_of_a_cluster_spec_are_those_of_its_cases() -> None:
    assert dict(cluster_spec_of(HARMLESS).settings) == PROMPT


@pytest.mark.parametrize(("partitions", "together"), [(1, 1), (0, 2)])
def test_groups_of_one_partition_take_turns_where_they_would_move_together(partitions: int, together: int) -> None:
    now, most = [0], [0]

    async def main() -> None:
        turns = PartitionTurns(partitions)

        async def have(*groups: str) -> None:
            async with turns.held(groups):
                now[0] += 1
                most[0] = max(most[0], now[0])
                await trio.sleep(1)
                now[0] -= 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(have, "a", "b")
            nursery.start_soon(have, "b", "a")

    run_virtually(main, seed=1)
    assert (now[0], most[0]) == (0, together)
