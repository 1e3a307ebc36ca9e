"""Draws a timeline as SVG: alone, as a file with title, legend and colours; or inline, as part of a page that has the style."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from groupproof.harness.reports.pictures.lane_svg import GUTTER, LANE_HEIGHT, called, lane_parts, stretch
from groupproof.harness.reports.pictures.legend_svg import LEGEND_HEIGHT, LEGEND_WIDTH, legend
from groupproof.harness.reports.pictures.palette import picture_style
from groupproof.harness.reports.pictures.scale import Placing, instants_of, scale_of
from groupproof.harness.reports.pictures.svg import element, hint, text, text_width, time_label
from groupproof.harness.reports.pictures.timeline import Bar, Instant, Tick, Timeline

__all__ = ["DEFINITIONS", "Drawing", "Flag", "draw"]

RIGHT = 24.0
WIDTH_MIN = 880.0
WIDTH_MAX = 2_400.0
TOP = 8.0
TITLE_HEIGHT = 44.0
MARK_ROW = 15.0
GROUP_HEIGHT = 22.0
FAULT_ROW = 17.0
GAP = 12.0
AXIS_HEIGHT = 30.0
LABEL_EVERY = 66.0
LASTS_PX = 6.0

DEFINITIONS: Final = (
    '<defs><pattern id="tl-held" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect class="hatch" width="3" height="6"/></pattern></defs>'
)
"""The definitions that every timeline of a page refers to. A page holds them once, outside of anything folded."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """The observation behind a verdict: its place, its lane (None: the axis), and the sentence."""

    at: Instant
    words: str
    client: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A timeline drawn once, to be shown alone, inline, or both."""

    body: str
    width: int
    height: int

    def alone(self, *, title: str, subtitle: str = "") -> str:
        """Return the picture as a separate file."""
        width = max(self.width, round(LEGEND_WIDTH))
        total = round(self.height + TITLE_HEIGHT + LEGEND_HEIGHT)
        parts = (
            element("rect", cls="paper", width=width, height=total),
            text(14, 22, title, "title"),
            text(14, 38, subtitle, "soft"),
            element("g", self.body, transform=f"translate(0 {TITLE_HEIGHT:g})"),
            element("g", *legend(), transform=f"translate(0 {self.height + TITLE_HEIGHT:g})"),
        )
        return _svg(width, total, hint(title), element("style", picture_style(alone=True)), DEFINITIONS, *parts)

    def inline(self, *, title: str) -> str:
        """Return the picture for a page with `palette.picture_style` and `DEFINITIONS`."""
        return _svg(self.width, self.height, hint(title), self.body)


def draw(timeline: Timeline, flags: Sequence[Flag] = ()) -> Drawing:
    """Draw `timeline`, with flags on the observations behind a verdict."""
    scale = scale_of(instants_of(timeline), width_min=WIDTH_MIN, width_max=WIDTH_MAX)
    picture = _Picture(timeline, Placing(scale=scale, left=GUTTER, end=timeline.end))
    parts = "".join([*picture.parts(), *picture.flags(flags)])
    return Drawing(body=parts, width=round(GUTTER + scale.width + RIGHT), height=round(picture.height))


def _svg(width: int, height: int, *inside: str) -> str:
    return element(
        "svg", *inside, xmlns="http://www.w3.org/2000/svg", cls="tl", role="img", viewBox=f"0 0 {width} {height}", width=width, height=height
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Mark:
    row: int
    x: float


class _Picture:
    """Lays out the rows from the top: marks, the group, faults, members, the axis."""

    def __init__(self, timeline: Timeline, placing: Placing) -> None:
        self._timeline = timeline
        self._at = placing
        self._right = GUTTER + placing.scale.width
        self._marks = self._rows([(placing.x(mark.at), text_width(mark.name) + 10, mark) for mark in timeline.marks if mark.kind != "lag"])
        self._faults = self._rows([(placing.x(bar.start), self._fault_width(bar), bar) for bar in timeline.bars])
        self._group_y = TOP + MARK_ROW * _count(self._marks) + 4
        self._faults_y = self._group_y + GROUP_HEIGHT + GAP
        self._lanes_y = self._faults_y + FAULT_ROW * _count(self._faults) + (GAP / 2 if self._faults else 0)
        self._bottom = self._lanes_y + len(timeline.lanes) * (LANE_HEIGHT + GAP) - GAP / 2
        self.height = self._bottom + AXIS_HEIGHT

    def parts(self) -> Iterator[str]:
        for index in range(len(self._timeline.lanes)):
            y = self._lane_y(index) - 3
            yield element("rect", cls="lane", x=GUTTER, y=y, width=self._at.scale.width, height=LANE_HEIGHT + 6, rx=4)
        yield from self._axis()
        for placed, bar in self._faults:
            yield from self._reach(bar, self._faults_y + placed.row * FAULT_ROW)
        for placed, mark in self._marks:
            yield element("line", cls=_kind(mark), x1=placed.x, y1=TOP + placed.row * MARK_ROW + 2, x2=placed.x, y2=self._bottom)
        yield from self._group()
        for index, lane in enumerate(self._timeline.lanes):
            yield from lane_parts(lane, self._lane_y(index), self._at, self._right)
        for placed, bar in self._faults:
            yield from self._bar(bar, placed.x, self._faults_y + placed.row * FAULT_ROW)
        for placed, mark in self._marks:
            yield self._name(mark, placed.x, TOP + placed.row * MARK_ROW)

    def flags(self, flags: Sequence[Flag]) -> Iterator[str]:
        lanes = {lane.name: index for index, lane in enumerate(self._timeline.lanes)}
        for number, flag in enumerate(flags, 1):
            index = lanes.get(flag.client or "")
            x = self._at.x(flag.at)
            y = self._bottom if index is None else self._lane_y(index) + LANE_HEIGHT - 17
            yield element("circle", hint(flag.words), cls="flag", cx=x, cy=y, r=7.5)
            yield text(x, y + 4, str(number) if len(flags) > 1 else "!", "flagtext", anchor="middle")

    def _lane_y(self, index: int) -> float:
        return self._lanes_y + index * (LANE_HEIGHT + GAP)

    def _fault_width(self, bar: Bar) -> float:
        left, right = self._at.edges(bar.start, bar.end)
        return max(right - left, text_width(called(bar)) + 14)

    def _axis(self) -> Iterator[str]:
        y, last = self._bottom, -LABEL_EVERY
        scale = self._at.scale
        for x, ms in zip(scale.xs, scale.times, strict=True):
            if x - last >= LABEL_EVERY:
                last = x
                yield element("line", cls="grid", x1=GUTTER + x, y1=self._group_y, x2=GUTTER + x, y2=y)
                yield text(GUTTER + x, y + 16, time_label(ms), "soft", anchor="middle")
        yield element("line", cls="grid", x1=GUTTER, y1=y, x2=self._right, y2=y)
        for lag in (mark for mark in self._timeline.marks if mark.kind == "lag"):
            title = hint(f"{lag.name}: the kit itself was late here")
            yield element("rect", title, cls="lag", x=self._at.x(lag.at) - 2, y=y - 2, width=4, height=5)
        for gap in scale.breaks:
            title = hint(f"{time_label(gap.ms)} pass here, drawn shortened")
            yield element("path", title, cls="break", d=f"M{GUTTER + gap.x - 6:.1f} {y + 4:.1f}l4-8 4 8 4-8")

    def _group(self) -> Iterator[str]:
        y = self._group_y
        yield text(GUTTER - 10, y + 15, "group", "name", anchor="end")
        for span in self._timeline.group:
            yield from stretch(span, y, GROUP_HEIGHT, self._at)

    def _reach(self, bar: Bar, y: float) -> Iterator[str]:
        """Yield the lines from a fault down into the lanes."""
        left, right = self._at.edges(bar.start, bar.end)
        for x in (left, right) if right - left > LASTS_PX else (left,):
            yield element("line", cls="strike", x1=x, y1=y + 8, x2=x, y2=self._bottom)

    def _bar(self, bar: Bar, x: float, y: float) -> Iterator[str]:
        left, right = self._at.edges(bar.start, bar.end)
        title = self._at.titled(bar.start, bar.end, f"{called(bar)}{f' on {bar.client}' if bar.client else ''}")
        if right - left > LASTS_PX:
            yield element("rect", title, cls="bar", x=left, y=y + 1, width=right - left, height=FAULT_ROW - 4, rx=3)
        else:
            yield element("path", title, cls="struck", d=f"M{left - 4.5:.1f} {y + 2:.1f}h9l-4.5 9z")
        yield self._beside(x, y + 11, called(bar), "strong faultname", offset=7)

    def _name(self, mark: Tick, x: float, y: float) -> str:
        title = f"{mark.name} at {time_label(mark.at.ms)} {mark.detail}".strip()
        return self._beside(x, y + 10, mark.name, f"strong {_kind(mark)}name", offset=4, title=title)

    def _beside(self, x: float, y: float, words: str, cls: str, *, offset: float, title: str = "") -> str:
        """Return a label to the right of `x`, or to its left where the picture ends."""
        if x + offset + text_width(words) <= self._right + RIGHT:
            return text(x + offset, y, words, cls, title=title)
        return text(x - offset, y, words, cls, anchor="end", title=title)

    def _rows(self, items: Iterable[tuple[float, float, Item]]) -> list[tuple[_Mark, Item]]:
        """Put each item (x, width, item) in the first row where it overlaps nothing."""
        free_from: list[float] = []
        placed: list[tuple[_Mark, Item]] = []
        for x, width, item in items:
            left = x if x + width <= self._right + RIGHT else x - width
            row = next((index for index, free in enumerate(free_from) if free <= left), len(free_from))
            free_from[row : row + 1] = [max(x, left + width)]
            placed.append((_Mark(row, x), item))
        return placed


def _kind(mark: Tick) -> str:
    return "late" if mark.kind == "timeout" else "mark"


def _count(placed: Sequence[tuple[_Mark, object]]) -> int:
    return max((item.row for item, _ in placed), default=-1) + 1
