from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.harness.commands.calling import Call
from tests.harness.reports.report_of import report

from groupproof.harness.judging.summary.expectations import load


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.json").write_text(json.dumps(report({"leave/classic/close": ("FAILED", "aaaaaaaaaaaa")})))
    return tmp_path / "out"


def test_new_failures_are_added_with_their_reason(groupproof: Call, run: Path, tmp_path: Path) -> None:
    called = groupproof("expect", "update", run, "--file", "known.toml", "--reason", "never says goodbye", "--findings", "docs/findings/odd-1.md")

    assert called.code == 0
    assert called.out.splitlines() == ["added leave/classic/close: It did something.", "wrote known.toml"]
    (failure,) = load(tmp_path / "known.toml").failures
    assert (failure.case, failure.fingerprint, failure.reason, failure.source) == (
        "leave/classic/close",
        "aaaaaaaaaaaa",
        "never says goodbye",
        "docs/findings/odd-1.md",
    )
    assert groupproof("expect", "update", run, "--file", "known.toml").out == "known.toml is up to date\n"


def test_a_dry_run_writes_nothing(groupproof: Call, run: Path, tmp_path: Path) -> None:
    called = groupproof("expect", "update", run, "--file", "known.toml", "--url", "https://example.org/1", "--dry-run")

    assert called.out == "added leave/classic/close: It did something.\n"
    assert not (tmp_path / "known.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out", "--file", "known.toml"], "give --url or --findings"),
        (["out", "--file", "known.toml", "--url", "u", "--findings", "f"], "either --url or --findings"),
        (["nowhere", "--file", "known.toml"], "name the folder that certify wrote"),
        (["out", "--url", "u"], "odd is not registered"),
    ],
)
def test_what_is_missing_is_wrong_usage(arguments: list[str], message: str, groupproof: Call, run: Path) -> None:
    called = groupproof("expect", "update", *arguments)

    assert called.code == 3
    assert message in called.complaint


def test_a_registered_coordinator_has_a_file_too(groupproof: Call, tmp_path: Path) -> None:
    run = report({"leave/classic/close": ("FAILED", "aaaaaaaaaaaa")}, name="kfake")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.json").write_text(json.dumps({**run, "subject": {**run["subject"], "side": "coordinator"}}))

    called = groupproof("expect", "update", "out", "--url", "https://example.org/1", "--dry-run")

    assert called.out.splitlines()[-1] == "added leave/classic/close: It did something."
