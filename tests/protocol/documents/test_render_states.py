from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from groupproof.protocol.documents.render_states import moves, states_markdown, states_svg
from groupproof.protocol.rules import STATES, ClassicEvent, profile, profiles, rows, state_name
from groupproof.protocol.vocabulary import GroupState

SVG = "{http://www.w3.org/2000/svg}"


def test_the_moves_are_those_of_the_rules() -> None:
    ends = {(state, row.then) for _, state, row in rows() if row.then not in (None, state)}

    assert moves(profile().table).keys() == ends | {(None, GroupState.EMPTY)}
    assert moves(profile().table)[GroupState.COMPLETING_REBALANCE, GroupState.STABLE] == ["Appended/assigned"]
    assert "OffsetCommit/first-commit" in moves(profile().table)[None, GroupState.EMPTY]


def test_every_state_and_transition_is_reported() -> None:
    document = states_markdown(profile())

    for state in STATES:
        assert f"\n| {state_name(state)} | " in document
    for (before, after), rules in moves(profile().table).items():
        assert f"\n| {state_name(before)} | {after.value} | {', '.join(rules)} |" in document


@pytest.mark.parametrize("name", profiles())
def test_a_cell_names_its_rules_and_an_impossible_one_has_its_reason(name: str) -> None:
    table = profile(name)
    cells, _, impossible = states_markdown(table).partition("## States and inputs")[2].partition("## What cannot come up")
    rows = {
        line.split(" | ")[0].strip("| "): [part.strip() for part in line.strip("|").split("|")[1:]]
        for line in cells.splitlines()
        if line.startswith("|")
    }

    for kind in ClassicEvent:
        for state, text in zip(STATES, rows[kind.value], strict=True):
            assert text == ", ".join(row.name for row in table.table.cells.get(kind, {}).get(state, ()))
            if not text:
                reason = table.table.unreachable[kind, state]
                assert any(
                    f"| {reason} |" in line and state_name(state) in line for line in impossible.splitlines() if line.startswith(f"| {kind.value} |")
                )


def _drawing(name: str = "kafka-4.1") -> ElementTree.Element:
    return ElementTree.fromstring(states_svg(profile(name)))


@pytest.mark.parametrize("name", profiles())
def test_the_drawing_has_a_box_for_each_state_and_an_arrow_for_each_move(name: str) -> None:
    drawn = _drawing(name)
    boxes = [element.text for element in drawn.iter(f"{SVG}text") if element.get("class") == "state"]
    arrows = [element for element in drawn.iter(f"{SVG}path") if element.get("marker-end")]
    labels = [[element.text for element in text] for text in drawn.iter(f"{SVG}text") if text.get("class") == "move"]

    assert boxes == ["no group", *(state.value for state in GroupState)]
    assert len(arrows) == len(moves(profile(name).table))
    assert labels == [list(dict.fromkeys(rule.partition("/")[0] for rule in rules)) for rules in moves(profile(name).table).values()]


def test_nothing_in_the_drawing_covers_another_or_leaves_the_page() -> None:
    drawn = _drawing()
    width, height = (float(part) for part in str(drawn.get("viewBox")).split()[2:])
    rects = [[float(element.get(side, 0)) for side in ("x", "y", "width", "height")] for element in drawn.iter(f"{SVG}rect")]

    assert all(x >= 0 and y >= 0 and x + wide <= width and y + high <= height for x, y, wide, high in rects)
    for (ax, ay, aw, ah), (bx, by, bw, bh) in combinations(rects, 2):
        assert ax + aw <= bx or bx + bw <= ax or ay + ah <= by or by + bh <= ay


def test_an_arrow_begins_and_ends_outside_of_every_box() -> None:
    drawn = _drawing()
    boxes = [
        [float(element.get(side, 0)) for side in ("x", "y", "width", "height")]
        for element in drawn.iter(f"{SVG}rect")
        if "state" in str(element.get("class"))
    ]
    for arrow in drawn.iter(f"{SVG}path"):
        if arrow.get("marker-end"):
            numbers = [float(item) for item in re.findall(r"-?\d+", str(arrow.get("d")))]
            for x, y in (numbers[:2], numbers[-2:]):
                assert not [box for box in boxes if box[0] < x < box[0] + box[2] and box[1] < y < box[1] + box[3]]
