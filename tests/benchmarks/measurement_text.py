"""What was measured in words, the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Sequence

from tests.benchmarks.measurements import OWN, Aim, Figure, Noise

__all__ = ["aim_text", "figure_text", "noise_text", "side_by_side"]


def side_by_side(figures: Sequence[Figure]) -> tuple[list[str], list[list[str]]]:
    """Return the heads and rows of a table: a row for each quantity, a column for each program, groupproof's own first."""
    subjects = sorted(dict.fromkeys(figure.subject for figure in figures), key=lambda subject: subject != OWN)
    cells = {(figure.name, figure.unit, figure.subject): figure for figure in figures}
    quantities = dict.fromkeys((figure.name, figure.unit) for figure in figures)
    rows = [[name, unit, *(figure_text(cells.get((name, unit, subject))) for subject in subjects)] for name, unit in quantities]
    return ["measured", "unit", *subjects], rows


def figure_text(figure: Figure | None) -> str:
    """Return the median, and behind ± half of how far the rounds lie apart."""
    if figure is None:
        return ""
    value = f"{figure.median:,.0f}" if abs(figure.median) >= 1_000 else f"{figure.median:.3g}"
    return value if figure.spread is None else f"{value} ±{figure.spread / 2:.0%}"


def aim_text(aim: Aim) -> str:
    """Return what was aimed at, and what came of it."""
    bound = f"{'at least' if aim.is_least else 'at most'} {aim.bound:,g}"
    return f"{aim.name}: {aim.median:,.3g}; the aim, {bound}, is {'met' if aim.is_met else 'not met'}"


def noise_text(noise: Noise) -> str:
    """Return the machine's noise."""
    others = "what others did is unknown" if noise.others is None else f"others kept {noise.others:.2f} processors busy"
    return f"{others}, the same work differed by {noise.work_spread:.0%}"
