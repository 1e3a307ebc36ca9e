from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.harness.commands.calling import Call
from tests.harness.running.museum.fake_releases import CASE, ROWS, release_of

from groupproof.harness.commands.museum import code_of
from groupproof.harness.model.museum_row import MuseumRow, RowOutcome, RowState, SideOutcome, Visit
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.subjects import client_registry
from groupproof.harness.subjects.client_registry import Candidate


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the registry have the releases of a client that does not exist; return which were asked for."""
    names: list[str] = []

    def candidate(named: str, _: object, *, profile: str, **__: object) -> Candidate:
        names.append(named)
        return release_of(Visit(named, profile))

    monkeypatch.setattr(client_registry, "candidate", candidate)
    return names


def rows_in(folder: Path, text: str = ROWS) -> Path:
    path = folder / "rows.toml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.slow
@pytest.mark.usefixtures("asked")
def test_a_bug_that_is_there_and_then_is_not_is_a_row_that_stands(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("museum", "--rows", rows_in(tmp_path), "--output", "out")

    assert called.code == 0
    for words in (
        f"STANDS fake 1.0 → 1.1  {CASE}  FAILED → OK", "https://example.org/zombie", "No JoinGroup came.", "groupproof replay out/runs/fake@1.0/cases/",
        "1 rows of 1 programs: 1 STANDS",
    ):  # fmt: skip
        assert words in called.out
    assert (tmp_path / "out" / "museum.html").is_file()


@pytest.mark.slow
def test_what_was_run_before_is_not_run_again_unless_it_is_asked_for(groupproof: Call, tmp_path: Path, asked: list[str]) -> None:
    arguments = ("museum", "--rows", rows_in(tmp_path), "--output", "out")
    first = groupproof(*arguments)
    asked.clear()

    second = groupproof(*arguments)
    assert (second.code, second.out, asked) == (0, first.out, [])
    assert "2 of 2 releases were run before" in second.err

    groupproof(*arguments, "--anew")
    assert asked == ["fake@1.0", "fake@1.1"]


@pytest.mark.slow
@pytest.mark.usefixtures("asked")
def test_a_row_that_does_not_tell_its_releases_apart_is_our_claim_that_is_wrong(groupproof: Call, tmp_path: Path) -> None:
    wrong = rows_in(tmp_path, ROWS.replace('buggy = "1.0"', 'buggy = "1.1"'))

    called = groupproof("museum", "--rows", wrong, "--output", "out", "--json")

    assert called.code == 1
    (row,) = called.json["rows"]
    assert (row["state"], row["reason"]) == ("FALLS", "1.1 is to be FAILED, and is OK")


@pytest.mark.usefixtures("asked")
def test_a_release_that_is_not_available_is_reported_and_ends_with_4(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("museum", "--rows", rows_in(tmp_path, ROWS.replace("1.1", "0.9").replace("1.0", "0.8")), "--output", "out")

    assert called.code == 4
    assert "ABSENT fake 0.8 → 0.9" in called.out
    assert "fake@0.8 is not available here" in called.out


def test_the_rows_that_ship_are_listed_without_a_run(groupproof: Call) -> None:
    called = groupproof("museum", "--list")

    assert called.code == 0
    *rows, total = called.out.splitlines()
    assert total.startswith(f"{len(rows)} rows of ")
    assert all(" → " in row for row in rows)


def test_a_pattern_that_means_no_row_is_wrong_usage(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("museum", "--rows", rows_in(tmp_path), "--only", "fak3")

    assert called.code == 3
    assert "did you mean fake" in called.complaint


def test_the_most_severe_state_decides_the_exit_code() -> None:
    row = MuseumRow(
        name="a", subject="c", buggy="1", fixed="2", case=CASE, title="t", source="https://s", verdict=Verdict.FAILED, observed="o"
    )  # fmt: skip
    sides = SideOutcome(release="1")
    stands = RowOutcome(row=row, state=RowState.STANDS, buggy=sides, fixed=sides)
    undecided, absent, falls = (replace(stands, state=state) for state in (RowState.UNDECIDED, RowState.ABSENT, RowState.FALLS))

    assert code_of([stands]) == 0
    assert code_of([stands, undecided]) == 2
    assert code_of([undecided, absent]) == 4
    assert code_of([undecided, absent, falls]) == 1
