"""The matrix as a picture: a row for each subject, a bar for each case in the colour of its verdict, the cases of an area side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from groupproof.harness.model.report_json import title_of
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.pictures.palette import COLOURS, VERDICT_COLOURS
from groupproof.harness.reports.pictures.svg import element, hint, text, text_width

__all__ = ["matrix_picture"]

_BAR, _ROW, _AREA_GAP, _MARGIN, _TOP = 4.0, 22.0, 5.0, 12.0, 74.0
_SILENT: Final = (Verdict.OK, Verdict.UNIMPLEMENTED)
_SHAPE: Final = f"h{_BAR - 0.6}v{_ROW - 6}h-{_BAR - 0.6}z"
_STYLE: Final = ".mx{font-family:ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:11px}"


def matrix_picture(reports: Sequence[Mapping[str, Any]]) -> str:
    """Return an SVG of the reports, in the order given; a case that a run did not play has no bar there."""
    ids = list(dict.fromkeys(case["id"] for report in reports for case in report["cases"]))
    order = list(dict.fromkeys(_area(id) for id in ids))
    places, areas, end = _places(sorted(ids, key=lambda id: order.index(_area(id))))
    left = _MARGIN + max(text_width(title_of(report)) for report in reports) + 10
    width, height = left + end + _MARGIN, _TOP + _ROW * len(reports) + 34
    parts = [
        *(_area_name(left + x, name) for name, x in areas),
        *(part for number, report in enumerate(reports) for part in _row(report, left, _TOP + number * _ROW, places)),
        *_key(reports, left, height - 16),
    ]
    return element(
        "svg", element("style", _style()), element("rect", width=width, height=height, cls="paper"), *parts,
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width:.0f} {height:.0f}", width=width, height=height, cls="mx", role="img",
    ) + "\n"  # fmt: skip


def _area(id: str) -> str:
    return id.partition("/")[0]


def _places(ids: Sequence[str]) -> tuple[dict[str, float], list[tuple[str, float]], float]:
    """Return where each case's bar stands, where each area begins, and where the last ends, in pixels from the first."""
    places: dict[str, float] = {}
    areas: list[tuple[str, float]] = []
    x = 0.0
    for area, members in groupby(ids, key=_area):
        areas.append((area, x))
        for id in members:
            places[id] = x
            x += _BAR
        x += _AREA_GAP
    return places, areas, x - _AREA_GAP


def _area_name(x: float, name: str) -> str:
    return element("g", text(0, 0, name, "soft"), transform=f"translate({x + 4:.0f} {_TOP - 8:.0f}) rotate(-55)")


def _row(report: Mapping[str, Any], left: float, y: float, places: Mapping[str, float]) -> Iterator[str]:
    """Yield a subject's name and bars: those that need no words as one path, the others with their sentence as a hint."""
    yield text(left - 10, y + 13, title_of(report), "name", anchor="end")
    for verdict in _SILENT:
        bars = "".join(f"M{left + places[case['id']]:.0f} {y + 2:.0f}{_SHAPE}" for case in report["cases"] if case["verdict"] == verdict.value)
        if bars:
            yield element("path", d=bars, cls=f"v-{VERDICT_COLOURS[verdict]}")
    for case in report["cases"]:
        verdict = Verdict(case["verdict"])
        if verdict not in _SILENT:
            label = hint(": ".join(filter(None, (f"{case['id']} {verdict.value}", case["observed"]))))
            yield element("path", label, d=f"M{left + places[case['id']]:.0f} {y + 2:.0f}{_SHAPE}", cls=f"v-{VERDICT_COLOURS[verdict]}")


def _key(reports: Sequence[Mapping[str, Any]], x: float, y: float) -> Iterator[str]:
    """Yield the names of the verdicts that occur, each with its colour."""
    occurring = {case["verdict"] for report in reports for case in report["cases"]}
    for verdict in Verdict:
        if verdict.value in occurring:
            yield element("rect", x=x, y=y - 8, width=9, height=9, cls=f"v-{VERDICT_COLOURS[verdict]}")
            yield text(x + 14, y, verdict.value, "soft")
            x += 14 + text_width(verdict.value) + 16


def _style() -> str:
    light, dark = (_colours(side) for side in (0, 1))
    return f"{_STYLE}{light}@media (prefers-color-scheme:dark){{{dark}}}"


def _colours(side: int) -> str:
    verdicts = "".join(f".mx .v-{name}{{fill:{COLOURS[name][side]}}}" for name in VERDICT_COLOURS.values())
    named = (("text", "ink"), (".soft", "soft"), (".paper", "paper"))
    return verdicts + "".join(f".mx {selector}{{fill:{COLOURS[name][side]}}}" for selector, name in named)
