"""The colours of everything in a report, defined once, each with its light and its dark value.

A page uses them as CSS variables, which follow the reader's choice. A standalone picture has the values themselves, because not every SVG viewer
supports variables.
"""

from __future__ import annotations

from string import Template
from typing import Final

from groupproof.harness.model.verdicts import Verdict

__all__ = ["COLOURS", "VERDICT_COLOURS", "page_variables", "picture_style"]

COLOURS: Final[dict[str, tuple[str, str]]] = {
    "ink": ("#1b2430", "#e6ebf2"),
    "soft": ("#5d6876", "#9aa6b5"),
    "line": ("#d9dfe7", "#2c3643"),
    "paper": ("#ffffff", "#10161e"),
    "raised": ("#f5f7fa", "#19212b"),
    "sunken": ("#eceff4", "#0b1016"),
    "link": ("#1559c0", "#79b0ff"),
    "empty": ("#dbe1e9", "#6d7987"),
    "unjoined": ("#c3ccd7", "#8b98a7"),
    "preparing": ("#f4b64a", "#d6982a"),
    "completing": ("#8ba8f5", "#6f8feb"),
    "stable": ("#62bf8e", "#43a873"),
    "dead": ("#7a8593", "#77828f"),
    "owns": ("#d9f2e5", "#17352a"),
    "ownsline": ("#2f9163", "#4fb985"),
    "fault": ("#b81d56", "#f4719d"),
    "faultfill": ("#fbdce7", "#47202f"),
    "bad": ("#c62828", "#ff7f7f"),
    "mark": ("#6139d1", "#ab92ff"),
    "on": ("#121b26", "#0a0f15"),
    "ok": ("#1d8a52", "#4cc38a"),
    "nonstrict": ("#9a6700", "#e3b341"),
    "info": ("#1d6fb8", "#6cb6ff"),
    "failed": ("#c62828", "#ff7b7b"),
    "unimplemented": ("#6b7684", "#909cab"),
    "inconclusive": ("#8a4fbf", "#c79bf2"),
    "broken": ("#a3340b", "#ff9a66"),
    "excused": ("#a2457a", "#e79ac3"),
}

VERDICT_COLOURS: Final[dict[Verdict, str]] = {
    Verdict.OK: "ok",
    Verdict.NON_STRICT: "nonstrict",
    Verdict.INFORMATIONAL: "info",
    Verdict.FAILED: "failed",
    Verdict.UNIMPLEMENTED: "unimplemented",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.BROKEN: "broken",
    Verdict.EXCUSED: "excused",
}


_SHAPES: Final = """
.tl{font-family:ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-size:11px}
.tl .soft{font-size:10px}.tl .name,.tl .title{font-weight:600;font-size:12px}.tl .title{font-size:14px}.tl .on{font-size:10.5px}
.tl .letter{font-size:9.5px;font-weight:700}.tl .small{font-size:9.5px}.tl .strong{font-size:10.5px;font-weight:600}.tl .flagtext{font-size:11px;font-weight:700}
.tl .on,.tl .small,.tl .strong,.tl .flagtext{pointer-events:none}
"""

_FILLS: Final = Template("""
.tl text{fill:$ink}.tl .paper{fill:$paper}.tl .soft{fill:$soft}.tl .lane{fill:$raised}.tl .grid{stroke:$line}.tl .on{fill:$on}
.tl .break{stroke:$soft;fill:none;stroke-width:1.2}.tl .hatch{fill:$ink;opacity:.3}.tl .frame,.tl .letter{fill:$soft}.tl .beat{stroke:$soft;opacity:.6}
.tl .s-Empty{fill:$empty}.tl .s-UNJOINED{fill:$unjoined}.tl .s-PreparingRebalance,.tl .s-PREPARING_REBALANCE,.tl .s-Assigning{fill:$preparing}
.tl .s-CompletingRebalance,.tl .s-COMPLETING_REBALANCE,.tl .s-Reconciling,.tl .s-RECONCILING{fill:$completing}.tl .s-Stable,.tl .s-STABLE{fill:$stable}.tl .s-Dead{fill:$dead}
.tl .held{fill:url(#tl-held)}.tl .owned{fill:$owns;stroke:$ownsline}.tl .event{fill:$ownsline}
.tl .bar{fill:$faultfill;stroke:$fault;stroke-width:1.2}.tl .struck,.tl .faultname{fill:$fault}.tl .strike{stroke:$fault;stroke-dasharray:2 3}
.tl .bad,.tl .lag,.tl .flag,.tl .latename{fill:$bad}.tl .flag{stroke:$paper;stroke-width:1.5}.tl .flagtext{fill:$paper}.tl .late{stroke:$bad;stroke-dasharray:4 3}
.tl .command{fill:$paper;stroke:$mark;stroke-width:1.3}.tl .mark{stroke:$mark;stroke-dasharray:4 3}.tl .markname{fill:$mark}
""")


def picture_style(*, alone: bool) -> str:
    """Return the style of timelines: `alone` for a separate file, else for a page that has `page_variables`."""
    if not alone:
        return _SHAPES + _FILLS.substitute({name: f"var(--{name})" for name in COLOURS})
    light = _FILLS.substitute({name: values[0] for name, values in COLOURS.items()})
    dark = _FILLS.substitute({name: values[1] for name, values in COLOURS.items()})
    return f"{_SHAPES}{light}@media (prefers-color-scheme:dark){{{dark}}}"


def page_variables() -> str:
    """Return the page's variables. They follow the reader's system, unless the page's own switch overrides it."""
    light, dark = (";".join(f"--{name}:{values[side]}" for name, values in COLOURS.items()) for side in (0, 1))
    return (
        f":root{{color-scheme:light;{light}}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}"
    )
