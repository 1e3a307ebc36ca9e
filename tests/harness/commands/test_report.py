from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.harness.commands.calling import Call
from tests.harness.reports.report_of import report

from groupproof.protocol.kit_release import release
from groupproof.protocol.rules.requirements import catalogue_sha256


def test_runs_are_merged_into_one_page(groupproof: Call, tmp_path: Path) -> None:
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "report.json").write_text(json.dumps(report({"leave/classic/close": ("OK", None)}, version=version)))

    called = groupproof("report", "1", "2", "--output", "both")

    assert called.code == 0
    assert called.out == "matrix: both/matrix.html\n"
    assert "leave/classic/close" in (tmp_path / "both" / "matrix.html").read_text()


@pytest.mark.parametrize(("verdict", "code", "last"), [("OK", 0, "1 of 1"), ("NON_STRICT", 1, "0 of 1")])
def test_runs_are_compared_case_by_case(groupproof: Call, tmp_path: Path, verdict: str, code: int, last: str) -> None:
    for version, came_to in (("1", "OK"), ("2", verdict)):
        (tmp_path / version).mkdir()
        (tmp_path / version / "report.json").write_text(json.dumps(report({"leave/classic/close": (came_to, None)}, version=version)))

    called = groupproof("report", "1", "2", "--differences", "--output", "both")

    assert called.code == code
    assert called.out.splitlines()[-1] == f"{last} cases have one verdict in all 2 runs"
    assert not (tmp_path / "both").exists()
    assert groupproof("report", "1", "--differences").code == 3


def test_a_folder_without_a_report_is_wrong_usage(groupproof: Call, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    assert groupproof("report", "empty").code == 3
    assert groupproof("report").code == 3


def a_shard(folder: Path, number: int, case: str, verdict: str, of: int = 2) -> str:
    made = report({case: (verdict, None)}, name="odd", version="1.2")
    made["suite"] |= {"version": release(), "catalogue_sha256": catalogue_sha256()}
    made["grade"] = "PARTIAL 1/160"
    by_name = {"level": "info", "fail_on": [], "spec": "odd@1.2", "unreached": [], "troubles": {}, "excused": {}, "stale": [], "open": []}
    made["run"]["shard"] = {"number": number, "of": of, **by_name}
    path = folder / f"shard-{number}"
    path.mkdir()
    (path / "report.json").write_text(json.dumps(made))
    return path.name


@pytest.mark.parametrize(("verdict", "code", "grade"), [("FAILED", 1, "FAILED"), ("OK", 2, "PARTIAL 2/")])
def test_the_shards_of_a_run_end_as_the_run_would_have(groupproof: Call, tmp_path: Path, verdict: str, code: int, grade: str) -> None:
    shards = [a_shard(tmp_path, 1, "leave/classic/close", "OK"), a_shard(tmp_path, 2, "heartbeat/classic/steady", verdict)]

    called = groupproof("report", *shards, "--output", "out")

    assert called.code == code
    assert "report: out/odd-1.2/report.html\nmatrix: out/matrix.html\n" in called.out
    whole = json.loads((tmp_path / "out" / "odd-1.2" / "report.json").read_text())
    assert whole["grade"].startswith(grade)
    assert [case["id"] for case in whole["cases"]] == ["heartbeat/classic/steady", "leave/classic/close"]
    assert 'href="odd-1.2/report.html"' in (tmp_path / "out" / "matrix.html").read_text()


def test_a_shard_that_is_missing_is_named_and_makes_no_full_verdict(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("report", a_shard(tmp_path, 2, "leave/classic/close", "OK", of=3))

    assert called.code == 2
    assert "not among the reports: shard 1/3, 3/3" in called.out


def test_joined_shards_are_held_against_a_baseline(groupproof: Call, tmp_path: Path) -> None:
    old = report({"leave/classic/close": ("OK", None), "heartbeat/classic/steady": ("FAILED", None), "gone/classic/case": ("OK", None)})
    shards = [a_shard(tmp_path, 1, "leave/classic/close", "NON_STRICT"), a_shard(tmp_path, 2, "heartbeat/classic/steady", "FAILED")]
    (tmp_path / "old.json").write_text(json.dumps(old))

    called = groupproof("report", *shards, "--baseline", "old.json")

    assert called.code == 1
    assert "moved leave/classic/close  OK → NON_STRICT: It did something." in called.out
    assert "vanished gone/classic/case  OK" in called.out
    assert "the run is worse than old.json: 1 moved, 1 vanished" in called.out
    assert groupproof("report", shards[0], "--baseline", shards[1]).code == 2  # known, and required cases are in the other
    (tmp_path / "old.json").write_text(json.dumps(old | {"subject": old["subject"] | {"side": "coordinator"}}))
    assert "is the report of a coordinator" in groupproof("report", *shards, "--baseline", "old.json").complaint
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "report.json").write_text(json.dumps(old))
    assert groupproof("report", "whole", "--baseline", "old.json").code == 3


def test_many_runs_make_a_history(groupproof: Call, tmp_path: Path) -> None:
    for version, verdict in (("2.0", "OK"), ("1.0", "FAILED")):
        (tmp_path / version).mkdir()
        (tmp_path / version / "report.json").write_text(json.dumps(report({"leave/classic/close": (verdict, None)}, version=version)))

    called = groupproof("report", "--history", "2.0", "1.0", "--output", "out")

    assert (called.code, called.out) == (0, "history: out/history.html\n")
    assert "FAILED → OK" in (tmp_path / "out" / "history.html").read_text()
