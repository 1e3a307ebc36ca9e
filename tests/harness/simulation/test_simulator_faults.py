"""Faults: each bites, and each is healed."""

from __future__ import annotations

import random

import pytest
from tests.harness.simulation.runs import calm, short

from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault
from groupproof.harness.simulation.run import Run, run
from groupproof.harness.simulation.settings import settled
from groupproof.harness.simulation.simulator_faults import FAULTS

AT_MS = 8_000
LASTING = [name for name, fault in FAULTS.items() if fault.heal is not None]


def _one_of(kind: str) -> ScheduledFault:
    simulation = settled(calm(), (4, 1))
    drawn = FAULTS[kind].drawn(random.Random(3), simulation, AT_MS)
    lasts_ms = 9_000 if FAULTS[kind].heal is not None else 0
    who = ("node2",) if drawn.who and drawn.who[0].startswith("node") else drawn.who
    how = {**drawn.how, "error": 3} if "error" in drawn.how else {**drawn.how, **({"callback_ms": 4_000} if "callback_ms" in drawn.how else {})}
    return ScheduledFault(at_ms=AT_MS, kind=kind, who=who, for_ms=lasts_ms, how=how)


@pytest.mark.parametrize("kind", [name for name in FAULTS if name not in ("append", "callbacks")])
def test_a_fault_changes_what_happens_and_the_group_gets_over_it(kind: str) -> None:
    without, with_fault = run(calm()), run(calm(), plan=Schedule(faults=(_one_of(kind),)))

    assert with_fault.trace_hash != without.trace_hash
    assert (with_fault.violations, dict(with_fault.injected)) == ((), {kind: 1})
    assert with_fault.converged_at_ms is not None


@pytest.mark.parametrize("kind", ["append", "callbacks"])
def test_a_fault_of_rebalances_shows_when_there_is_one(kind: str) -> None:
    leave = ScheduledFault(at_ms=AT_MS + 1_000, kind="leave", who=("m1",), for_ms=1_000)
    without, with_fault = run(calm(), plan=Schedule(faults=(leave,))), run(calm(), plan=Schedule(faults=(_one_of(kind), leave)))

    assert with_fault.violations == ()
    assert with_fault.transitions != without.transitions


@pytest.mark.parametrize("kind", LASTING)
def test_what_lasts_is_healed_at_the_end_of_its_time(kind: str) -> None:
    made = Run(calm(), Schedule(faults=(_one_of(kind),)))
    made._break_things()
    targets = made.targets

    assert made._injected == {}
    for name in targets.processes:
        for node in range(targets.brokers.count):
            path = targets.network.path(name, node)
            assert (path.slow_ms, path.silent_out, path.silent_back, path.repeats, path.is_unordered) == (0, 0, 0, 0, 0)
            assert not path.held_out
            assert not path.held_back
    assert all(targets.brokers.is_up(node) for node in range(targets.brokers.count))
    assert all(process.is_up and not process.is_frozen and not process.stalls and not process.callback_ms for process in targets.processes.values())


def test_what_is_drawn_names_members_and_brokers_that_there_are() -> None:
    simulation = settled(short(), (4, 1))
    chance = random.Random(5)
    drawn = [fault.drawn(chance, simulation, 1) for fault in FAULTS.values() for _ in range(20)]

    assert {name for fault in drawn for name in fault.who} == {"m0", "m1", "m2", "m3", "node0", "node1", "node2"}
    assert all(fault.for_ms > 0 for fault in drawn if FAULTS[fault.kind].heal is not None)


def test_every_fault_says_what_it_does() -> None:
    assert all(fault.says.endswith(".") for fault in FAULTS.values())
