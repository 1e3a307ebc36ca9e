from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree as xml

import pytest
from tests.harness.reports.making import REBALANCE, SHARED, played

from groupproof.harness.reports.pictures.svg import text_width
from groupproof.harness.reports.pictures.timeline import Bar, Instant, Lane, Span, Tick, Timeline, timeline_of
from groupproof.harness.reports.pictures.timeline_svg import DEFINITIONS, Flag, draw

SVG = "{http://www.w3.org/2000/svg}"


def words(picture: str) -> list[str]:
    """Return the texts that a reader sees."""
    return [
        "".join(part for part in [element.text, *(child.tail for child in element)] if part) for element in xml.fromstring(picture).iter(f"{SVG}text")
    ]


@pytest.fixture(scope="module")
def shared() -> Timeline:
    return timeline_of(played(SHARED)[0].plays[0].trace)


def test_a_real_run_shows_the_group_its_members_and_what_they_own(shared: Timeline) -> None:
    lines = words(draw(shared).alone(title=SHARED))

    assert [name for name in lines if name in ("group", "m0", "m1")] == ["group", "m0", "m1"]
    assert "newcomer" in lines
    assert "closing" in lines
    assert "t-0, t-1" in lines
    assert any(text.startswith("stable · gen") and text.endswith("leader") for text in lines)


def test_a_picture_of_its_own_has_title_legend_and_colours(shared: Timeline) -> None:
    picture = draw(shared).alone(title="a title", subtitle="a subject")

    lines = words(picture)
    assert lines[:2] == ["a title", "a subject"]
    assert {"stable", "fault (a bar while it lasts)", "what the verdict rests on"} <= set(lines)
    assert "<style>" in picture
    assert 'id="tl-held"' in picture


def test_a_picture_in_a_page_leaves_to_the_page_what_it_shares(shared: Timeline) -> None:
    picture = draw(shared).inline(title="a title")

    assert "<style>" not in picture
    assert DEFINITIONS not in picture
    assert "a title" not in words(picture)
    assert len(picture) < len(draw(shared).alone(title="a title")) - 3_000


def test_nothing_is_loaded_from_elsewhere(shared: Timeline) -> None:
    picture = draw(shared).alone(title="x")

    assert set(re.findall(r"https?://[^\"' ]+", picture)) == {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"url\(([^)]*)\)", picture)) == {"#tl-held"}


def test_everything_lies_within_the_picture(shared: Timeline) -> None:
    root = xml.fromstring(draw(shared).inline(title="x"))
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)

    for rect in root.iter(f"{SVG}rect"):
        x, y = float(rect.get("x") or 0), float(rect.get("y") or 0)
        assert 0 <= x <= x + float(rect.get("width") or 0) <= width + 0.5
        assert 0 <= y <= y + float(rect.get("height") or 0) <= height + 0.5


def test_a_fault_has_its_name_and_a_bar_as_long_as_it_lasts() -> None:
    struck = Bar(start=Instant(2, 200), end=Instant(2, 200), name="error", action="answer", client="m0")
    held = Bar(start=Instant(3, 300), end=Instant(6, 900), name="late", action="hold")
    lane = Lane(name="m0", states=[Span(start=Instant(0, 0), state="UNJOINED")])

    picture = draw(Timeline(end=Instant(9, 1_000), lanes=[lane], bars=[struck, held])).inline(title="x")

    assert {"error (answer)", "late (hold)"} <= set(words(picture))
    assert picture.count('class="bar"') == 1
    assert picture.count('class="struck"') == 1
    assert "error (answer) on m0: 200 ms" in picture
    assert "late (hold): 300 ms to 900 ms (600 ms)" in picture


def test_a_real_failure_is_flagged_on_the_lane_of_its_member() -> None:
    result = played(REBALANCE, variant="ignores-heartbeat-27")[0]
    trace = result.plays[0].trace
    flags = [Flag(at=Instant(trace[20].seq, trace[20].at_ms), words="HB-58: No JoinGroup came.", client="m0")]

    picture = draw(timeline_of(trace), flags).inline(title="x")

    assert picture.count('class="flag"') == 1
    assert "HB-58: No JoinGroup came." in picture
    assert "!" in words(picture)


def test_several_flags_are_numbered_and_one_of_nobody_is_on_the_axis() -> None:
    lane = Lane(name="m0", states=[Span(start=Instant(0, 0), state="UNJOINED")])
    flags = [Flag(at=Instant(1, 10), words="first", client="m0"), Flag(at=Instant(2, 20), words="second")]

    assert words(draw(Timeline(end=Instant(9, 100), lanes=[lane]), flags).inline(title="x"))[-2:] == ["1", "2"]


def test_names_that_would_overlap_take_rows_of_their_own() -> None:
    marks = [Tick(at=Instant(number, number), kind="mark", name=f"a mark called {number}") for number in range(4)]

    root = xml.fromstring(draw(Timeline(end=Instant(9, 1_000), marks=marks)).inline(title="x"))

    names = [element for element in root.iter(f"{SVG}text") if element.get("class") == "strong markname"]
    rows = [(float(name.get("y") or 0), float(name.get("x") or 0)) for name in names]
    for row in {y for y, _ in rows}:
        beside = sorted(x for y, x in rows if y == row)
        assert all(after - before >= text_width("a mark called 0") for before, after in pairwise(beside))
    assert len({y for y, _ in rows}) > 1


def test_a_mark_at_the_end_has_its_name_to_its_left() -> None:
    end = Instant(9, 1_000)
    root = xml.fromstring(draw(Timeline(end=end, marks=[Tick(at=end, kind="timeout", name="time out")])).inline(title="x"))

    name = next(element for element in root.iter(f"{SVG}text") if element.get("class") == "strong latename")
    assert name.get("text-anchor") == "end"


def test_a_lag_of_the_kit_is_marked_on_the_axis() -> None:
    lag = Tick(at=Instant(3, 300), kind="lag", name="lag 140 ms")

    assert "lag 140 ms: the kit itself was late here" in draw(Timeline(end=Instant(9, 1_000), marks=[lag])).inline(title="x")


def test_an_empty_trace_has_a_picture() -> None:
    assert "group" in words(draw(timeline_of([])).alone(title="nothing"))
