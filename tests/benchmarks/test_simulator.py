"""What the simulator's benchmark measures is one scenario on both engines; in the long form, the aims themselves."""

from __future__ import annotations

import pytest
from tests.benchmarks.simulator import MIXES, Mix, build_of, dialects, fast, many, pair


@pytest.mark.slow
def test_both_engines_are_asked_the_same_in_the_benchmark_s_scenario() -> None:
    rates = pair(members=4, seconds=60, rounds=1)

    assert rates.heap_requests == pytest.approx(rates.trio_requests, abs=2), "a heartbeat more or less at the end"


@pytest.mark.parametrize("mix", MIXES, ids=lambda mix: mix.name)
def test_both_dialects_are_measured_in_turns(mix: Mix) -> None:
    ratio = dialects(2, mix, seeds=1, duration_ms=10_000, rounds=1)

    assert min(ratio.by_second, ratio.by_request, *ratio.requests) > 0


def test_the_build_is_recognised_by_the_machines_file() -> None:
    assert (build_of("/lib/coordinator.py"), build_of("/lib/coordinator.cpython-311-x86_64-linux-gnu.so")) == ("pure", "compiled")


@pytest.mark.soak
def test_the_simulator_is_many_times_as_fast_as_the_trio_pair() -> None:
    assert pair().ratio > 7, "the aim is 10, which a busy machine blurs"


@pytest.mark.soak
@pytest.mark.parametrize(("members", "seeds", "duration_ms", "aim"), [(10, 5, 1_200_000, 5_000), (100, 3, 300_000, 25)])
def test_a_second_holds_so_much_virtual_time_with_faults_and_invariants(members: int, seeds: int, duration_ms: int, aim: int) -> None:
    assert fast(members, seeds=seeds, duration_ms=duration_ms)[0] >= aim


@pytest.mark.soak
def test_ten_thousand_members_form_a_group_and_survive_a_restart_in_ten_batches() -> None:
    outcome, _ = many(10_000)

    assert (outcome.violations, outcome.converged_at_ms is not None) == ((), True)
    assert outcome.generations == 21, "one to form, and one for each batch that leaves, one for each that comes back"
