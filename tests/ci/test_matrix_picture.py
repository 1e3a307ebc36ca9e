from __future__ import annotations

import re
from xml.etree import ElementTree

from matrix_picture import matrix_picture
from tests.harness.reports.report_of import report

FIRST, SECOND = "join/classic/no-bytes", "leave/classic/close"
SVG = "{http://www.w3.org/2000/svg}"


def bars(picture: str, name: str) -> list[str]:
    """Return the places of the bars in one colour."""
    found = ElementTree.fromstring(picture).findall(f"{SVG}path[@class='v-{name}']")
    return [place for path in found for place in re.findall(r"M(\d+ \d+)", path.attrib["d"])]


def test_each_case_of_each_subject_has_a_bar_in_its_verdicts_colour() -> None:
    picture = matrix_picture([report({FIRST: ("OK", None), SECOND: ("FAILED", None)}), report({FIRST: ("OK", None)}, name="other")])

    assert len(bars(picture, "ok")) == 2
    assert len(bars(picture, "failed")) == 1
    assert len({place.split()[0] for place in bars(picture, "ok")}) == 1, "one case stands in one column"


def test_a_verdict_that_needs_words_has_them_and_what_a_client_said_is_escaped() -> None:
    made = report({SECOND: ("FAILED", None)}, name="<b>")
    made["cases"][0]["observed"] = "It said <i>."

    picture = matrix_picture([made])

    assert "It said &lt;i&gt;." in picture
    assert "<b>" not in picture


def test_the_key_names_the_verdicts_that_occur() -> None:
    words = "".join(ElementTree.fromstring(matrix_picture([report({FIRST: ("OK", None)})])).itertext())

    assert "OK" in words
    assert "FAILED" not in words


def test_a_picture_of_the_same_runs_is_the_same() -> None:
    assert matrix_picture([report({FIRST: ("OK", None)})]) == matrix_picture([report({FIRST: ("OK", None)})])
