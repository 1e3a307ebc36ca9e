"""`groupproof chaos datalink`: what is listed, what holds, and what is told."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from groupproof.chaos.relatives.datalink_command import command
from groupproof.chaos.relatives.datalink_scenarios import SCENARIOS, Verdict
from groupproof.harness.model.errors import WrongUsage


def test_without_a_name_they_are_listed_with_what_is_at_stake() -> None:
    called = CliRunner().invoke(command, [])

    assert len(called.output.splitlines()) == len(SCENARIOS)
    assert "MGR-33" in called.output


def test_one_is_run_with_several_seeds_and_printed_as_json() -> None:
    called = CliRunner().invoke(command, ["worker-cut-off", "--seeds", "1..2", "--json"], standalone_mode=False)
    rows = json.loads(called.stdout)

    assert called.return_value == 0
    assert [(row["scenario"], row["seed"], row["broken"]) for row in rows] == [("worker-cut-off", 1, []), ("worker-cut-off", 2, [])]
    assert min(row["longest_overlap_ms"] for row in rows) > 10_000, "it goes on running what others have been given"


def test_a_name_that_is_none_is_answered_with_the_nearest() -> None:
    called = CliRunner().invoke(command, ["manager-switches"], standalone_mode=False)

    assert isinstance(called.exception, WrongUsage)
    assert "manager-switch" in str(called.exception)


def test_something_that_does_not_hold_is_said_and_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = SCENARIOS[1]
    broken = Verdict(scenario=scenario.name, seed=1, broken=("task t0 runs on nobody",), lost_ms=0, overlap_ms=0, longest_overlap_ms=0)
    monkeypatch.setattr(type(scenario), "run", lambda *_: broken)

    called = CliRunner().invoke(command, [scenario.name, "--seeds", "1..1"], standalone_mode=False)

    assert called.return_value == 1
    assert "BROKEN no-manager seed 1: task t0 runs on nobody" in called.output
