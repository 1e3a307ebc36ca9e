"""A run: the same from the same seed, wherever it is done; the reference breaks no law; what is broken is healed, and settles."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.harness.simulation.runs import calm, short
from tests.soaking import seeds

from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault
from groupproof.harness.simulation.run import Run, run
from groupproof.harness.simulation.settings import Simulation
from groupproof.protocol.rules import profiles

HASHES = """
import sys
from groupproof.harness.simulation.run import run
from groupproof.harness.simulation.settings import Simulation
first, last, duration_ms = map(int, sys.argv[1:])
for seed in range(first, last):
    print(run(Simulation(seed=seed, duration_ms=duration_ms, members=6)).trace_hash)
"""
PARTS = range(10)
"""In which the long forms are cut, so that they run side by side."""


def _hashes(first: int, last: int, duration_ms: int, hash_seed: str) -> list[str]:
    words = [sys.executable, "-c", HASHES, str(first), str(last), str(duration_ms)]
    process = subprocess.run(words, env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True)
    return process.stdout.split()


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    assert run(short(7)) == run(short(7))
    assert run(short(7)).trace_hash != run(short(8)).trace_hash


UPGRADE = ("upgrade", "crash", "silence", "reset", "move", "append", "pause", "leave")


@pytest.mark.parametrize("seed", [0, 1, 2, pytest.param(range(3, 300), marks=pytest.mark.soak)])
def test_a_group_goes_from_eager_to_cooperative_by_two_rolling_bounces_under_faults(seed: int | range) -> None:
    for number in [seed] if isinstance(seed, int) else seed:
        made = Run(short(number, faults=UPGRADE, assignors=("range",), duration_ms=120_000))
        outcome = made.go()

        assert outcome.violations == ()
        assert outcome.injected["upgrade"] >= 4
        assert made.invariants.generations.current.protocol == "cooperative-sticky"


@pytest.mark.slow
def test_three_processes_with_different_hash_seeds_run_the_same_events() -> None:
    first, *others = [_hashes(0, 5, 30_000, hash_seed) for hash_seed in ("0", "1", "4711")]

    assert len(set(first)) == 5
    assert others == [first, first]


@pytest.mark.soak
@pytest.mark.parametrize("part", PARTS)
def test_a_thousand_seeds_give_the_same_hashes_in_three_processes(part: int) -> None:
    asked = seeds(100, part=part)
    first, *others = [_hashes(asked.start, asked.stop, 120_000, hash_seed) for hash_seed in ("0", "1", "4711")]

    assert len(set(first)) == len(asked)
    assert others == [first, first]


@pytest.mark.parametrize("profile", profiles())
def test_the_reference_breaks_no_invariant_in_any_release(profile: str) -> None:
    outcomes = [run(short(seed, profile=profile)) for seed in range(3)]

    assert [outcome.violations for outcome in outcomes] == [()] * 3
    assert all(outcome.converged_at_ms is not None and outcome.generations for outcome in outcomes)


@pytest.mark.soak
@pytest.mark.parametrize("part", PARTS)
def test_the_reference_breaks_no_invariant_over_thousands_of_seeds(part: int) -> None:
    broken = {
        seed: found for seed in seeds(300, part=part) if (found := run(Simulation(seed=seed, profile=profiles()[seed % len(profiles())])).violations)
    }

    assert broken == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "seed"),
    [
        ("kafka-1.1", 17),
        ("kafka-1.1", 28),
        ("kafka-2.3", 12),
        ("kafka-2.3", 1742027544),
        ("kafka-2.3", 1742028996),
        ("kafka-2.4", 12),
        ("kafka-2.4", 1742028843),
        ("kafka-2.5", 1742028008),
        ("kafka-2.8", 1742027901),
        ("kafka-3.7-new", 1742027224),
    ],
    ids=[
        "KAFKA-7196",
        "KAFKA-7196-at-once",
        "KAFKA-9801-leader",
        "KAFKA-9801-leader-joins-again",
        "KAFKA-9801-first-answer-lost",
        "KAFKA-9801-follower",
        "KAFKA-9752",
        "KIP-814-after-a-move",
        "KIP-814",
        "parked-requests-forgotten",
    ],
)
def test_what_a_release_itself_did_wrong_breaks_no_invariant_of_its_profile(profile: str, seed: int) -> None:
    assert run(Simulation(seed=seed, profile=profile)).violations == ()


def test_the_sync_group_of_a_member_that_leaves_on_another_connection_needs_no_answer() -> None:
    """Its connection was reset while the SyncGroup was parked; the new connection brings the LeaveGroup (INV-08)."""
    assert run(Simulation(seed=1742028414, profile="kafka-3.9-new")).violations == ()


def test_without_faults_a_group_forms_once_and_stays() -> None:
    outcome = run(calm())

    assert (outcome.generations, outcome.violations, dict(outcome.injected)) == (1, (), {})
    assert outcome.converged_at_ms == outcome.simulation.duration_ms
    assert [after for _, _, _, after, *_ in outcome.transitions] == ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable"]


def test_a_plan_takes_the_place_of_what_would_be_drawn() -> None:
    plan = Schedule(faults=(ScheduledFault(at_ms=9_000, kind="reset", who=("m0",)),))

    assert dict(run(short(7), plan=plan).injected) == {"reset": 1}
    assert run(short(7), plan=Schedule()).injected == {}
    assert len(Run(short(7, duration_ms=300_000)).plan) > 0


def test_what_still_lasts_at_the_end_is_healed_before_the_group_has_to_settle() -> None:
    endless = ScheduledFault(at_ms=9_000, kind="split", who=("m0", "m1"), for_ms=10**9)
    outcome = run(calm(), plan=Schedule(faults=(endless,)))

    assert outcome.violations == ()
    assert outcome.converged_at_ms is not None
    assert outcome.converged_at_ms > outcome.simulation.duration_ms


def test_a_run_ends_with_its_first_violation() -> None:
    outcome = run(calm(coordinator_variant="generation-negative"))

    assert len(outcome.violations) == 1
    assert outcome.virtual_ms == outcome.violations[0].at_ms < outcome.simulation.duration_ms


def test_a_member_that_was_silent_up_to_the_healing_may_be_evicted_after_it() -> None:
    outcome = run(Simulation(seed=526, members=5, duration_ms=150_000))

    assert outcome.violations == ()
    assert any(at_ms > 150_000 and rule.startswith("SessionEnd/") for at_ms, *_, rule in outcome.transitions)
