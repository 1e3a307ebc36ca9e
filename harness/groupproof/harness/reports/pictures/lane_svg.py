"""Draws one lane: states, owned partitions, and the frames, events and commands below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from groupproof.harness.reports.pictures.scale import Placing
from groupproof.harness.reports.pictures.svg import element, hint, text, text_width, time_label
from groupproof.harness.reports.pictures.timeline import RECONCILING, Bar, Lane, Span, Tick
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState, MemberState

__all__ = ["GUTTER", "LANE_HEIGHT", "LETTERS", "SHORT", "called", "glyph", "lane_parts", "stretch"]

GUTTER = 76.0
STATE_HEIGHT = 20.0
OWNED_HEIGHT = 15.0
TICK_HEIGHT = 25.0
LANE_HEIGHT = STATE_HEIGHT + OWNED_HEIGHT + TICK_HEIGHT

SHORT: Final = {
    GroupState.PREPARING_REBALANCE.value: "Preparing",
    GroupState.COMPLETING_REBALANCE.value: "Completing",
    MemberState.UNJOINED.value: "unjoined",
    MemberState.PREPARING_REBALANCE.value: "joining",
    MemberState.COMPLETING_REBALANCE.value: "syncing",
    MemberState.STABLE.value: "stable",
    RECONCILING: "reconciling",
}
"""The short form of a state whose own name is long."""

LETTERS: Final = {
    Api.FIND_COORDINATOR.title: "F",
    Api.JOIN_GROUP.title: "J",
    Api.SYNC_GROUP.title: "S",
    Api.LEAVE_GROUP.title: "L",
    Api.OFFSET_COMMIT.title: "C",
    Api.OFFSET_FETCH.title: "O",
}
"""The letter that stands for a request."""

# A MEMBER_ID_REQUIRED answer (KIP-394) and an announced rebalance are normal steps of the protocol.
_USUAL = frozenset({ErrorCode.MEMBER_ID_REQUIRED.name, ErrorCode.REBALANCE_IN_PROGRESS.name})
_QUIET_ANSWERS = frozenset({Api.HEARTBEAT.title, Api.CONSUMER_GROUP_HEARTBEAT.title, Api.OFFSET_FETCH.title, Api.FIND_COORDINATOR.title})


def lane_parts(lane: Lane, y: float, at: Placing, right: float) -> Iterator[str]:
    """Yield a member's lane from `y` down. Labels end before `right`."""
    yield text(GUTTER - 10, y + 14, lane.name, "name", anchor="end")
    yield text(GUTTER - 10, y + STATE_HEIGHT + 12, "owns", "soft", anchor="end")
    for span in lane.states:
        yield from stretch(span, y, STATE_HEIGHT, at)
    for span in lane.held:
        left, end = at.edges(span.start, span.end)
        title = at.titled(span.start, span.end, span.state)
        yield element("rect", title, cls="held", x=left, y=y, width=max(end - left, 2), height=STATE_HEIGHT)
    for span in lane.owned:
        yield from _owned(span, y + STATE_HEIGHT + 2, at)
    yield from _ticks([(at.x(tick.at), tick) for tick in lane.ticks], y + STATE_HEIGHT + OWNED_HEIGHT + 3, right)


def stretch(span: Span, y: float, height: float, at: Placing) -> Iterator[str]:
    """Yield a state's box with the longest label that fits. A state without length has no box."""
    left, right = at.edges(span.start, span.end)
    if right - left < 0.5:
        return
    name = " · ".join(part for part in (span.state, span.label, span.note) if part)
    title = at.titled(span.start, span.end, name)
    yield element("rect", title, cls=f"s-{span.state}", x=left, y=y, width=right - left - 0.6, height=height, rx=3)
    fitting = next((label for label in _labels(span) if text_width(label) + 8 <= right - left), None)
    if fitting is not None:
        yield text(left + 5, y + height / 2 + 3.8, fitting, "on")


def _labels(span: Span) -> Iterator[str]:
    """Yield the possible labels of a state's box, the longest first."""
    short = SHORT.get(span.state, span.state)
    if span.label:
        generation = span.label.replace("generation", "gen")
        if span.note:
            yield f"{short} · {span.label} · {span.note}"
            yield f"{short} · {generation} · {span.note}"
        yield f"{short} · {span.label}"
        yield f"{short} · {generation}"
        yield generation
    else:
        yield span.state if span.state in {state.value for state in GroupState} else short
    yield short


def _owned(span: Span, y: float, at: Placing) -> Iterator[str]:
    left, right = at.edges(span.start, span.end)
    title = at.titled(span.start, span.end, f"owns {span.label}")
    yield element("rect", title, cls="owned", x=left, y=y, width=max(right - left - 1, 1.5), height=12, rx=2)
    if text_width(span.label) + 4 <= right - left:
        yield text(left + 4, y + 9.4, span.label, "small")


def _ticks(ticks: Iterable[tuple[float, Tick]], y: float, right: float) -> Iterator[str]:
    """Yield the glyphs of a lane's frames and, where there is room, the errors and commands below them."""
    free_from = 0.0
    for x, tick in ticks:
        yield glyph(tick, x, y)
        label = _label(tick)
        if label is None:
            continue
        left = min(x - 4, right - text_width(label))
        if left >= free_from:
            free_from = left + text_width(label)
            yield text(left, y + 20, label, "small markname" if tick.kind == "command" else "small bad" if _is_bad(tick) else "soft")


def _label(tick: Tick) -> str | None:
    if tick.kind == "command":
        return tick.name if tick.name not in ("subscribe", "close") else None
    if tick.name == "error":
        return tick.detail or tick.name
    return tick.error or (tick.name if tick.kind == "end" else None)


def _is_bad(tick: Tick) -> bool:
    return (tick.error is not None and tick.error not in _USUAL) or tick.kind == "end" or tick.name == "error"


def glyph(tick: Tick, x: float, y: float) -> str:
    """Return the sign of one frame, event or command, with its description as a hint."""
    title = hint(" ".join(part for part in (tick.name, tick.kind, tick.error, tick.detail, "at", time_label(tick.at.ms)) if part))
    if _is_bad(tick):
        return element("circle", title, cls="bad", cx=x, cy=y + 5, r=3.6)
    if tick.kind == "command":
        return element("path", title, cls="command", d=f"M{x:.1f} {y + 1:.1f}l4 4-4 4-4-4z")
    if tick.kind == "event":
        return element("rect", title, cls="event", x=x - 2, y=y + 2, width=4, height=6)
    if tick.kind == "request":
        return _request(tick, x, y, title)
    if tick.name in _QUIET_ANSWERS and tick.error is None:
        return ""
    return element("path", title, cls="frame", d=f"M{x - 3.2:.1f} {y + 2.5:.1f}h6.4l-3.2 6.4z")


def _request(tick: Tick, x: float, y: float, title: str) -> str:
    letter = LETTERS.get(tick.name)
    if letter is None:
        return element("line", title, cls="beat", x1=x, y1=y + 2, x2=x, y2=y + 8)
    return element("text", title, letter, x=x, y=y + 8.8, cls="letter", text_anchor="middle")


def called(bar: Bar) -> str:
    """Return a fault's name with its action."""
    return f"{bar.name} ({bar.action})" if bar.action and bar.action != bar.name else bar.name
