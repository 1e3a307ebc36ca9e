from __future__ import annotations

from xml.etree import ElementTree as xml

from groupproof.harness.reports.pictures.lane_svg import LETTERS
from groupproof.harness.reports.pictures.legend_svg import LEGEND_WIDTH, legend, legend_inline
from groupproof.harness.reports.pictures.svg import text_width


def test_the_legend_explains_every_state_sign_and_letter() -> None:
    made = "".join(legend())

    for state in ("Empty", "UNJOINED", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE"):
        assert f'class="s-{state}"' in made
    for sign in ("owned", "struck", "letter", "beat", "frame", "bad", "event", "command", "held", "break", "flag"):
        assert f'class="{sign}"' in made
    for name, letter in LETTERS.items():
        assert f"{letter} {name}" in made


def test_the_legend_fits() -> None:
    root = xml.fromstring(legend_inline())

    for element in root.iter("text"):
        assert float(element.get("x") or 0) + 0.86 * text_width(element.text or "") <= LEGEND_WIDTH
