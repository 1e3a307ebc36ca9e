"""Whatever happens to a program happens to one of any dialect alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.harness.simulation.runs import calm, ran
from tests.harness.toy_dialect.lease_dialect import LEASE_BROKER
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS
from tests.harness.toy_dialect.lease_simulation import LEASE_SIMULATION

from groupproof.harness.model.dialect_parts import registered
from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import OTHER_TOPIC, TOPIC


@pytest.fixture(autouse=True)
def lease() -> Iterator[None]:
    with registered(LEASE_FUNCTIONS, LEASE_SIMULATION):
        yield


def _ran(until_ms: int) -> Run:
    return ran(calm(members=2, profile=LEASE_BROKER, dialect="lease"), until_ms)


def _holders(run: Run) -> list[str]:
    return [name for name, process in run.targets.processes.items() if process.is_up and process.epoch > 0]


def test_a_program_that_crashes_holds_nothing_and_another_follows_it_when_its_session_ends() -> None:
    run = _ran(1_000)
    (first,) = _holders(run)
    run.targets.processes[first].crash()
    assert _holders(run) == []

    run.heap.run(4_000)
    assert _holders(run) == [name for name in ("m0", "m1") if name != first]


def test_a_program_that_is_frozen_does_nothing_and_continues_with_what_came_meanwhile() -> None:
    run = _ran(1_000)
    (first,) = _holders(run)
    process = run.targets.processes[first]

    assert process.freeze()
    assert not process.freeze()
    before = run.record.requests.total()
    run.heap.run(1_200)
    process.thaw()
    assert process.epoch == 1
    assert run.record.requests.total() <= before + 2


def test_a_start_of_a_program_that_runs_changes_nothing_and_a_stall_ends_with_its_last_cause() -> None:
    run = _ran(1_000)
    process = run.targets.processes["m0"]
    process.start()
    process.stall()
    process.stall()
    process.go_on()

    assert (process.is_up, process.is_wanted, process.stalls) == (True, True, 1)


def test_a_fault_that_a_dialect_does_not_have_has_not_acted() -> None:
    process = _ran(1_000).targets.processes["m0"]

    assert process.resubscribe((TOPIC, OTHER_TOPIC)) is False
    process.upgrade(("range",))
    assert not process.is_up
