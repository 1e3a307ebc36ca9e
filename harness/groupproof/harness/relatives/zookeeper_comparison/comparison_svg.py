"""The comparison as one picture: requests and time for each churn as members grow, and what a split brain did, seed by seed. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from groupproof.harness.relatives.zookeeper_comparison.comparison import COORDINATOR, ZOOKEEPER, Comparison, Row, Split
from groupproof.harness.reports.pictures.palette import COLOURS
from groupproof.harness.reports.pictures.svg import element, hint, text, time_label

__all__ = ["drawn"]

WIDTH, PANEL, HEIGHT, LEFT, TOP = 980.0, 400.0, 250.0, 70.0, 78.0
GAP: Final = 90.0
BARS: Final = 150.0
_DESIGNS: Final = ((ZOOKEEPER, "on ZooKeeper", "fault"), (COORDINATOR, "under a coordinator", "info"))
_CHURN: Final = "leave"


def _requests(row: Row) -> float | None:
    return float(row.total)


def _stable(row: Row) -> float | None:
    return None if row.stable_ms is None else float(max(1, row.stable_ms))


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _short(label: Callable[[float], str], value: float) -> str:
    """Return what an axis says: millions in a word."""
    return f"{value / 1e6:,.0f} M" if label is _count and value >= 1e6 else label(value)


_Measure = tuple[str, Callable[[Row], float | None], Callable[[float], str]]
_MEASURES: Final[tuple[_Measure, ...]] = (
    ("requests until the group is stable", _requests, _count),
    ("time until the group is stable", _stable, time_label),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """One diagram with two logarithmic axes; `of` is what is drawn of a row, `label` writes a value."""

    x: float
    y: float
    sizes: tuple[float, float]
    values: tuple[float, float]
    title: str
    of: Callable[[Row], float | None]
    label: Callable[[float], str]

    def at(self, size: float, value: float) -> tuple[float, float]:
        across = _share(size, *self.sizes) * PANEL
        up = _share(value, *self.values) * HEIGHT
        return self.x + across, self.y + HEIGHT - up


def drawn(comparison: Comparison) -> str:
    """Return an SVG that stands alone; it follows the reader's choice of light and dark."""
    has_splits = bool(comparison.splits)
    height = TOP + HEIGHT + 60 + (BARS + 90 if has_splits else 0)
    inside = [*_heading(comparison), *_panels(comparison)]
    if has_splits:
        inside += _bars(comparison, TOP + HEIGHT + 100)
    style = f"<style>{_style()}</style>"
    return element(
        "svg", style, element("rect", cls="paper", width=WIDTH, height=height), *inside, xmlns="http://www.w3.org/2000/svg", cls="cmp",
        viewBox=f"0 0 {WIDTH:.0f} {height:.0f}", width=WIDTH, height=height, role="img",
    )  # fmt: skip


def _heading(comparison: Comparison) -> list[str]:
    found = [text(LEFT, 26, "A member leaves: what its group does, in two designs", "title")]
    x = LEFT
    for design, words, colour in _DESIGNS:
        for engine in ("real", "simulated"):
            if comparison.of(design, engine, _CHURN):
                found += [_dot(x + 5, 44, engine, colour), text(x + 15, 48, f"{words}, {engine}", "soft")]
                x += 190
    return found


def _panels(comparison: Comparison) -> list[str]:
    rows = [row for row in comparison.rows if row.churn == _CHURN]
    if not rows:
        return []
    sizes = _bounds(row.members for row in rows)
    found: list[str] = []
    for number, (title, of, label) in enumerate(_MEASURES):
        values = _bounds(value for row in rows if (value := of(row)) is not None)
        panel = _Panel(x=LEFT + number * (PANEL + GAP), y=TOP, sizes=sizes, values=values, title=title, of=of, label=label)
        found += [*_axes(panel), *(part for design, _, colour in _DESIGNS for part in _curves(panel, comparison, design, colour))]
    return found


def _axes(panel: _Panel) -> list[str]:
    found = [text(panel.x, panel.y - 10, panel.title, "name"), text(panel.x + PANEL, panel.y + HEIGHT + 34, "members", "soft", anchor="end")]
    for value in _decades(*panel.values):
        _, y = panel.at(panel.sizes[0], value)
        found += [
            element("line", cls="grid", x1=panel.x, x2=panel.x + PANEL, y1=y, y2=y),
            text(panel.x - 6, y + 4, _short(panel.label, value), "soft", anchor="end"),
        ]
    for size in _decades(*panel.sizes):
        x, _ = panel.at(size, panel.values[0])
        found += [
            element("line", cls="grid", x1=x, x2=x, y1=panel.y, y2=panel.y + HEIGHT),
            text(x, panel.y + HEIGHT + 16, f"{size:,.0f}", "soft", anchor="middle"),
        ]
    return found


def _curves(panel: _Panel, comparison: Comparison, design: str, colour: str) -> list[str]:
    found: list[str] = []
    for engine in ("simulated", "real"):
        pairs = [(row, value) for row in comparison.of(design, engine, _CHURN) if (value := panel.of(row)) is not None]
        points = [panel.at(row.members, value) for row, value in pairs]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        found.append(element("polyline", cls=f"{engine} l-{colour}", points=path, fill="none"))
        for (row, value), (x, y) in zip(pairs, points, strict=True):
            found.append(_dot(x, y, engine, colour, f"{row.members:,} members, {design}, {engine}: {panel.label(value)}"))
    return found


def _dot(x: float, y: float, engine: str, colour: str, title: str = "") -> str:
    return element("circle", hint(title) if title else "", cls=f"dot {engine} d-{colour}", cx=x, cy=y, r=4.0)


def _bars(comparison: Comparison, y: float) -> list[str]:
    cut, late = ([(design, comparison.splits_of(design, fault), colour) for design, _, colour in _DESIGNS] for fault in ("cut", "late"))
    found = _bar_panel(LEFT, y, "partition-time with two owners, members cut off", cut, lambda split: split.figures.two_owners_ms, time_label)
    if any(splits for _, splits, _ in late):
        found += _bar_panel(
            LEFT + PANEL + GAP, y, "partitions left to nobody, a member slow", late, lambda split: split.unowned, lambda value: f"{value:.0f}"
        )
    return found


def _bar_panel(
    x: float, y: float, title: str, splits: Sequence[tuple[str, Sequence[Split], str]], of: Callable[[Split], float], label: Callable[[float], str]
) -> list[str]:
    found = [text(x, y - 10, title, "name")]
    most = max((of(split) for _, many, _ in splits for split in many), default=0) or 1
    seeds = sorted({split.seed for _, many, _ in splits for split in many})
    wide = PANEL / max(1, len(seeds))
    found += [element("line", cls="grid", x1=x, x2=x + PANEL, y1=y + at, y2=y + at) for at in (0.0, BARS)]
    found += [text(x - 6, y + 4, label(most), "soft", anchor="end"), text(x - 6, y + BARS + 4, label(0), "soft", anchor="end")]
    for number, (design, many, colour) in enumerate(splits):
        for item in many:
            high = max(1.5, BARS * of(item) / most)
            left = x + wide * (seeds.index(item.seed) + 0.15 + 0.35 * number)
            line = hint(f"seed {item.seed}, {design}: {label(of(item))}; struck {', '.join(item.struck)}")
            found.append(element("rect", line, cls=f"d-{colour}", x=left, y=y + BARS - high, width=wide * 0.33, height=high))
    found += [text(x + wide * (index + 0.5), y + BARS + 16, str(seed), "soft", anchor="middle") for index, seed in enumerate(seeds)]
    return [*found, text(x + PANEL, y + BARS + 34, "seeds", "soft", anchor="end")]


def _bounds(values: Iterable[float]) -> tuple[float, float]:
    """Return whole decades around the values."""
    numbers = list(values)
    return 10.0 ** math.floor(math.log10(max(1.0, min(numbers)))), 10.0 ** max(1, math.ceil(math.log10(max(numbers) * 0.999)))


def _decades(low: float, high: float) -> list[float]:
    return [10.0**power for power in range(round(math.log10(low)), round(math.log10(high)) + 1)]


def _share(value: float, low: float, high: float) -> float:
    return (math.log10(max(value, low)) - math.log10(low)) / (math.log10(high) - math.log10(low))


def _style() -> str:
    shapes = (
        '.cmp text{font-family:ui-sans-serif,system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-size:11px}'
        ".cmp .title{font-size:15px;font-weight:600}.cmp .name{font-size:12px;font-weight:600}.cmp polyline{stroke-width:1.6}"
        ".cmp polyline.simulated{stroke-dasharray:4 3}.cmp .dot{stroke-width:1.6}"
    )
    light, dark = (_fills({name: values[side] for name, values in COLOURS.items()}) for side in (0, 1))
    return f"{shapes}{light}@media (prefers-color-scheme:dark){{{dark}}}"


def _fills(colours: dict[str, str]) -> str:
    base = f".cmp text{{fill:{colours['ink']}}}.cmp .soft{{fill:{colours['soft']}}}.cmp .paper{{fill:{colours['paper']}}}.cmp .grid{{stroke:{colours['line']}}}"
    lines = "".join(
        f".cmp .l-{name}{{stroke:{colours[name]}}}.cmp .d-{name}{{fill:{colours[name]};stroke:{colours[name]}}}"
        f".cmp .dot.simulated.d-{name}{{fill:{colours['paper']}}}"
        for _, _, name in _DESIGNS
    )
    return base + lines
