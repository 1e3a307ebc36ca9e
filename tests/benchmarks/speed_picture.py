"""The picture of what the runs of `make bench` made of the aims: a panel for each aim, a dot for each run on the machine of the newest, the bound as a dashed line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape

from tests.benchmarks.measurements import Aim, BenchRun

from groupproof.harness.reports.pictures.palette import COLOURS

__all__ = ["aims_by_name", "picture"]

_COLUMNS: Final = 3
_WIDE, _HIGH, _GAP, _TOP, _LEFT = 250, 70, 40, 46, 20
_TITLE_LETTERS: Final = 42
_INK, _SOFT, _LINE, _PAPER, _MET, _MISSED = (COLOURS[name][0] for name in ("ink", "soft", "line", "paper", "ok", "failed"))


def aims_by_name(runs: Sequence[BenchRun]) -> dict[str, list[tuple[str, Aim]]]:
    """Return what became of each aim: the commit and the aim of each run on the machine of the newest one, the oldest first."""
    found: dict[str, list[tuple[str, Aim]]] = {}
    for run in runs:
        if run.machine == runs[-1].machine:
            for aim in (aim for part in run.parts.values() for aim in part.aims):
                found.setdefault(aim.name, []).append((run.commit, aim))
    return found


def picture(runs: Sequence[BenchRun]) -> str:
    """Return the picture as SVG."""
    aims = aims_by_name(runs)
    rows = -(-len(aims) // _COLUMNS)
    width, height = _LEFT + _COLUMNS * (_WIDE + _GAP), _TOP + rows * (_HIGH + _TOP)
    panels = [
        _panel(name, dots, _LEFT + at % _COLUMNS * (_WIDE + _GAP), _TOP + at // _COLUMNS * (_HIGH + _TOP))
        for at, (name, dots) in enumerate(aims.items())
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" font-size="11" role="img">'
        f"<title>What each run of make bench made of the aims</title>"
        f'<rect width="{width}" height="{height}" fill="{_PAPER}"/>{"".join(panels)}</svg>\n'
    )


def _panel(name: str, dots: Sequence[tuple[str, Aim]], left: float, top: float) -> str:
    bound = dots[-1][1].bound
    highest = 1.15 * max(bound, *(max(aim.values) for _, aim in dots))
    step = _WIDE / len(dots)

    def up(value: float) -> float:
        return top + _HIGH * (1 - max(0.0, value) / highest)

    marks = [
        f"<g><title>{escape(f'{commit}: {aim.median:.3g}')}</title>"
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{up(min(aim.values)):.1f}" y2="{up(max(aim.values)):.1f}" stroke="{_SOFT}"/>'
        f'<circle cx="{x:.1f}" cy="{up(aim.median):.1f}" r="3.5" fill="{_MET if aim.is_met else _MISSED}"/></g>'
        for x, (commit, aim) in ((left + step * (at + 0.5), dot) for at, dot in enumerate(dots))
    ]
    sign = "≥" if dots[-1][1].is_least else "≤"
    return (
        f'<rect x="{left}" y="{top}" width="{_WIDE}" height="{_HIGH}" fill="none" stroke="{_LINE}"/>'
        + "".join(_text(left, top - 18 + 13 * row, line, _INK) for row, line in enumerate(_lines(name)))
        + f'<line x1="{left}" x2="{left + _WIDE}" y1="{up(bound):.1f}" y2="{up(bound):.1f}" stroke="{_SOFT}" stroke-dasharray="5 4"/>'
        + _text(left + _WIDE - 4, up(bound) - 3, f"{sign} {bound:g}", _SOFT, "end")
        + "".join(marks)
    )


def _lines(name: str) -> tuple[str, str]:
    """Return a title in two lines; where one is enough the first is empty."""
    if len(name) <= _TITLE_LETTERS:
        return "", name
    at = name.rfind(" ", 0, _TITLE_LETTERS)
    return name[:at], name[at + 1 :]


def _text(x: float, y: float, label: str, colour: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{escape(label)}</text>'
