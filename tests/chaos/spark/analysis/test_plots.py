from __future__ import annotations

from xml.etree import ElementTree

import pytest
from tests.chaos.spark.analysis.findings import FACTS, REBALANCES

from groupproof.chaos.spark.analysis.plots import bars, colour_of, curves, timeline


def drawn(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)


def test_a_timeline_has_a_bar_for_each_rebalance_and_marks_for_what_went_wrong() -> None:
    picture = drawn(timeline(REBALANCES, FACTS["storms"], FACTS["two-owners"], FACTS["session-expiries"]))

    hints = [element.text or "" for element in picture.iter("title")]
    assert sum(hint.startswith("generation ") for hint in hints) == 6
    assert "generation 3: heartbeat-timeout (m3), settled; at 6 s, 310 ms" in hints
    assert any(hint.startswith("storm: 6 rebalances") for hint in hints)
    assert any(hint.startswith("m<1> shares t-0") for hint in hints)
    assert any("the session of m2-1 ended at 6 s" in hint for hint in hints)


def test_lanes_are_those_of_the_groups_that_rebalanced_longest() -> None:
    rows = [{**row, "group": f"g{number}", "lasted_ms": float(number)} for number in range(30) for row in REBALANCES[:1]]

    names = [element.text for element in drawn(timeline(rows, [], [], [])).iter("text") if (element.get("class") or "") == "name"]

    assert len(names) == 24
    assert not any(name and name.endswith("g3") for name in names)


def test_curves_end_at_the_longest() -> None:
    picture = drawn(curves({"join phase": [1.0, 3.0, 2.0], "sync phase": []}))

    assert [element.text for element in picture.iter("title")][-1] == "join phase: 3"
    assert "3 ms" in "".join(picture.itertext())
    assert "sync phase" not in "".join(picture.itertext())


def test_bars_are_as_wide_as_their_share() -> None:
    widths = [float(element.get("width") or 0) for element in drawn(bars([("a", 10.0, "x"), ("b", 5.0, "y"), ("c", 0.0, "z")])).iter("rect")]

    assert widths[0] == pytest.approx(2 * widths[1], abs=0.2)
    assert widths[2] == 1


def test_nothing_is_drawn_of_nothing() -> None:
    assert timeline([], [], [], []) == curves({}) == bars([]) == ""


def test_causes_have_colours_by_what_changed() -> None:
    assert [colour_of(cause) for cause in ("new-member", "heartbeat-timeout", "leader-rejoined", "partitions-changed", "coordinator-moved", None)] == [
        "stable", "bad", "completing", "preparing", "mark", "soft",
    ]  # fmt: skip
