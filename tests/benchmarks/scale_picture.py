"""The picture of what judging costs: by rows in all, by members and groups for a row; axes are logarithmic, and each engine has its line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from groupproof.harness.reports.pictures.palette import COLOURS

if TYPE_CHECKING:
    from tests.benchmarks.scale import Cost

__all__ = ["picture"]

_WIDE, _HIGH, _GAP, _LEFT, _TOP = 250, 210, 70, 60, 60
_LINES: Final = {"process_cpu_s": ("one process", COLOURS["link"][0], ""), "spark_cpu_s": ("Spark, 2 cores, warm", COLOURS["preparing"][0], "6 3")}
_TITLES: Final = {
    "rows": "rows (groups of 100 members)",
    "members": "members of one group",
    "groups": "groups of 5 members",
}
_HEIGHTS: Final = {"rows": "seconds of processor time"}
_INK, _SOFT, _LINE = (COLOURS[name][0] for name in ("ink", "soft", "line"))


def picture(costs: Sequence[Cost]) -> str:
    """Return the picture as SVG, a panel for each sweep that is there."""
    sweeps = [sweep for sweep in _TITLES if any(cost.sweep == sweep for cost in costs)]
    width, height = _LEFT + len(sweeps) * (_WIDE + _GAP), _TOP + _HIGH + 60
    panels = [_panel([cost for cost in costs if cost.sweep == sweep], sweep, _LEFT + at * (_WIDE + _GAP)) for at, sweep in enumerate(sweeps)]
    legend = "".join(
        f'<line x1="{_LEFT + at * 170}" x2="{_LEFT + at * 170 + 26}" y1="22" y2="22" stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"/>'
        + _text(_LEFT + at * 170 + 32, 26, name, _INK)
        for at, (name, colour, dash) in enumerate(_LINES.values())
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" font-size="12" role="img">'
        f"<title>Processor seconds that judging a trace takes, by its rows, members and groups</title>"
        f'<rect width="{width}" height="{height}" fill="{COLOURS["paper"][0]}"/>{legend}{"".join(panels)}</svg>\n'
    )


def _panel(costs: Sequence[Cost], sweep: str, left: float) -> str:
    xs = [float(getattr(cost, sweep)) for cost in costs]
    ys = [_height(cost, name) for cost in costs for name in _LINES]
    across, up = _decades(xs), _decades(ys)

    def at(x: float, y: float) -> tuple[float, float]:
        return left + _share(x, across) * _WIDE, _TOP + (1 - _share(y, up)) * _HIGH

    grid = "".join(_rule(*at(10.0**number, 10.0 ** up[0]), _power_text(number), is_across=True) for number in range(across[0], across[1] + 1))
    grid += "".join(_rule(*at(10.0 ** across[0], 10.0**number), _power_text(number), is_across=False) for number in range(up[0], up[1] + 1))
    lines = "".join(
        _line([at(float(getattr(cost, sweep)), _height(cost, name)) for cost in costs], colour, dash) for name, (_, colour, dash) in _LINES.items()
    )
    return (
        grid
        + lines
        + _text(left, _TOP - 12, _HEIGHTS.get(sweep, "processor µs a row"), _SOFT)
        + _text(left + _WIDE / 2, _TOP + _HIGH + 40, _TITLES[sweep], _INK, "middle")
    )


def _height(cost: Cost, name: str) -> float:
    """Return what a line shows: the whole cost by rows, and that of one row by what else there is of."""
    seconds = float(getattr(cost, name))
    return seconds if cost.sweep in _HEIGHTS else 1e6 * seconds / cost.rows


def _decades(values: Iterable[float]) -> tuple[int, int]:
    logs = [math.log10(value) for value in values]
    low = math.floor(min(logs) + 1e-9)
    return low, max(low + 1, math.ceil(max(logs) - 1e-9))


def _share(value: float, decades: tuple[int, int]) -> float:
    return (math.log10(value) - decades[0]) / (decades[1] - decades[0])


def _power_text(decade: int) -> str:
    return f"{10**decade:,}" if decade >= 0 else f"{10.0**decade:g}"


def _rule(x: float, y: float, label: str, *, is_across: bool) -> str:
    if is_across:
        return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - _HIGH:.1f}" y2="{y:.1f}" stroke="{_LINE}"/>' + _text(x, y + 18, label, _SOFT, "middle")
    return f'<line x1="{x:.1f}" x2="{x + _WIDE:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{_LINE}"/>' + _text(x - 6, y + 4, label, _SOFT, "end")


def _line(points: Sequence[tuple[float, float]], colour: str, dash: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"/>{dots}'


def _text(x: float, y: float, label: str, colour: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{label}</text>'
