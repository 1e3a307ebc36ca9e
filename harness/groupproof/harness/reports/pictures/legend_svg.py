"""The key to a timeline's colours and signs, for a picture that stands alone and for the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupproof.harness.reports.pictures.lane_svg import LETTERS
from groupproof.harness.reports.pictures.svg import element, text, text_width
from groupproof.protocol.vocabulary import MemberState

__all__ = ["LEGEND_HEIGHT", "LEGEND_WIDTH", "legend", "legend_inline"]

LEGEND_HEIGHT = 66.0
LEGEND_WIDTH = 1_050.0

_STATES: Final = (
    ("Empty", "group empty"),
    (MemberState.UNJOINED.value, "member unjoined"),
    (MemberState.PREPARING_REBALANCE.value, "preparing: members join"),
    (MemberState.COMPLETING_REBALANCE.value, "completing: members sync"),
    (MemberState.STABLE.value, "stable"),
)
_LETTERS = " ".join(f"{letter} {name}" for name, letter in LETTERS.items())


def legend() -> Iterator[str]:
    """Yield three rows: states, signs, letters."""
    x = 14.0
    for state, name in _STATES:
        yield element("rect", cls=f"s-{state}", x=x, y=6, width=16, height=11, rx=2)
        yield text(x + 21, 15, name, "soft")
        x += 21 + text_width(name) + 14
    yield element("rect", cls="owned", x=x, y=6, width=16, height=11, rx=2)
    yield text(x + 21, 15, "partitions its application was given", "soft")
    yield from _signs()
    yield text(14, 57, f"Requests: {_LETTERS}. Every event has room, quiet stretches are drawn shorter; the times on the axis are true.", "soft")


def _signs() -> Iterator[str]:
    signs = (
        (element("path", cls="struck", d="M0 2h9l-4.5 9z"), "fault (a bar while it lasts)"),
        (element("text", "J", x=0, y=10, cls="letter"), "request"),
        (element("line", cls="beat", x1=4, y1=3, x2=4, y2=10), "heartbeat"),
        (element("path", cls="frame", d="M1 3h6.4l-3.2 6.4z"), "answer"),
        (element("circle", cls="bad", cx=4, cy=6, r=3.6), "error"),
        (element("rect", cls="event", x=2, y=3, width=4, height=6), "callback"),
        (element("path", cls="command", d="M5 2l4 4-4 4-4-4z"), "command"),
        (element("rect", cls="held", x=0, y=1, width=16, height=10), "paused or frozen"),
        (element("path", cls="break", d="M0 10l4-8 4 8 4-8"), "shortened"),
        (element("circle", cls="flag", cx=5, cy=6, r=5.5), "what the verdict rests on"),
    )
    x = 14.0
    for sign, name in signs:
        yield element("g", sign, transform=f"translate({x:g} 26)")
        yield text(x + 21, 36, name, "soft")
        x += 21 + text_width(name) + 12


def legend_inline() -> str:
    """Return the key as a picture for a page that has the style."""
    size = {"width": LEGEND_WIDTH, "height": LEGEND_HEIGHT}
    return element("svg", *legend(), cls="tl", role="img", viewBox=f"0 0 {LEGEND_WIDTH:g} {LEGEND_HEIGHT:g}", **size)
