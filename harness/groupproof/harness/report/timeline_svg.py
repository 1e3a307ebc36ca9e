"""Draws a timeline as one self-contained SVG: it opens from disk, sits inline in the report, and follows the reader's light or dark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from groupproof.harness.report.scale import Scale, instants_of, scale_of
from groupproof.harness.report.svg import element, hint, text, text_width, time_label
from groupproof.harness.report.timeline_style import HATCH, STYLE
from groupproof.harness.timeline import Bar, Instant, Lane, Span, Tick, Timeline

__all__ = ["draw"]

GUTTER = 76.0
RIGHT = 24.0
WIDTH_MIN = 880.0
WIDTH_MAX = 2_400.0
TOP = 8.0
MARK_ROW = 15.0
GROUP_HEIGHT = 22.0
FAULT_ROW = 17.0
STATE_HEIGHT = 20.0
OWNED_HEIGHT = 15.0
TICK_HEIGHT = 25.0
GAP = 12.0
LANE_HEIGHT = STATE_HEIGHT + OWNED_HEIGHT + TICK_HEIGHT
AXIS_HEIGHT = 26.0
LABEL_EVERY = 66.0

_SHORT = {
    "PreparingRebalance": "Preparing",
    "CompletingRebalance": "Completing",
    "PREPARING_REBALANCE": "joining",
    "COMPLETING_REBALANCE": "syncing",
    "UNJOINED": "unjoined",
    "STABLE": "stable",
}
_USUAL = frozenset({"MEMBER_ID_REQUIRED", "REBALANCE_IN_PROGRESS"})
_BEATS = frozenset({"Heartbeat", "OffsetFetch", "FindCoordinator"})

Item = TypeVar("Item")
Placed = tuple[int, float, Item]
"""A row, an x, and what is placed there."""


def draw(timeline: Timeline, *, title: str = "membership timeline", flagged: int | None = None, with_style: bool = True) -> str:
    """Return the picture; the frame or event of `seq` `flagged` gets a flag, and without `with_style` the page that holds it brings `STYLE`."""
    scale = scale_of(instants_of(timeline), width_min=WIDTH_MIN, width_max=WIDTH_MAX)
    picture = _Picture(timeline, scale)
    parts = "".join([*picture.parts(), *picture.flag(flagged)])
    width, height = round(GUTTER + scale.width + RIGHT), round(picture.height)
    paper = element("rect", cls="paper", width=width, height=height)
    style = element("style", STYLE) if with_style else ""
    inside = (hint(title), style, HATCH, paper, parts)
    return element(
        "svg", *inside, xmlns="http://www.w3.org/2000/svg", cls="tl", role="img", viewBox=f"0 0 {width} {height}", width=width, height=height
    )  # fmt: skip


class _Picture:
    """Lays the rows out from the top: marks, the group, faults, members, the axis."""

    def __init__(self, timeline: Timeline, scale: Scale) -> None:
        self._timeline = timeline
        self._scale = scale
        self._marks = _rows([(self._x(mark.at), text_width(mark.name) + 10, mark) for mark in timeline.marks if mark.kind != "lag"])
        self._faults = _rows([(self._x(bar.start), self._fault_width(bar), bar) for bar in timeline.bars])
        self._group_y = TOP + MARK_ROW * _count(self._marks) + 4
        self._faults_y = self._group_y + GROUP_HEIGHT + GAP
        self._lanes_y = self._faults_y + FAULT_ROW * _count(self._faults) + (GAP / 2 if self._faults else 0)
        self._bottom = self._lanes_y + len(timeline.lanes) * (LANE_HEIGHT + GAP)
        self.height = self._bottom + AXIS_HEIGHT

    def parts(self) -> Iterator[str]:
        yield from self._axis()
        for index in range(len(self._timeline.lanes)):
            y = self._lane_y(index) - 3
            yield element("rect", cls="lane", x=GUTTER, y=y, width=self._scale.width, height=LANE_HEIGHT + 6, rx=4)
        for row, _, bar in self._faults:
            yield from self._reach(bar, self._faults_y + row * FAULT_ROW)
        yield from self._group()
        for index, lane in enumerate(self._timeline.lanes):
            yield from self._lane(lane, self._lane_y(index))
        for row, x, bar in self._faults:
            yield from self._bar(bar, x, self._faults_y + row * FAULT_ROW)
        for row, x, mark in self._marks:
            yield from self._mark(mark, x, TOP + row * MARK_ROW)

    def flag(self, seq: int | None) -> Iterator[str]:
        """Yield the flag at an observation that has a place in a lane."""
        for index, lane in enumerate(self._timeline.lanes):
            for tick in lane.ticks:
                if tick.at.seq == seq:
                    x, y = self._x(tick.at), self._lane_y(index) + STATE_HEIGHT + OWNED_HEIGHT + 8
                    yield element("circle", hint("what the verdict rests on"), cls="flag", cx=x, cy=y, r=7)
                    yield text(x, y + 3.8, "!", "flagtext", anchor="middle")

    def _lane_y(self, index: int) -> float:
        return self._lanes_y + index * (LANE_HEIGHT + GAP)

    def _x(self, at: Instant) -> float:
        return GUTTER + self._scale.x(at)

    def _end(self, what: Span | Bar) -> Instant:
        return what.end or self._timeline.end

    def _edges(self, what: Span | Bar) -> tuple[float, float]:
        return self._x(what.start), self._x(self._end(what))

    def _told(self, what: Span | Bar, name: str) -> str:
        """Return a hint that names a stretch with its times."""
        start, end = what.start.ms, self._end(what).ms
        lasted = f" to {time_label(end)} ({time_label(end - start)})" if end > start else ""
        return hint(f"{name}: {time_label(start)}{lasted}")

    def _fault_width(self, bar: Bar) -> float:
        left, right = self._edges(bar)
        return max(right - left, text_width(_called(bar)) + 14)

    def _axis(self) -> Iterator[str]:
        y, last = self._bottom - GAP / 2, -LABEL_EVERY
        for x, ms in zip(self._scale.xs, self._scale.times, strict=True):
            if x - last >= LABEL_EVERY:
                last = x
                yield element("line", cls="grid", x1=GUTTER + x, y1=self._group_y, x2=GUTTER + x, y2=y)
                yield text(GUTTER + x, y + 14, time_label(ms), "soft", anchor="middle")
        yield element("line", cls="grid", x1=GUTTER, y1=y, x2=GUTTER + self._scale.width, y2=y)
        for lag in (mark for mark in self._timeline.marks if mark.kind == "lag"):
            yield element("rect", hint(f"{lag.name}: the kit itself was late here"), cls="lag", x=self._x(lag.at) - 2, y=y - 2, width=4, height=5)
        for each in self._scale.breaks:
            told = hint(f"{time_label(each.ms)} pass here, drawn shortened")
            yield element("path", told, cls="break", d=f"M{GUTTER + each.x - 6:.1f} {y + 4:.1f}l4-8 4 8 4-8")

    def _group(self) -> Iterator[str]:
        y = self._group_y
        yield text(GUTTER - 10, y + 15, "group", "name", anchor="end")
        for span in self._timeline.group:
            short = _SHORT.get(span.state, span.state)
            longest = f"{span.state} · {span.label}" if span.label else span.state
            yield from self._stretch(span, y, GROUP_HEIGHT, (longest, span.state, short))

    def _stretch(self, span: Span, y: float, height: float, labels: Sequence[str]) -> Iterator[str]:
        """Yield a state's box with the longest label that fits; a state without any length leaves none."""
        left, right = self._edges(span)
        if right - left < 0.5:
            return
        name = f"{span.state} · {span.label}" if span.label else span.state
        yield element("rect", self._told(span, name), cls=f"s-{span.state}", x=left, y=y, width=right - left - 0.6, height=height, rx=3)
        fitting = next((label for label in labels if label and text_width(label) + 8 <= right - left), None)
        if fitting is not None:
            yield text(left + 5, y + height / 2 + 3.8, fitting, "on")

    def _lane(self, lane: Lane, y: float) -> Iterator[str]:
        yield text(GUTTER - 10, y + 14, lane.name, "name", anchor="end")
        yield text(GUTTER - 10, y + STATE_HEIGHT + 12, "owns", "soft", anchor="end")
        for span in lane.states:
            short = _SHORT.get(span.state, span.state)
            yield from self._stretch(span, y, STATE_HEIGHT, (f"{short} · {span.label}" if span.label else short, span.label, short))
        for span in lane.held:
            left, right = self._edges(span)
            yield element("rect", self._told(span, span.state), cls="held", x=left, y=y, width=max(right - left, 2), height=STATE_HEIGHT)
        for span in lane.owned:
            yield from self._owned(span, y + STATE_HEIGHT + 2)
        yield from _ticks([(self._x(tick.at), tick) for tick in lane.ticks], y + STATE_HEIGHT + OWNED_HEIGHT + 3)

    def _owned(self, span: Span, y: float) -> Iterator[str]:
        left, right = self._edges(span)
        yield element("rect", self._told(span, f"owns {span.label}"), cls="owned", x=left, y=y, width=max(right - left - 1, 1.5), height=12, rx=2)
        if text_width(span.label) + 6 <= right - left:
            yield text(left + 4, y + 9.6, span.label, "ownlabel")

    def _reach(self, bar: Bar, y: float) -> Iterator[str]:
        """Yield the lines by which a fault reaches down into the lanes."""
        left, right = self._edges(bar)
        for x in (left, right) if right - left > 6 else (left,):
            yield element("line", cls="strike", x1=x, y1=y + 8, x2=x, y2=self._bottom - GAP / 2)

    def _bar(self, bar: Bar, x: float, y: float) -> Iterator[str]:
        left, right = self._edges(bar)
        told = self._told(bar, f"{_called(bar)}{f' on {bar.client}' if bar.client else ''}")
        if right - left > 6:
            yield element("rect", told, cls="bar", x=left, y=y + 1, width=right - left, height=FAULT_ROW - 4, rx=3)
        else:
            yield element("path", told, cls="struck", d=f"M{left - 4.5:.1f} {y + 2:.1f}h9l-4.5 9z")
        yield text(x + 7, y + 11, _called(bar), "faultname")

    def _mark(self, mark: Tick, x: float, y: float) -> Iterator[str]:
        kind = "late" if mark.kind == "timeout" else "mark"
        yield element("line", cls=kind, x1=x, y1=y + 2, x2=x, y2=self._bottom - GAP / 2)
        yield text(x + 4, y + 10, mark.name, f"{kind}label", told=f"{mark.name} at {time_label(mark.at.ms)} {mark.detail}".strip())


def _called(bar: Bar) -> str:
    return f"{bar.name} ({bar.action})" if bar.action and bar.action != bar.name else bar.name


def _rows(items: Iterable[tuple[float, float, Item]]) -> list[Placed[Item]]:
    """Put each item (x, width, what) in the first row where it overlaps nothing."""
    free_from: list[float] = []
    placed: list[Placed[Item]] = []
    for x, width, item in items:
        row = next((index for index, free in enumerate(free_from) if free <= x), len(free_from))
        free_from[row : row + 1] = [x + width]
        placed.append((row, x, item))
    return placed


def _count(placed: Sequence[Placed[Item]]) -> int:
    return max((row for row, _, _ in placed), default=-1) + 1


def _ticks(ticks: Iterable[tuple[float, Tick]], y: float) -> Iterator[str]:
    """Yield the glyphs of a lane's frames, and under them what went wrong and what was commanded, where there is room."""
    free_from = 0.0
    for x, tick in ticks:
        yield _glyph(tick, x, y)
        label = _label(tick)
        if label and x - 4 >= free_from:
            free_from = x + 4 + text_width(label)
            yield text(x - 4, y + 20, label, "cmdlabel" if tick.kind == "command" else "badlabel" if _is_bad(tick) else "soft")


def _label(tick: Tick) -> str:
    if tick.kind == "command":
        return tick.name if tick.name not in ("subscribe", "close") else ""
    if tick.name == "error":
        return tick.detail or tick.name
    return tick.error or (tick.name if tick.kind == "end" else "")


def _is_bad(tick: Tick) -> bool:
    """Tell whether something went wrong; to be asked back with the id (KIP-394), or told of a rebalance, is the protocol at work."""
    return (tick.error is not None and tick.error not in _USUAL) or tick.kind == "end" or tick.name == "error"


def _glyph(tick: Tick, x: float, y: float) -> str:
    told = hint(" ".join(part for part in (tick.name, tick.kind, tick.error, tick.detail, "at", time_label(tick.at.ms)) if part))
    if _is_bad(tick):
        return element("circle", told, cls="bad", cx=x, cy=y + 5, r=3.6)
    if tick.kind == "command":
        return element("path", told, cls="cmd", d=f"M{x:.1f} {y + 1:.1f}l4 4-4 4-4-4z")
    if tick.kind == "event":
        return element("rect", told, cls="ev", x=x - 2, y=y + 2, width=4, height=6)
    if tick.name in _BEATS and tick.error is None:
        return element("line", told, cls="beat", x1=x, y1=y + 2, x2=x, y2=y + 8) if tick.kind == "request" else ""
    up = tick.kind == "request"
    return element("path", told, cls="frame", d=f"M{x - 3.5:.1f} {y + (9 if up else 2):.1f}h7l-3.5 {-7 if up else 7}z")
