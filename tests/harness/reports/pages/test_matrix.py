from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from tests.harness.reports.making import a_case, a_result, summary_of

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.reports.meanings import VERDICTS
from groupproof.harness.reports.pages.matrix import read_columns, rows_of, write_matrix
from groupproof.harness.reports.report_writer import write_report

FIRST, SECOND = a_case("join/classic/first"), a_case("sync/classic/second", title="A <second>.")


def report_in(folder: Path, *results: CaseResult) -> Path:
    write_report(summary_of(*results), folder)
    return folder


@pytest.fixture
def both(tmp_path: Path) -> list[Path]:
    one = report_in(tmp_path / "one", a_result(case=FIRST), a_result(Verdict.FAILED, SECOND, observed='It "left" <b>.'))
    other = report_in(tmp_path / "two words", a_result(case=FIRST, goodbye=Goodbye.UNCLEAN))
    return [one, other]


def test_cases_stand_against_subjects(both: list[Path], tmp_path: Path) -> None:
    rows = rows_of(read_columns(both, tmp_path))

    assert [(row.id, [cell and cell.verdict for cell in row.cells]) for row in rows] == [
        (FIRST.id, [Verdict.OK, Verdict.OK]),
        (SECOND.id, [Verdict.FAILED, None]),
    ]
    assert [row.differs for row in rows] == [False, False]


def test_a_case_that_subjects_differ_in_says_so(tmp_path: Path) -> None:
    folders = [report_in(tmp_path / verdict.value, a_result(verdict, FIRST)) for verdict in (Verdict.OK, Verdict.NON_STRICT)]

    (row,) = rows_of(read_columns(folders, tmp_path))

    assert row.differs
    assert row.verdicts == ["NON_STRICT", "OK"]


def test_cases_of_an_area_stand_together_whoever_met_them(tmp_path: Path) -> None:
    one = report_in(tmp_path / "one", a_result(case=FIRST), a_result(case=SECOND))
    other = report_in(tmp_path / "two", a_result(case=a_case("join/classic/third")))

    assert [row.id for row in rows_of(read_columns([one, other], tmp_path))] == [FIRST.id, "join/classic/third", SECOND.id]


def test_the_page_links_into_the_reports_beside_it(both: list[Path], tmp_path: Path) -> None:
    write_matrix(both, tmp_path / "merged")

    made = (tmp_path / "merged" / "matrix.html").read_text(encoding="utf-8")
    assert f'href="../one/report.html#case={FIRST.id}"' in made
    assert 'href="../two words/report.html"' in made
    assert unescape(re.sub(r"<[^>]+>", " ", made)).count("UNCLEAN") >= 2


def test_the_page_explains_its_words_and_loads_nothing(both: list[Path], tmp_path: Path) -> None:
    write_matrix(both, tmp_path)

    made = (tmp_path / "matrix.html").read_text(encoding="utf-8")
    assert all(verdict.value in made and meaning in made for verdict, meaning in VERDICTS.items())
    assert "default-src 'none'" in made
    assert not re.search(r"\s(src|srcset)=", made)
    assert 'data-filter="same"' in made
    assert "It &#34;left&#34; &lt;b&gt;." in made


def test_subjects_of_one_name_are_distinguished_by_their_folders(tmp_path: Path) -> None:
    folders = [report_in(tmp_path / name, a_result(case=FIRST)) for name in ("monday", "tuesday")]

    assert [column.name for column in read_columns(folders, tmp_path)] == [f"example 1.2 ({folder})" for folder in folders]


def test_a_report_without_its_page_has_no_link(both: list[Path], tmp_path: Path) -> None:
    (both[0] / "report.html").unlink()

    assert [column.link for column in read_columns([both[0] / "report.json"], tmp_path)] == [None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "can't read .*No such file or directory; name folders that a run has written"),
        ("{", "is no JSON"),
        ('{"schema": "groupproof.report/9"}', "is no report of a version that this one reads"),
        ("[]", "is no report of a version that this one reads"),
    ],
)
def test_what_is_no_report_is_wrong_usage(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "report.json").write_text(content)

    with pytest.raises(WrongUsage, match=message) as exception_info:
        write_matrix([tmp_path], tmp_path)
    assert "\n" not in str(exception_info.value)


def test_no_report_at_all_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="no reports to merge"):
        write_matrix([], tmp_path)


def test_an_unwritable_folder_is_the_environments_fault(both: list[Path], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(BrokenEnvironment, match="choose another --output"):
        write_matrix(both, tmp_path / "file")


def test_runs_that_were_judged_differently_are_pointed_out(both: list[Path], tmp_path: Path) -> None:
    report = json.loads((both[0] / "report.json").read_text())
    report["suite"] |= {"catalogue_sha256": "cd" * 32, "profile": "kafka-1.1"}
    (both[0] / "report.json").write_text(json.dumps(report))

    write_matrix(both, tmp_path)

    made = (tmp_path / "matrix.html").read_text(encoding="utf-8")
    assert "judged by different catalogues" in made
    assert "met different profiles" in made


def test_runs_of_both_sides_can_be_distinguished_and_filtered(both: list[Path], tmp_path: Path) -> None:
    made = report_in(tmp_path / "broker", a_result(case=a_case("join/classic/asked")))
    entry = json.loads((made / "report.json").read_text())
    entry["subject"] |= {"side": "coordinator", "name": "a broker"}
    (made / "report.json").write_text(json.dumps(entry))

    write_matrix([*both, made], tmp_path / "merged")

    page = (tmp_path / "merged" / "matrix.html").read_text()
    assert [(row.id, row.side) for row in rows_of(read_columns([*both, made], tmp_path))] == [
        (FIRST.id, "client"), ("join/classic/asked", "coordinator"), (SECOND.id, "client"),
    ]  # fmt: skip
    assert 'data-filter="side"' in page
    assert page.count('data-side="coordinator"') == 1
    write_matrix(both, tmp_path / "clients")
    assert 'data-filter="side"' not in (tmp_path / "clients" / "matrix.html").read_text()


def test_the_filters_are_read_out_of_either_part_of_the_url(both: list[Path], tmp_path: Path) -> None:
    write_matrix(both, tmp_path / "merged")

    script = (tmp_path / "merged" / "matrix.html").read_text()
    assert "location.hash.length > 1 ? location.hash.slice(1) : location.search.slice(1)" in unescape(script)
    assert {"verdict", "area", "level", "same", "q"} <= {*re.findall(r'data-filter="(\w+)"', script), *re.findall(r"data-(verdict)=", script)}


def test_a_cell_can_be_played_again_by_the_command_of_its_column(both: list[Path], tmp_path: Path) -> None:
    write_matrix(both, tmp_path / "merged")

    made = unescape((tmp_path / "merged" / "matrix.html").read_text(encoding="utf-8"))
    columns = re.findall(r'data-command="([^"]+)"', made)
    assert len(columns) == 2
    assert all(column.startswith("groupproof certify client ") and "--seed" in column for column in columns)
    assert sorted(set(re.findall(r'data-cell="(\d+)"', made))) == ["0", "1"]
    assert "--only ${row.dataset.item}" in made


def test_the_matrix_is_there_for_programs_and_makes_the_same_page_without_links(both: list[Path], tmp_path: Path) -> None:
    write_matrix(both, tmp_path / "merged")
    write_matrix([tmp_path / "merged" / "matrix.json"], tmp_path / "again")

    again = rows_of(read_columns([tmp_path / "merged" / "matrix.json"], tmp_path))
    assert [(row.id, [cell and cell.verdict for cell in row.cells]) for row in again] == [
        (row.id, [cell and cell.verdict for cell in row.cells]) for row in rows_of(read_columns(both, tmp_path))
    ]
    assert "report.html" not in (tmp_path / "again" / "matrix.html").read_text(encoding="utf-8")


def test_of_each_subject_the_newest_release_alone_is_shown(both: list[Path], tmp_path: Path) -> None:
    older = json.loads((both[0] / "report.json").read_text())
    older["subject"]["version"] = "1.1"
    (both[0] / "report.json").write_text(json.dumps(older))

    assert [column.name for column in read_columns(both, tmp_path, newest=True)] == ["example 1.2"]
