from __future__ import annotations

import re

import pytest

from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.pictures.palette import COLOURS, VERDICT_COLOURS, page_variables, picture_style


def luminance(colour: str) -> float:
    """WCAG 2's relative luminance."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("side", [0, 1], ids=["light", "dark"])
def test_every_text_can_be_read(side: int) -> None:
    paper = COLOURS["paper"][side]
    texts = ("ink", "soft", "link", "fault", "bad", "mark", "ownsline")

    poor = {name: contrast(COLOURS[name][side], paper) for name in texts if contrast(COLOURS[name][side], paper) < 3.9}
    assert poor == {}


@pytest.mark.parametrize("side", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("verdict", Verdict)
def test_a_badge_can_be_read(verdict: Verdict, side: int) -> None:
    assert contrast(COLOURS[VERDICT_COLOURS[verdict]][side], COLOURS["paper"][side]) >= 3.9


@pytest.mark.parametrize("side", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("state", ["empty", "unjoined", "preparing", "completing", "stable"])
def test_the_label_of_a_state_can_be_read(state: str, side: int) -> None:
    label = COLOURS["on"][side]
    assert contrast(COLOURS[state][side], label) >= 4.3


def test_a_picture_of_its_own_has_values_and_both_sides() -> None:
    style = picture_style(alone=True)

    assert "var(" not in style
    assert "@media (prefers-color-scheme:dark)" in style
    assert COLOURS["stable"][0] in style
    assert COLOURS["stable"][1] in style


def test_a_picture_in_a_page_has_the_pages_colours() -> None:
    used = set(re.findall(r"var\(--(\w+)\)", picture_style(alone=False)))

    assert used <= set(COLOURS)
    assert "stable" in used
    assert not re.search(r"#[0-9a-f]{6}", picture_style(alone=False))


def test_the_page_defines_every_colour_for_both_sides_and_for_the_switch() -> None:
    for name in COLOURS:
        assert page_variables().count(f"--{name}:") == 3
