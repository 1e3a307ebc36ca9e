"""What is told of simulations: times as people write them, lines that replay, replays that say whether they came out the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupproof.harness.commands.work.simulations import BROKEN, one, replay_line, replayed
from groupproof.harness.simulation.fault_schedule import Schedule
from groupproof.harness.simulation.settings import Simulation, settled

QUICK = Simulation(seed=2, members=3, duration_ms=15_000, session_timeout_ms=6_000, max_poll_interval_ms=10_000, faults=())


def test_a_replay_line_tells_every_setting() -> None:
    line = replay_line(settled(Simulation(seed=7, members=4, faults=("crash", "move"), coordinator_variant="generation-stays"), (4, 1)))

    assert line == (
        "groupproof simulate --seed 7 --members 4 --duration 600000ms --profile kafka-4.1 --faults crash,move --brokers 3 --static 0 --assignor range "
        "--session-timeout 45000ms --max-poll-interval 300000ms --coordinator-variant generation-stays"
    )


def test_without_faults_a_replay_line_says_none() -> None:
    assert "--faults none" in replay_line(settled(QUICK, (4, 1)))


@pytest.mark.parametrize(("recorded", "variant", "code", "message"), [
    ("INV-04", "generation-negative", BROKEN, "reproduced: "), ("INV-04", None, 0, "not reproduced: "), (None, None, 0, ""),
])  # fmt: skip
def test_a_replay_says_whether_it_came_out_as_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], recorded: str | None, variant: str | None, code: int, message: str
) -> None:
    simulation = {**QUICK.to_json(), "coordinator_variant": variant}
    violations = [{"requirement": recorded, "at_ms": 1, "what": ""}] if recorded else []
    file = tmp_path / "simulation.json"
    file.write_text(json.dumps({"schema": "groupproof.simulation/1", "simulation": simulation, "violations": violations, "happenings": []}))

    assert replayed(file, None, "simulator", as_json=False) == code
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(message)


def test_reported_times_are_written_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    one(Simulation.from_json({**QUICK.to_json(), "duration_ms": 3_700_000}), Schedule(), None, as_json=False)

    text = capsys.readouterr().out
    assert "1 h 1 min of virtual time" in text
    assert "settled 0 ms after everything was healed" in text
