from __future__ import annotations

from xml.etree import ElementTree as xml

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.harness.reports.pictures.svg import element, hint, text, text_width, time_label


def test_an_element_is_written_from_its_arguments() -> None:
    assert element("rect", cls="lane", x=1.0, y=2.25, width=3, text_anchor=None) == '<rect class="lane" x="1" y="2.2" width="3"/>'
    assert element("g", hint("a"), "b", text_anchor="end") == '<g text-anchor="end"><title>a</title>b</g>'


@given(st.text())
def test_whatever_the_words_are_the_xml_is_sound(words: str) -> None:
    made = xml.fromstring(text(0, 0, words, "name", title=f"told {words}"))

    hidden = made.find("title")
    assert hidden is not None
    assert hidden.text == f"told {hidden.tail or ''}"
    assert len(hidden.tail or "") == len(words)


def test_capitals_are_wider() -> None:
    assert text_width("REBALANCE_IN_PROGRESS") > text_width("rebalance in progress")


@pytest.mark.parametrize(
    ("ms", "label"), [(0, "0 ms"), (40.4, "40 ms"), (999, "999 ms"), (1_000, "1 s"), (1_250, "1.25 s"), (12_000, "12 s"), (60_500, "60.5 s")]
)
def test_times_read_as_people_say_them(ms: float, label: str) -> None:
    assert time_label(ms) == label
