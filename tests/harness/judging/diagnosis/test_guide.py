"""The operator's guide says what the command says, the most frequent cause first."""

from __future__ import annotations

import re

import pytest
from tests.harness.judging.diagnosis.recordings import by_group, explained, recorded
from tests.project import ROOT

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.reports.texts.advice import ADVICE
from groupproof.harness.reports.texts.rebalance_text import epoch_ms_of, tell

GUIDE = (ROOT / "docs/explain.md").read_text()
SECTIONS = re.findall(r"^## (.*)$", GUIDE, re.M)


@pytest.mark.requirement("DIAG-30")
def test_the_poll_interval_comes_first_with_the_long_rebalances_that_go_with_it() -> None:
    assert SECTIONS[0] == "1. A member did not poll in time (`poll-interval`)"
    first = GUIDE[GUIDE.index(SECTIONS[0]) : GUIDE.index(SECTIONS[1])]
    assert "The most frequent cause, and often together with long rebalances" in first
    assert SECTIONS.index(next(section for section in SECTIONS if "heartbeat-timeout" in section)) > 0


@pytest.mark.requirement("TUNE-01", "TUNE-02", "TUNE-03", "TUNE-04", "TUNE-05", "TUNE-06", "TUNE-07", "TUNE-08")
@pytest.mark.parametrize("id", sorted(ADVICE))
def test_every_piece_of_advice_is_in_the_guide_in_its_own_words(id: str) -> None:
    assert f"**{id}** {ADVICE[id]}" in GUIDE


@pytest.mark.parametrize(
    ("group", "number", "release", "source"),
    [
        ("poll-interval", 2, "4.1.0", "info"),
        ("poll-interval", 2, "1.1.0", "info"),
        ("slow-member", 1, "1.1.0", "all"),
        ("heartbeat-timeout", 2, "4.1.0", "info"),
    ],
)
def test_the_output_in_the_guide_is_the_command_s_own(group: str, number: int, release: str, source: str) -> None:
    text = "\n".join(tell(by_group(explained(release, source))[group][number], epoch_ms_of(recorded(release, source))))

    assert text in GUIDE


@pytest.mark.requirement("DIAG-29")
def test_27_and_22_are_explained_to_applications() -> None:
    assert "`REBALANCE_IN_PROGRESS` (27) means that a rebalance is running" in GUIDE
    assert "`ILLEGAL_GENERATION` (22) that it is over and the member's generation is old" in GUIDE


def test_every_cause_is_spoken_of() -> None:
    assert {cause for cause in Cause if f"`{cause}`" not in GUIDE} <= {Cause.LEFT, Cause.UNREPORTED}
