"""What a checker listens to, and whose tracker it asks."""

from __future__ import annotations

import pytest
from tests.harness.judging.checkers.stories import busy_group

from groupproof.harness.judging.checkers.classic.universal import UNIVERSAL_CHECKERS
from groupproof.harness.judging.checkers.listening_checker import ListeningChecker, is_frame
from groupproof.harness.judging.checkers.shared.ownership import OwnersNeverOverlap
from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker, TrackingChecker
from groupproof.protocol.trace import Observation


@pytest.mark.parametrize(
    ("kind", "who", "is_one"),
    [
        ("request", "coordinator", True), ("response", "tap", True), ("processed", "coordinator", False), ("transition", "coordinator", False),
        ("request", "kit", False), ("response", "member", False), ("event", "shim", False), ("event", "link", False),
    ],
)  # fmt: skip
def test_only_requests_and_responses_of_a_coordinator_or_a_tap_are_dealt_out(kind: str, who: str, is_one: bool) -> None:
    assert is_frame(Observation(seq=0, at_ns=0, kind=kind, who=who)) is is_one


def test_every_universal_checker_says_what_it_listens_to() -> None:
    assert all(isinstance(make, type) and issubclass(make, ListeningChecker) and make.listens for make in UNIVERSAL_CHECKERS)


def test_a_checker_alone_keeps_its_tracker_up_to_date_and_one_that_shares_leaves_that_to_others() -> None:
    alone, shares, group = OwnersNeverOverlap(), OwnersNeverOverlap(), GroupTracker()
    shares.share(group)
    assert isinstance(shares, TrackingChecker)

    for obs in busy_group():
        list(alone.step(obs))
        list(shares.look(obs))

    assert group.last is None
    assert alone._group.last == busy_group()[-1]
