"""A dialect brings checkers of members, an invariant, and what keeps its coordinator from being judged."""

from __future__ import annotations

from tests.harness.toy_dialect.lease_dialect import LEASE
from tests.harness.toy_dialect.lease_judging import LEASE_CHECKERS, EpochsWereLent, OneHolderOfAnEpoch

from groupproof.harness.judging.checkers.classic.classic_checkers import CLASSIC_CHECKERS


def test_each_run_has_checkers_of_its_own() -> None:
    assert LEASE_CHECKERS.dialect is LEASE
    assert [type(make()) for make in LEASE_CHECKERS.members] == [EpochsWereLent]
    assert isinstance(LEASE_CHECKERS.invariants(), OneHolderOfAnEpoch)
    assert LEASE_CHECKERS.blind_spots == ()
    assert CLASSIC_CHECKERS.invariants() is not CLASSIC_CHECKERS.invariants()
