"""A simulation's file: written, known again, refused when it is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.harness.simulation.runs import short

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.running.simulations.simulation_file import is_simulation, load, to_json
from groupproof.harness.simulation.run import Run


def test_a_file_brings_the_same_run_back_to_the_last_event(tmp_path: Path) -> None:
    run = Run(short(2, coordinator_variant="generation-negative"))
    outcome = run.go()
    path = tmp_path / "simulation.json"
    path.write_text(json.dumps(to_json(outcome, run.plan)))

    recorded = load(path)
    again = Run(recorded.simulation, recorded.plan).go()

    assert is_simulation(path)
    assert recorded.requirement == "INV-04"
    assert (again.trace_hash, again.violations) == (outcome.trace_hash, outcome.violations)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": "groupproof.schedule/1"}'])
def test_another_file_is_not_treated_as_a_simulation_s(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)

    assert not is_simulation(path)
    with pytest.raises(WrongUsage, match="no simulation's file"):
        load(path)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    assert not is_simulation(tmp_path / "none.json")
    with pytest.raises(WrongUsage, match="No such file"):
        load(tmp_path / "none.json")
