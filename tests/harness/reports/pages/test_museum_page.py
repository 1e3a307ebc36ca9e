from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

from groupproof.harness.model.museum_row import MuseumRow, RowOutcome, RowState, SideOutcome
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.pages.museum_page import STATE_COLOURS, write_museum
from groupproof.harness.reports.pictures.palette import COLOURS

ROW = MuseumRow(
    name="zombie", subject="fake", buggy="1.0", fixed="1.1", case="heartbeat/classic/illegal-generation", title="It goes <on>.",
    source="https://example.org/1", verdict=Verdict.FAILED, observed="No JoinGroup came.", note="mended by the way",
)  # fmt: skip
BUGGY = SideOutcome(
    release="1.0", verdict=Verdict.FAILED, observed="No JoinGroup came.", line="12 ms m0 → Heartbeat v4", page="runs/fake@1.0/report.html#case=x",
    replay="groupproof replay x",
)  # fmt: skip
STANDS = RowOutcome(row=ROW, state=RowState.STANDS, buggy=BUGGY, fixed=SideOutcome(release="1.1", verdict=Verdict.OK))
ABSENT = RowOutcome(row=ROW, state=RowState.ABSENT, buggy=SideOutcome(release="1.0"), fixed=SideOutcome(release="1.1"), reason="no npm here")


def test_each_row_has_its_source_its_case_both_verdicts_the_line_and_the_replay(tmp_path: Path) -> None:
    write_museum([STANDS], tmp_path)

    page = (tmp_path / "museum.html").read_text("utf-8")
    text = unescape(re.sub(r"<[^>]+>", " ", page))
    for words in (ROW.title, ROW.case, ROW.note, "FAILED", "OK", "12 ms m0 → Heartbeat v4", "groupproof replay x", "1 STANDS"):
        assert words in text
    assert 'href="https://example.org/1"' in page
    assert 'href="runs/fake@1.0/report.html#case=x"' in page
    assert "It goes &lt;on&gt;." in page


def test_the_script_of_the_page_which_hides_groups_without_items_finds_none(tmp_path: Path) -> None:
    write_museum([STANDS], tmp_path)

    assert "<section>" in (tmp_path / "museum.html").read_text("utf-8")


def test_a_row_that_does_not_stand_says_why(tmp_path: Path) -> None:
    write_museum([ABSENT], tmp_path)

    assert "no npm here" in (tmp_path / "museum.html").read_text("utf-8")
    (row,) = json.loads((tmp_path / "museum.json").read_text("utf-8"))["rows"]
    assert (row["state"], row["reason"], row["buggy"]["verdict"]) == ("ABSENT", "no npm here", None)


def test_each_state_has_a_colour_of_the_palette() -> None:
    assert set(STATE_COLOURS) == set(RowState)
    assert set(STATE_COLOURS.values()) <= set(COLOURS)
