"""The museum's rows on a page that people read: printed from the rows, and kept current."""

from __future__ import annotations

import museum
import pytest

from groupproof.harness.model.museum_row import MuseumRow
from groupproof.harness.model.verdicts import Verdict

STALE = f"Before.\n\n{museum.BEGINS}| printed long ago |\n{museum.ENDS}\nAfter.\n"
ROW = MuseumRow(
    name="a", subject="fake", buggy="1.0", fixed="1.1", case="join/classic/subscription", title="It says too little.",
    source="https://github.com/o/r/pull/12", verdict=Verdict.FAILED, observed="It ends early.", profile="kafka-2.4", note="By the way.",
)  # fmt: skip


def test_a_row_has_its_source_its_case_and_both_releases() -> None:
    line = museum.table([ROW]).splitlines()[-1]

    assert line == (
        "| It says too little. ([#12](https://github.com/o/r/pull/12). By the way.) | `join/classic/subscription`, before kafka-2.4 "
        "| 1.0 FAILED: It ends early. | 1.1 OK |"
    )


def test_what_is_printed_takes_the_place_of_what_was_and_of_nothing_else() -> None:
    page = museum.written(STALE)

    assert (page.split()[0], page.split()[-1]) == ("Before.", "After.")
    assert "printed long ago" not in page
    assert museum.written(page) == page
    with pytest.raises(ValueError, match=r"museum.md has lost the lines"):
        museum.written("Before.\n")


def test_the_page_is_current() -> None:
    assert museum.main(["--check"]) == 0


def test_a_page_that_is_not_current_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(museum, "load_rows", lambda: (ROW,))

    assert museum.main(["--check"]) == 1
    assert "run: make docs" in capsys.readouterr().err
