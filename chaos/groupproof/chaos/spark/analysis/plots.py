"""The SVG pictures of an analysis: each group's rebalances over time, their durations, and bars of the worst rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from groupproof.harness.judging.diagnosis.causes import SORTED, Branch, Cause, Kind
from groupproof.harness.reports.pictures.svg import element, hint, text, time_label

__all__ = ["CAUSE_COLOURS", "bars", "colour_of", "curves", "timeline"]

CAUSE_COLOURS: Final = {
    Kind.NEW: "stable", Kind.LOST: "bad", Kind.CHANGED: "completing", Branch.PARTITIONS: "preparing", Branch.COORDINATOR: "mark",
}  # fmt: skip
"""Colours of the palette, by the kind of a rebalance's cause."""

_WIDTH: Final = 900.0
_LEFT: Final = 170.0
_LANE: Final = 26.0
_LANES_MAX: Final = 24
_PLOT: Final = 190.0
_TICKS: Final = 5

Row = Mapping[str, Any]


def colour_of(cause: str | None) -> str:
    """Return the name of a cause's colour; a soft one for an unknown cause."""
    found = SORTED.get(Cause(cause)) if cause is not None else None
    return "soft" if found is None else CAUSE_COLOURS.get(found.kind or found.branch, "soft")


def timeline(rebalances: Sequence[Row], storms: Sequence[Row], shared: Sequence[Row], expiries: Sequence[Row]) -> str:
    """Draw a lane for each group with the longest rebalances: rebalances as bars, storms behind, expired sessions as ticks, two owners below."""
    timed = [row for row in rebalances if row["started_ns"] is not None]
    if not timed:
        return ""
    spent: dict[tuple[str, str, str], float] = {}
    for row in timed:
        spent[_lane(row)] = spent.get(_lane(row), 0) + (row["lasted_ms"] or 0)
    lanes = sorted(sorted(spent, key=lambda lane: -spent[lane])[:_LANES_MAX])
    end_ms = max(row["started_ns"] / 1e6 + (row["lasted_ms"] or 0) for row in timed) or 1.0
    x = _scale(end_ms)
    height = _LANE * len(lanes) + 24
    drawn = [_axis(end_ms, height - 20, x)]
    marks: tuple[tuple[Sequence[Row], Callable[[Row, float], str]], ...] = (
        (storms, lambda row, y: _bar(row, y + 1, _LANE - 6, x, "faultfill", "lasted_ms", f"storm: {row['rebalances']} rebalances")),
        (timed, lambda row, y: _bar(row, y + 4, _LANE - 12, x, colour_of(row["cause"]), "lasted_ms", _row_text(row))),
        (shared, lambda row, y: _bar(row, y + _LANE - 5, 3, x, "bad", "shared_ms", f"{row['client']} shares {row['topic']}-{row['partition']}")),
        (expiries, lambda row, y: _tick(row, y, x)),
    )
    for number, lane in enumerate(lanes):
        y = number * _LANE
        drawn.append(text(0, y + 15, _short(" ".join(part for part in (lane[2], lane[1]) if part)), "name", title=" ".join(lane)))
        for rows, mark in marks:
            drawn += [mark(row, y) for row in rows if _lane(row) == lane]
    return _svg("each group's rebalances over time", height, *drawn)


def curves(named: Mapping[str, Sequence[float]]) -> str:
    """Draw for each name the cumulative distribution of its values (in ms)."""
    kept = {name: sorted(values) for name, values in named.items() if values}
    if not kept:
        return ""
    end_ms = max(values[-1] for values in kept.values()) or 1.0
    x = _scale(end_ms)
    drawn = [_axis(end_ms, _PLOT, x)]
    for share in (0.5, 0.99):
        y = 10 + (_PLOT - 10) * (1 - share)
        drawn += [element("line", x1=_LEFT, x2=_WIDTH, y1=y, y2=y, cls="grid"), text(_LEFT - 8, y + 4, f"{share:.0%}", "soft", anchor="end")]
    for (name, values), colour in zip(kept.items(), ("preparing", "completing", "stable"), strict=False):
        points = [(x(value), 10 + (_PLOT - 10) * (1 - (number + 1) / len(values))) for number, value in enumerate(values)]
        path = f"M{_LEFT:.1f} {_PLOT:.1f} " + " ".join(f"H{px:.1f} V{py:.1f}" for px, py in points)
        drawn.append(element("path", hint(f"{name}: {len(values)}"), d=path, style=f"fill:none;stroke:var(--{colour});stroke-width:2"))
    for number, (name, colour) in enumerate(zip(kept, ("preparing", "completing", "stable"), strict=False)):
        drawn += [
            element("rect", x=0, y=14 + 18 * number, width=12, height=12, style=f"fill:var(--{colour})"),
            text(18, 24 + 18 * number, name, "soft"),
        ]
    return _svg("how long rebalances took", _PLOT + 24, *drawn)


def bars(rows: Sequence[tuple[str, float, str]], *, says: Callable[[float], str] = time_label, colour: str = "completing") -> str:
    """Draw a bar for each (name, value, hint); the longest fills the width."""
    if not rows:
        return ""
    widest = max(value for _, value, _ in rows) or 1.0
    drawn = []
    for number, (name, value, title) in enumerate(rows):
        y = number * 20
        wide = (_WIDTH - _LEFT - 110) * value / widest
        drawn += [
            text(_LEFT - 8, y + 14, _short(name), "soft", anchor="end", title=name),
            element("rect", hint(title), x=_LEFT, y=y + 3, width=max(wide, 1.0), height=14, style=f"fill:var(--{colour})"),
            text(_LEFT + max(wide, 1.0) + 6, y + 14, says(value), "soft"),
        ]
    return _svg("bars", 20.0 * len(rows), *drawn)


def _scale(end: float) -> Callable[[float], float]:
    return lambda value: _LEFT + (_WIDTH - _LEFT - 4) * min(1.0, max(0.0, value / end))


def _axis(end_ms: float, y: float, x: Callable[[float], float]) -> str:
    drawn = []
    for number in range(_TICKS + 1):
        at = end_ms * number / _TICKS
        anchor = "start" if number == 0 else "end" if number == _TICKS else "middle"
        drawn += [element("line", x1=x(at), x2=x(at), y1=0, y2=y, cls="grid"), text(x(at), y + 16, time_label(at), "soft", anchor=anchor)]
    return "".join(drawn)


def _bar(row: Row, y: float, height: float, x: Callable[[float], float], colour: str, lasts: str, title: str) -> str:
    start = (row.get("started_ns") or row.get("since_ns") or 0) / 1e6
    wide = x(start + (row[lasts] or 0)) - x(start)
    text = f"{title}; at {time_label(start)}, {time_label(row[lasts] or 0)}"
    return element("rect", hint(text), x=x(start), y=y, width=max(wide, 2.0), height=height, style=f"fill:var(--{colour})")


def _tick(row: Row, y: float, x: Callable[[float], float]) -> str:
    at = row["at_ns"] / 1e6
    text = hint(f"the session of {row['client'] or row['member']} ended at {time_label(at)}")
    return element("line", text, x1=x(at), x2=x(at), y1=y, y2=y + 6, style="stroke:var(--fault);stroke-width:1.5")


def _row_text(row: Row) -> str:
    who = f" ({row['client']})" if row["client"] else ""
    return f"generation {row['generation']}: {row['cause']}{who}, {row['outcome']}"


def _lane(row: Row) -> tuple[str, str, str]:
    return row["run"], row["case"], row["group"]


def _short(name: str) -> str:
    return name if len(name) <= 26 else f"{name[:12]}…{name[-12:]}"


def _svg(label: str, height: float, *inside: str) -> str:
    box = f"0 0 {_WIDTH:.0f} {height:.0f}"
    return element("svg", *inside, cls="tl", role="img", aria_label=label, width=_WIDTH, height=height, viewBox=box)
