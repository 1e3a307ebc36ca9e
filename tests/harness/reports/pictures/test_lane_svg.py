from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as xml

import pytest

from groupproof.harness.reports.pictures.lane_svg import called, glyph, lane_parts, stretch
from groupproof.harness.reports.pictures.scale import Placing, scale_of
from groupproof.harness.reports.pictures.timeline import Bar, Instant, Lane, Span, Tick

END = Instant(100, 1_000)


def placing(width: float) -> Placing:
    return Placing(scale=scale_of([Instant(0, 0), END], width_min=width, width_max=width), left=0, end=END)


def label(width: float, **span: Any) -> str | None:
    """Return what is written in a state's box of this width."""
    root = xml.fromstring(f"<g>{''.join(stretch(Span(start=Instant(0, 0), **span), 0, 20, placing(width)))}</g>")
    return root.findtext("text")


@pytest.mark.parametrize(
    ("width", "written"),
    [
        (400, "stable · generation 2 · leader"),
        (165, "stable · gen 2 · leader"),
        (130, "stable · generation 2"),
        (100, "stable · gen 2"),
        (48, "gen 2"),
        (20, None),
    ],
)
def test_a_state_is_reported_as_fully_as_there_is_room(width: float, written: str | None) -> None:
    assert label(width, state="STABLE", label="generation 2", note="leader") == written


def test_a_state_of_the_group_is_called_by_kafkas_name() -> None:
    assert label(300, state="PreparingRebalance") == "PreparingRebalance"
    assert label(80, state="PreparingRebalance") == "Preparing"
    assert label(300, state="PREPARING_REBALANCE") == "joining"


def test_a_state_without_length_leaves_nothing() -> None:
    assert list(stretch(Span(start=Instant(0, 0), end=Instant(0, 0), state="STABLE"), 0, 20, placing(300))) == []


@pytest.mark.parametrize(
    ("tick", "sign"),
    [
        (Tick(at=END, kind="request", name="JoinGroup"), ">J</text>"),
        (Tick(at=END, kind="request", name="Heartbeat"), 'class="beat"'),
        (Tick(at=END, kind="answer", name="SyncGroup"), 'class="frame"'),
        (Tick(at=END, kind="answer", name="SyncGroup", error="NOT_COORDINATOR"), 'class="bad"'),
        (Tick(at=END, kind="answer", name="Heartbeat", error="REBALANCE_IN_PROGRESS"), 'class="frame"'),
        (Tick(at=END, kind="event", name="partitions_revoked", detail="t-0"), 'class="event"'),
        (Tick(at=END, kind="event", name="error", detail="Fenced"), 'class="bad"'),
        (Tick(at=END, kind="command", name="pause"), 'class="command"'),
        (Tick(at=END, kind="end", name="killed"), 'class="bad"'),
    ],
)
def test_each_tick_has_its_sign(tick: Tick, sign: str) -> None:
    made = glyph(tick, 10, 10)

    assert sign in made
    assert f"{tick.name} {tick.kind}" in made


def test_the_answer_to_a_heartbeat_says_nothing_when_all_is_well() -> None:
    assert glyph(Tick(at=END, kind="answer", name="Heartbeat"), 10, 10) == ""


def test_errors_and_commands_are_labelled_where_there_is_room_and_before_the_edge() -> None:
    late = Tick(at=Instant(99, 990), kind="answer", name="Heartbeat", error="UNKNOWN_MEMBER_ID")
    crowd = [Tick(at=Instant(10 + at, 100.0 + at), kind="command", name="pause") for at in range(3)]
    lane = Lane(name="m0", states=[Span(start=Instant(0, 0), state="STABLE")], ticks=[*crowd, late])

    root = xml.fromstring(f"<g>{''.join(lane_parts(lane, 0, placing(400), 400))}</g>")
    labels = {element.text: float(element.get("x") or 0) for element in root.iter("text")}

    assert [element.text for element in root.iter("text")].count("pause") == 1
    assert labels["UNKNOWN_MEMBER_ID"] < 300


def test_a_pause_is_hatched_over_the_state() -> None:
    lane = Lane(name="m0", states=[Span(start=Instant(0, 0), state="STABLE")], held=[Span(start=Instant(10, 100), state="paused")])

    parts = list(lane_parts(lane, 0, placing(400), 400))

    assert any('class="held"' in part and "paused: 100 ms to 1 s" in part for part in parts)


def test_a_fault_is_called_by_its_name_and_what_it_does() -> None:
    assert called(Bar(start=END, end=END, name="late", action="hold")) == "late (hold)"
    assert called(Bar(start=END, end=END, name="cut", action="cut")) == "cut"
