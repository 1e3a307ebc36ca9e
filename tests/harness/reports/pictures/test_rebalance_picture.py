"""The picture is the timeline of reports, with phases and causes in it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from tests.harness.judging.diagnosis.recordings import by_group, explained, recorded

from groupproof.harness.reports.pictures.rebalance_picture import picture_of


def _texts(svg: str) -> list[str]:
    """Return what is written in a picture, without the hints."""
    found = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return ["".join([element.text or "", *(child.tail or "" for child in element)]) for element in found]


@pytest.mark.parametrize("source", ["info", "all", "wire"])
def test_each_rebalance_is_marked_with_its_cause_in_whatever_the_trace_was_made_from(source: str) -> None:
    texts = _texts(picture_of("poll-interval", recorded("4.1.0", source), by_group(explained("4.1.0", source))["poll-interval"]))

    assert [text for text in texts if text in ("first-member poll-a", "new-member poll-b", "poll-interval poll-b", "member-returned poll-b")] == [
        "first-member poll-a", "new-member poll-b", "poll-interval poll-b", "member-returned poll-b",
    ]  # fmt: skip
    assert "Why group poll-interval rebalanced" in texts
    assert ("poll-b" in texts) == (source != "info"), "a lane for each member, where requests are known"


def test_phases_that_never_ended_are_drawn_until_what_follows() -> None:
    svg = picture_of("coordinator-moved", recorded("4.1.0", "info"), by_group(explained("4.1.0", "info"))["coordinator-moved"])

    assert svg.count('class="s-PreparingRebalance"') >= 3
    assert "coordinator-moved moved-a" in _texts(svg)
