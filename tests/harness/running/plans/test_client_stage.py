from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import ClassVar

import trio
import trio.testing
from tests.traces import Story

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.judging.case_result import Play
from groupproof.harness.judging.lag import LAG_MS_MAX
from groupproof.harness.model.case import Case, seed_of
from groupproof.harness.model.plan import Await, Member, Pass, Plan, Stable, Start
from groupproof.harness.model.verdicts import Level
from groupproof.harness.running.canary import Canary
from groupproof.harness.running.plans.client_stage import FLOOD, Stage
from groupproof.harness.running.plans.retry_rhythm import MEASURING, Rhythm
from groupproof.harness.subjects.networks.network import LoopbackNetwork, MemoryNetwork
from groupproof.harness.subjects.subject import ReferenceSubject
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api

PLAN = Plan(members=(Member(name="m0"),), steps=(Start(member="m0"), Await(until=Stable(members=("m0",))), Pass(ms=500)))
CASE = Case(id="a/classic/a", title="a", requirements=("HB-01",), level=Level.MUST, plan=PLAN, judges=())


def stage(*, is_virtual: bool = True, canary: Canary | None = None) -> Stage:
    reference = ReferenceSubject(run_shim, is_virtual=is_virtual)
    return Stage(subject=reference, reference_peers=reference, profile="kafka-4.1", seed=7, canary=canary)


def play(case: Case = CASE, *, canary: Canary | None = None) -> Play:
    async def main() -> Play:
        return await stage(canary=canary).play(case, key="c1")

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_every_observation_says_of_which_run_and_case_it_is() -> None:
    trace = play().trace

    assert {(obs.run, obs.case, obs.seed, obs.clock) for obs in trace} == {("7.c1", "a/classic/a", 7, "virtual")}
    assert [obs.at_ns for obs in trace] == sorted(obs.at_ns for obs in trace)


def test_the_reference_plays_in_memory_and_programs_over_loopback() -> None:
    assert isinstance(stage().network(Recorder(lambda: 0), CASE), MemoryNetwork)
    assert isinstance(stage(is_virtual=False).network(Recorder(lambda: 0), CASE), LoopbackNetwork)


def test_a_group_assigns_by_the_subjects_own_assignor() -> None:
    two = replace(PLAN, members=(Member(name="m0"), Member(name="a0", kind="reference")), steps=(Start(member="a0"), *PLAN.steps))

    async def main() -> Play:
        return await replace(stage(), own_assignor="faust").play(replace(CASE, plan=two), key="c1")

    trace = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0)).trace
    joins = [obs for obs in trace if obs.kind == "response" and obs.api == "JoinGroup" and not obs.error]
    assigned = {obs.client: obs.partitions for obs in trace if obs.kind == "response" and obs.api == "SyncGroup" and not obs.error}

    assert {obs.body["protocol_name"] for obs in joins} == {"faust"}
    assert sorted(partition for partitions in assigned.values() for partition in partitions) == [("t", 0), ("t", 1)]


def test_a_trace_that_grows_without_end_counts_as_a_flood() -> None:
    recorder = Recorder(lambda: 0)
    network = stage(is_virtual=False).network(recorder, CASE)
    assert isinstance(network, LoopbackNetwork)
    assert not network.is_flooded()

    for _ in range(FLOOD + 1):
        recorder.record("event")

    assert network.is_flooded()


def test_a_case_waits_for_no_initial_delay_unless_its_plan_asks_for_one() -> None:
    delayed = replace(CASE, plan=replace(PLAN, coordinator={"group.initial.rebalance.delay.ms": 3_000}))

    assert play(delayed).duration_s - play().duration_s >= 2.5


def test_the_canarys_lags_that_matter_stand_in_the_trace() -> None:
    class Late(Canary):
        def listen(self, listener: Callable[[str, float], None]) -> Callable[[], None]:
            listener("loop", LAG_MS_MAX)
            listener("child", LAG_MS_MAX - 1)
            return super().listen(listener)

    lags = [obs.body for obs in play(canary=Late()).trace if obs.body.get("name") == "lag"]

    assert lags == [{"name": "lag", "source": "loop", "lag_ms": LAG_MS_MAX}]


def test_nobody_listens_to_the_canary_any_more_after_the_run() -> None:
    canary = Canary()
    trace = play(canary=canary).trace
    before = len(trace)
    trio.run(_sing, canary)

    assert len(trace) == before


async def _sing(canary: Canary) -> None:
    canary.tell("loop", 1_000)
    await trio.lowlevel.checkpoint()


def test_a_cases_seed_depends_on_the_runs_and_on_the_case_alone() -> None:
    assert seed_of(7, "a") == seed_of(7, "a")
    assert len({seed_of(7, "a"), seed_of(8, "a"), seed_of(7, "b")}) == 3


RUN_S = 10.0


class Measured(Stage):
    """Lets time pass instead of a plan, and remembers which was to be played, and whether alone; a client that `is_unnamed` shares no process then."""

    played: ClassVar[list[tuple[str, bool]]] = []
    is_unnamed: ClassVar[bool] = False

    async def play(self, case: Case, *, key: str, alone: bool = False) -> Play:
        Measured.played.append((case.id, alone))
        await trio.sleep(RUN_S)
        story = Story()
        if self.is_unnamed:
            story.kit("command", client="m0", command="subscribe", fields={"group": "g"})
            story.tell("answer", ok=True, ignored=["client_id"])
        story.fault("rebalance").at(4_000).request(Api.JOIN_GROUP, "m0" if alone or not self.is_unnamed else "its own")
        return Play(trace=story.end().trace, stderr={}, duration_s=RUN_S)


def in_rhythm(*, is_virtual: bool, is_unnamed: bool = False) -> tuple[Stage, float]:
    made = stage(is_virtual=is_virtual)
    measured = Measured(**{field.name: getattr(made, field.name) for field in fields(made)})
    Measured.played.clear()
    Measured.is_unnamed = is_unnamed

    async def main() -> tuple[Stage, float]:
        async with made.subject.opened():
            began = trio.current_time()
            return await measured.in_rhythm(), trio.current_time() - began

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_a_rhythm_is_measured_by_runs_beside_one_another_where_time_is_real() -> None:
    rhythm, took_s = in_rhythm(is_virtual=False)

    assert sorted(Measured.played) == sorted((case.id, False) for case in MEASURING)
    assert rhythm.rhythm == Rhythm(slowest_ms=4_000.0, after="rebalance")
    assert took_s == RUN_S


def test_the_rhythm_of_a_client_that_takes_no_id_is_measured_in_processes_of_its_own() -> None:
    rhythm, _ = in_rhythm(is_virtual=False, is_unnamed=True)

    assert sorted(Measured.played) == sorted((case.id, alone) for case in MEASURING for alone in (False, True))
    assert rhythm.rhythm == Rhythm(slowest_ms=4_000.0, after="rebalance", ignored=("client_id",))


def test_in_virtual_time_the_rhythm_is_known() -> None:
    in_rhythm(is_virtual=True)

    assert Measured.played == []
