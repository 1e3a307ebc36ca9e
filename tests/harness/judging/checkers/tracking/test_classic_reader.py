"""The classic reader is the tracker's for whoever has spoken no other dialect (`test_group_tracker.py` has its rules one by one)."""

from __future__ import annotations

import pytest
from tests.traces import ID, Story

from groupproof.harness.judging.checkers.tracking.classic_reader import CLASSIC_READER
from groupproof.harness.judging.checkers.tracking.member_ledger import MemberLedger
from groupproof.protocol.vocabulary import MemberState


def _read(story: Story) -> MemberLedger:
    ledger = MemberLedger()
    for obs in story.trace:
        if obs.kind in ("request", "response") and obs.client is not None:
            (CLASSIC_READER.asked if obs.kind == "request" else CLASSIC_READER.answered)(ledger, obs, obs.client)
    return ledger


def test_a_join_and_a_sync_make_a_member_that_owns_its_assignment() -> None:
    ledger = _read(Story().member(gets=[("t", 0)]))

    mine = ledger.members["m0"]
    assert (mine.member, mine.generation, mine.state) == (ID, 1, MemberState.STABLE)
    assert ledger.owned("m0") == {("t", 0)}
    assert ledger.generation == 1


@pytest.mark.requirement("CLIENT-64")
def test_a_refusal_of_an_older_membership_ends_nothing() -> None:
    story = Story().member(gets=[("t", 0)])
    story.beat(member="m0-older", error=25)

    assert _read(story).is_member("m0")
