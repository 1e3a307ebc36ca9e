from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.harness.reports.report_of import report

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.reports.matrix_file import age_of, matrix_json, newest_of_a_subject, read_runs
from groupproof.protocol.schemas import validate

CASE = "leave/classic/close"


def a_run(version: str = "1.2", verdict: str = "OK", started: str = "2026-11-22T10:00:00+00:00", **changes: Any) -> dict[str, Any]:
    made = report({CASE: (verdict, None)}, version=version)
    made["run"] |= {"started": started}
    return made | changes


def test_a_matrix_is_read_as_the_reports_that_it_was_made_of(tmp_path: Path) -> None:
    made = [a_run("1"), a_run("2", "FAILED")]
    value = matrix_json(made)
    (tmp_path / "matrix.json").write_text(json.dumps(value))

    validate("matrix", value)
    again = read_runs(tmp_path / "matrix.json")
    assert matrix_json(again) == value
    assert [[(case["id"], case["verdict"], case["observed"]) for case in run["cases"]] for run in again] == [
        [(CASE, "OK", "")],
        [(CASE, "FAILED", made[1]["cases"][0]["observed"])],
    ]


def test_a_run_of_a_folder_is_its_report(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(json.dumps(a_run()))

    assert read_runs(tmp_path) == read_runs(tmp_path / "report.json") == [a_run()]


def test_excused_failures_and_an_unclean_close_stay() -> None:
    made = a_run(verdict="EXCUSED")
    made["cases"][0] |= {"goodbye": "UNCLEAN", "excused": {"verdict": "FAILED", "reason": "known", "source": "docs/findings/x.md"}}

    kept = matrix_json([made])["runs"][0]["verdicts"][CASE]
    assert (kept["goodbye"], kept["excused"]["verdict"]) == ("UNCLEAN", "FAILED")


def test_the_reason_of_an_unimplemented_case_stays() -> None:
    kept = matrix_json([a_run(verdict="UNIMPLEMENTED")])["runs"][0]["verdicts"][CASE]

    assert kept == {"verdict": "UNIMPLEMENTED", "observed": "It did something."}


def test_a_matrix_of_another_version_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "matrix.json").write_text('{"schema": "groupproof.matrix/9"}')

    with pytest.raises(WrongUsage, match=r"is no matrix of a version that this one reads"):
        read_runs(tmp_path / "matrix.json")


def test_the_newest_of_a_subject_is_by_release_not_by_spelling() -> None:
    old, new = a_run("0.9"), a_run("0.10")

    assert newest_of_a_subject([new, old]) == [new]
    assert sorted([a_run("nightly"), new, old], key=age_of)[:2] == [old, new]
