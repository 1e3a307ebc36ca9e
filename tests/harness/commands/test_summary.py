from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness.commands.calling import Call
from tests.harness.reports.report_of import report


@pytest.fixture(autouse=True)
def _no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def one(tmp_path: Path) -> str:
    (tmp_path / "report.json").write_text(json.dumps(report({"join/classic/a": ("OK", None)})))
    return "report.json"


def test_it_is_printed_and_appended_where_asked(groupproof: Call, one: str, tmp_path: Path) -> None:
    (tmp_path / "comment.md").write_text("before\n")

    called = groupproof("summary", one, "--append", "comment.md")

    assert called.code == 0
    assert called.out.startswith("### odd 1.2")
    assert (tmp_path / "comment.md").read_text() == "before\n" + called.out


def test_a_step_of_github_has_it_in_its_summary_unasked(groupproof: Call, one: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))

    assert groupproof("summary", one).out == (tmp_path / "step.md").read_text()


@pytest.mark.slow
def test_output_that_goes_to_the_steps_summary_already_is_there_once(one: str, tmp_path: Path) -> None:
    program = "import sys; from groupproof.harness.commands.base.boundary import run; sys.exit(run(['summary', 'report.json']))"
    with (tmp_path / "step.md").open("a") as step:
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, stdout=step, env={"GITHUB_STEP_SUMMARY": str(tmp_path / "step.md")}, check=False
        )

    assert done.returncode == 0
    assert (tmp_path / "step.md").read_text().count("### odd 1.2") == 1


def test_what_cannot_be_read_or_written_is_reported(groupproof: Call, one: str) -> None:
    assert groupproof("summary", "nowhere").code == 3
    assert groupproof("summary").code == 3
    called = groupproof("summary", one, "--append", "no/such/folder.md")
    assert called.code == 4
    assert "name another file with --append" in called.complaint
