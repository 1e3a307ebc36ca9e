from __future__ import annotations

import json
from pathlib import Path

import matrix
import pytest
from tests.harness.reports.report_of import report
from tests.harness.reports.test_matrix_file import a_run

CASE = "leave/classic/close"
PAGE = "# Clients\n\n<!-- printed by make docs -->\n\nold\n<!-- end -->\n\n<!-- partial grades, printed by make docs -->\n\n<!-- end -->\n\nafter\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "matrix"
    made.mkdir()
    (made / "README.md").write_text(PAGE)
    return made


def a_report(tmp_path: Path, name: str, verdict: str = "OK", version: str = "1.0") -> str:
    made = tmp_path / f"{name}-{version}"
    made.mkdir(exist_ok=True)
    (made / "report.json").write_text(json.dumps(report({CASE: (verdict, None)}, name=name, version=version)))
    return str(made)


def test_reports_are_added_and_the_page_shows_the_newest_of_each(tmp_path: Path, folder: Path) -> None:
    assert matrix.main([a_report(tmp_path, "a", "FAILED", "1.0")], folder) == 0
    assert matrix.main([a_report(tmp_path, "a", "OK", "1.1"), a_report(tmp_path, "b"), str(tmp_path / "no-report")], folder) == 0

    assert [(run["subject"]["name"], run["subject"]["version"]) for run in matrix.published(folder)] == [("a", "1.0"), ("a", "1.1"), ("b", "1.0")]
    page = (folder / "README.md").read_text()
    assert "| a | 1.1 |" in page
    assert "| a | 1.0 |" not in page
    assert "old" not in page
    assert page.endswith("after\n")
    assert "a 1.1" in (folder / "matrix.svg").read_text()


def test_a_client_of_two_dialects_has_a_line_for_each(tmp_path: Path, folder: Path) -> None:
    both = a_report(tmp_path, "a")
    made = json.loads(Path(both, "report.json").read_text())
    part = {"grade": "PASSED", "totals": made["totals"]}
    made["dialects"] = {"classic": part, "consumer": {**part, "grade": "FAILED"}}
    Path(both, "report.json").write_text(json.dumps(made))

    matrix.main([both, a_report(tmp_path, "b")], folder)

    lines = (folder / "README.md").read_text().splitlines()
    assert [line.split(" | ")[3:5] for line in lines if line.startswith("| a ")] == [["classic", "PASSED"], ["consumer", "FAILED"]]
    assert [line.split(" | ")[3] for line in lines if line.startswith("| b ")] == ["classic"]


def test_a_partial_grade_is_reported_with_what_it_lacks(tmp_path: Path, folder: Path) -> None:
    partial = a_report(tmp_path, "a", "UNIMPLEMENTED")
    made = json.loads(Path(partial, "report.json").read_text())
    Path(partial, "report.json").write_text(json.dumps(made | {"grade": "PARTIAL 0/1"}))

    matrix.main([partial, a_report(tmp_path, "b")], folder)

    page = (folder / "README.md").read_text()
    assert f"<!-- partial grades, printed by make docs -->\n\n- a: 1 case is UNIMPLEMENTED (It did something): {CASE}\n\n<!-- end -->" in page
    matrix.main([a_report(tmp_path, "a")], folder)
    assert "UNIMPLEMENTED (" not in (folder / "README.md").read_text()


def test_the_reference_and_what_was_interrupted_are_not_published(tmp_path: Path, folder: Path) -> None:
    half = a_report(tmp_path, "half")
    made = json.loads(Path(half, "report.json").read_text())
    made["run"]["interrupted"] = True
    Path(half, "report.json").write_text(json.dumps(made))

    matrix.main([half, a_report(tmp_path, "groupproof"), a_report(tmp_path, "b")], folder)

    assert [run["subject"]["name"] for run in matrix.published(folder)] == ["b"]


@pytest.mark.parametrize("verdict", ["INCONCLUSIVE", "BROKEN"])
def test_a_run_without_a_verdict_on_some_case_is_left_out_and_said_to_be(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str], verdict: str
) -> None:
    matrix.main([a_report(tmp_path, "a", verdict, "1.1"), a_report(tmp_path, "a", "FAILED", "1.0")], folder)

    assert [run["subject"]["version"] for run in matrix.published(folder)] == ["1.0"]
    assert capsys.readouterr().err == "a 1.1 is left out: 1 cases without a verdict\n"


def test_a_page_that_is_not_current_is_named(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matrix.main([a_report(tmp_path, "a")], folder)
    assert matrix.main(["--check"], folder) == 0
    (folder / "README.md").write_text(PAGE)

    assert matrix.main(["--check"], folder) == 1
    assert "README.md is not current; run: make docs" in capsys.readouterr().err


def test_the_published_matrix_is_read_and_names_commands_of_registered_clients() -> None:
    runs = matrix.published(matrix.FOLDER)

    assert len(runs) >= 5
    assert all(run["run"]["command"][:3] == ["groupproof", "certify", "client"] for run in runs)
    assert not [run for run in runs if not run["cases"]]


def test_of_a_release_the_last_run_is_kept_in_the_place_of_the_first() -> None:
    first, other, last = a_run("1", started="2026-11-20T10:00:00+00:00"), a_run("2"), a_run("1", "FAILED")

    assert matrix.latest_of_a_release([first, other, last]) == [last, other]
    assert matrix.latest_of_a_release([last, other, first]) == [last, other]


def test_another_profile_is_another_run() -> None:
    one, other = a_run(), a_run()
    other["suite"] = other["suite"] | {"profile": "kafka-1.1"}

    assert matrix.latest_of_a_release([one, other]) == [one, other]
