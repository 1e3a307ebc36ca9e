"""A heartbeat at rest goes a short way: the run is what it is by the long way, to the last event and the last number that a law has noted."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from tests.harness.simulation.runs import calm, short
from tests.soaking import seeds

from groupproof.harness.simulation.fault_mix import drawn
from groupproof.harness.simulation.fault_schedule import Schedule
from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import Simulation
from groupproof.harness.simulation.simulated_brokers import Brokers
from groupproof.harness.simulation.simulator_faults import FAULTS
from groupproof.protocol.trace import Recorder

PROFILES = ("kafka-1.1", "kafka-2.4", "kafka-3.9", "kafka-4.1", "kafka-4.4")
ON_PATHS = ("slow", "silence", "mute", "deaf", "split", "cut-off", "repeat", "reorder", "reset")
ON_PROGRAMS = ("pause", "crash", "stall", "leave", "move", "broker-crash", "broker-pause", "append", "resubscribe")
KINDS = tuple(kind for kind, fault in FAULTS.items() if fault.dialect is None)
MIXES: tuple[Any, ...] = (tuple(FAULTS), "swarm", ON_PATHS, ON_PROGRAMS, ())


def _by_the_long_way(run: Run) -> Run:
    run.world.network.steady = None
    for node in run.world.brokers._nodes:
        node.machine._repeats, node.machine._repeating, node.machine._parking = None, {}, {}
    return run


def _left(run: Run) -> Any:
    """Return what a run leaves behind: its outcome, the broker's timers, what the laws noted, and where the members stand."""
    outcome = run.go()
    noted = getattr(run.invariants, "deadlines", None)
    machines = [node.machine._engine.timers for node in run.world.brokers._nodes]
    members = [(process.member._core.session_ms, process.member._core.requests._last_id) for process in run.world.processes.values()]
    return outcome, machines, members, run.world.brokers._tokens, None if noted is None else (noted.heard_ms, noted._asked_ms, noted._members)


def _asked(seed: int, **options: Any) -> Simulation:
    """Return a simulation whose members beat so often that faults strike many heartbeats on their way."""
    drawn = {"heartbeat_interval_ms": (300, 700, 1_900)[seed % 3], "latency_ms": (10, 60, 290)[seed // 3 % 3], "auto_commit_interval_ms": 2_000}
    return short(seed, **{**drawn, **options})


@pytest.mark.parametrize("mix", MIXES, ids=("all", "swarm", "paths", "programs", "none"))
@pytest.mark.parametrize(("profile", "dialect"), [*((profile, None) for profile in PROFILES), ("kafka-4.1", "consumer"), ("kafka-4.4", "consumer")])
def test_a_run_is_the_same_by_the_short_way_and_by_the_long_one(profile: str, dialect: str | None, mix: Any) -> None:
    for seed in seeds(2):
        asked = _asked(seed + 100 * len(profile), profile=profile, dialect=dialect, faults=mix)

        assert _left(Run(asked)) == _left(_by_the_long_way(Run(asked)))


def _dense(kind: str, asked: Simulation) -> Schedule:
    """Return a schedule in which faults of one kind come and go ten times as often as they are drawn, so that many strike a heartbeat on its way."""
    settled = Run(asked).simulation
    found = [fault for part in range(10) for fault in drawn(replace(settled, seed=100 * asked.seed + part, faults=(kind,))).happenings]
    chance = Random(asked.seed)
    return Schedule(happenings=tuple(replace(fault, for_ms=chance.randint(1, 500)) for fault in sorted(found, key=lambda fault: fault.at_ms)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_in_which_one_kind_of_fault_comes_often_is_the_same_by_both_ways(kind: str) -> None:
    for seed in seeds(3):
        asked = _asked(seed + 6, faults=(kind,), duration_ms=20_000)
        plan = _dense(kind, asked)

        assert _left(Run(asked, plan)) == _left(_by_the_long_way(Run(asked, plan)))


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What came of each heartbeat that arrived by the short way: whether it was answered so."""
    went: list[bool] = []
    repeat = Brokers.repeat

    def counting(brokers: Brokers, *arguments: Any) -> Any:
        answer = repeat(brokers, *arguments)
        went.append(answer is not None)
        return answer

    monkeypatch.setattr(Brokers, "repeat", counting)
    return went


def test_nearly_all_heartbeats_of_a_group_without_faults_go_the_short_way(repeated: list[bool]) -> None:
    outcome = Run(calm(duration_ms=120_000)).go()

    assert sum(repeated) > 0.75 * outcome.requests["Heartbeat"]


@pytest.mark.parametrize("options", [{"member_variant": "join-v3"}, {"coordinator_variant": "generation-skips-one"}])
def test_a_variant_goes_the_long_way(options: dict[str, Any], repeated: list[bool]) -> None:
    Run(calm(**options)).go()

    assert not any(repeated)


def test_who_observes_sees_every_heartbeat_go_the_long_way(repeated: list[bool]) -> None:
    run = Run(calm(), recorder=lambda clock: Recorder(clock, keeps=False))

    assert run.world.network.steady is None
    assert run.go().trace_hash == Run(calm()).go().trace_hash
    assert repeated, "the other one was not observed"
