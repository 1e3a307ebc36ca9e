from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.scenario_texts import HEAD, HEALED

from groupproof.harness.commands.base.boundary import run
from groupproof.harness.running.schedule_file import load_schedule
from groupproof.protocol.kit_release import release

QUICK = "commit-in-a-rebalance"
BAD = f'{HEAD}[[phase]]\nname = "p"\nactions = [{{ do = "kill", who = "one" }}]\nfor = 100\n[[expect]]\nsays = "They notice."\nsees = "generations"\nwho = "others"\nduring = "p"\n{HEALED}'


def called(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run(["chaos", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_scenarios_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = called(capsys, "list")
    rows = json.loads(called(capsys, "list", "--json")[1])

    assert code == 0
    assert len(out.splitlines()) == len(rows) >= 30
    assert out.splitlines()[0].startswith(rows[0]["name"])
    assert rows[0].keys() == {"name", "case", "title", "story", "members", "partitions", "requirements", "expects"}
    assert "chaos run NAME" in err


def test_a_scenario_is_run_by_the_reference_pair_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = called(capsys, "run", QUICK, "--output", str(tmp_path))
    report = json.loads((tmp_path / "report.json").read_text())
    plan = tmp_path / "cases" / "chaos" / "classic" / QUICK / "plan.json"

    assert code == 0
    assert "the reference member before the reference coordinator, in virtual time" in err
    assert "PASSED" in out
    assert [(case["id"], case["verdict"], case["time"]) for case in report["cases"]] == [(f"chaos/classic/{QUICK}", "OK", "virtual")]
    assert load_schedule(plan).case == f"chaos/classic/{QUICK}"
    assert (tmp_path / "junit.xml").is_file()


def test_the_number_of_members_is_the_user_s(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = called(capsys, "run", "--reference", QUICK, "--members", "5", "--json", "--output", str(tmp_path))
    plan = load_schedule(tmp_path / "cases" / "chaos" / "classic" / QUICK / "plan.json").plan

    assert (code, json.loads(out)["grade"]) == (0, "PASSED")
    assert len(plan.members if hasattr(plan, "members") else ()) == 5


def test_a_users_scenario_without_effect_gives_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(BAD)
    code, out, _ = called(capsys, "run", str(mine), "--output", str(tmp_path / "out"))

    assert code == 2
    assert "what the scenario brings about was not seen: They notice." in " ".join(out.split())


@pytest.mark.soak
def test_a_client_of_one_s_own_is_a_program_behind_two_hyphens(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    program = (sys.executable, "-m", "groupproof.clients.shims.reference")
    code, out, err = called(capsys, "run", QUICK, "--", *program)
    folder = tmp_path / "reports" / f"chaos-groupproof-{release()}"
    report = json.loads((folder / "report.json").read_text())
    schedule = load_schedule(folder / "cases" / "chaos" / "classic" / QUICK / "plan.json")

    assert code == 0, out
    assert f"{' '.join(program)} before groupproof, over the wire" in " ".join(err.split())
    assert [(case["verdict"], case["time"]) for case in report["cases"]] == [("OK", "wall")]
    assert (schedule.subject, schedule.coordinator) == (program, "groupproof")


def test_a_program_that_is_not_there_is_the_environment_s_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = called(capsys, "run", QUICK, "--output", str(tmp_path), "--", str(tmp_path / "none"))

    assert code == 4
    assert str(tmp_path / "none") in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run"], "name scenarios"),
        (["run", QUICK, "--faults", "swarm"], "name scenarios"),
        (["run", "comit-in-a-rebalance"], "no scenario is called 'comit-in-a-rebalance'; did you mean commit-in-a-rebalance"),
        (["run", "none.toml"], "can't read the scenario none.toml"),
        (["run", QUICK, "--reference", "--client", "java"], "leave --client, --coordinator and a program behind -- out"),
        (["run", QUICK, "--client", "kafka-pyhton"], "did you mean kafka-python"),
        (["run", QUICK, "--coordinator", "apache-kafca"], "apache-kafka"),
        (["run", QUICK, "--members", "1"], "--members"),
        (["run", QUICK, "--reference", "--", "python", "shim.py"], "leave --client, --coordinator and a program behind -- out"),
        (["run", QUICK, "--client", "java", "--", "python", "shim.py"], "name the client either by --client or by a program behind --"),
        (["run", QUICK, "--"], "there is nothing after --"),
        (["rum"], "no command is called 'rum'; did you mean run"),
    ],
)
def test_wrong_usage_is_reported_in_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = called(capsys, *words)

    assert code == 3
    assert message in err.splitlines()[-1]
