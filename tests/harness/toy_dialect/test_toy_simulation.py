"""The simulator runs the toy dialect: its members, its invariant and its planted bug come with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.harness.commands.calling import Call
from tests.harness.toy_dialect.lease_dialect import LEASE_BROKER
from tests.harness.toy_dialect.lease_functions import LENDS_TWICE

from groupproof.harness.simulation.run import run
from groupproof.harness.simulation.settings import Outcome, Simulation
from groupproof.protocol.trace import Recorder


def _ran(seed: int, *, variant: str | None = None) -> Outcome:
    simulation = Simulation(
        seed=seed, members=4, duration_ms=60_000, profile=LEASE_BROKER, dialect="lease", session_timeout_ms=10_000, coordinator_variant=variant
    )
    return run(simulation)


@pytest.mark.parametrize("seed", range(1, 9))
def test_its_members_settle_after_any_faults(seed: int) -> None:
    outcome = _ran(seed)

    assert outcome.violations == ()
    assert outcome.converged_at_ms is not None
    assert outcome.requests["Lease"] > 100
    assert {before for _, _, before, *_ in outcome.transitions} <= {"", "Free", "Held"}


def test_the_same_seed_gives_the_same_run() -> None:
    assert _ran(3).trace_hash == _ran(3).trace_hash != _ran(4).trace_hash


def test_its_invariant_is_broken_by_its_planted_bug_which_goes_by_its_name() -> None:
    broken = [outcome.violations[0].observed for seed in range(1, 5) if (outcome := _ran(seed, variant=LENDS_TWICE.name)).violations]

    assert broken
    assert all("was given to" in violation for violation in broken)


def test_its_trace_tells_epochs_and_timers() -> None:
    recorders: list[Recorder] = []

    def recorder(now_ns: Callable[[], int]) -> Recorder:
        recorders.append(Recorder(now_ns, clock="virtual"))
        return recorders[-1]

    run(Simulation(seed=1, members=4, duration_ms=60_000, profile=LEASE_BROKER, session_timeout_ms=10_000, dialect="lease"), recorder=recorder)

    trace = recorders[0].trace
    assert {obs.api for obs in trace if obs.kind == "request"} == {"ShareGroupHeartbeat"}
    assert max(obs.member_epoch or 0 for obs in trace if obs.kind == "response") > 1
    assert {obs.state_after for obs in trace if obs.kind == "transition"} >= {"Free", "Held"}


def test_the_command_line_simulates_it(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof(
        "simulate", "--seed", "2", "--members", "3", "--duration", "20s", "--profile", LEASE_BROKER, "--dialect", "lease", "--session-timeout", "10s"
    )

    assert called.code == 0, called.err
    assert "Lease" in called.out
