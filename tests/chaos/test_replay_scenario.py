from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.chaos.scenario_texts import HEAD

from groupproof.chaos.replay_scenario import case_of
from groupproof.chaos.scenarios.scenario import RunMode
from groupproof.harness.commands.base.boundary import run
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.schedule_file import load_schedule

NEVER = f"""{HEAD}
[settings_of.one]
session_timeout_ms = 100_000

[durations]
bound = {{ virtual = "1s", wire = "1s" }}

[[phase]]
name = "killed"
actions = [{{ do = "kill", who = "one" }}]
for = 1_000

[[phase]]
name = "healed"
converges_within = "bound"
members = "others"
"""


def recorded(tmp_path: Path, *words: str) -> Path:
    """Run a scenario and return its schedule."""
    run(["chaos", "run", *words, "--output", str(tmp_path / "out")])
    (plan,) = (tmp_path / "out").rglob("plan.json")
    return plan


@pytest.mark.slow
def test_a_shipped_scenario_is_judged_again_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = recorded(tmp_path, "commit-in-a-rebalance", "--members", "4")
    schedule = load_schedule(plan)
    capsys.readouterr()

    assert len(case_of(schedule, RunMode.VIRTUAL).judges) == 3
    assert schedule.coordinator is None
    assert run(["replay", str(plan)]) == 0
    assert "OK chaos/classic/commit-in-a-rebalance by groupproof 0" in capsys.readouterr().out
    assert run(["replay", "--hold", str(plan)]) == 3

    plan.write_text(json.dumps({**json.loads(plan.read_text()), "coordinator": "apache-kafka@4.1.0"}))
    assert load_schedule(plan).coordinator == "apache-kafka@4.1.0"


@pytest.mark.slow
def test_a_failure_of_one_s_own_scenario_is_reproduced_by_its_schedule_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(NEVER)
    plan = recorded(tmp_path, str(mine))
    mine.unlink()
    capsys.readouterr()

    assert load_schedule(plan).verdict is Verdict.FAILED
    assert run(["replay", str(plan)]) == 1
    assert "FAILED chaos/classic/mine (3/3) by groupproof" in (printed := capsys.readouterr().out)
    assert "reproduced, recorded was FAILED" in printed
