"""Classic groups of other brokers deviate, and no case fails them (`tests/power` has the rest of the cases)."""

from __future__ import annotations

import pytest
from tests.power.coordinators import judgements

from groupproof.coordinator.planted.other_brokers import LEGAL_CLASSIC
from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.model.verdicts import Verdict

SHOWN_BY = {
    "instances-by-joins-alone": ("leave/classic/unknown-instance", Verdict.NON_STRICT),
    "simple-commits-of-nobody": ("commit/classic/simple-with-an-id", Verdict.INFORMATIONAL),
    "old-timeouts-old-heartbeats": ("phase/classic/begun-by-a-session-while-completing", Verdict.NON_STRICT),
    "generation-before-member": ("heartbeat/classic/stranger-preparing", Verdict.NON_STRICT),
    "rebalancing-before-member": ("commit/classic/stranger-completing", Verdict.NON_STRICT),
    "refusals-keep-sessions": ("heartbeat/classic/refused-keeps-nothing", Verdict.NON_STRICT),
    "metadata-of-chosen-protocol-counts": ("join/classic/follower-offers-one-more", Verdict.INFORMATIONAL),
    "leaver-ends-delay": ("delay/classic/one-of-two-leaves", Verdict.NON_STRICT),
    "older-requests-are-refused": ("join/classic/newest-join-is-answered", Verdict.INFORMATIONAL),
    "syncs-of-leavers-are-refused": ("leave/classic/syncing-member", Verdict.INFORMATIONAL),
    "strangers-to-no-group": ("commit/classic/no-group-v8", Verdict.NON_STRICT),
    "shorter-initial-delay": ("delay/classic/first-member-waits", Verdict.NON_STRICT),
}
"""A case that shows each variant, and its verdict."""


def test_each_is_legal_and_has_a_case_that_shows_it() -> None:
    assert {variant.name for variant in LEGAL_CLASSIC if variant.is_legal} == {variant.name for variant in LEGAL_CLASSIC} == SHOWN_BY.keys()


@pytest.mark.parametrize("variant", SHOWN_BY)
def test_what_another_broker_does_is_shown_and_failed_by_no_case(variant: str) -> None:
    case, verdict = SHOWN_BY[variant]

    assert judgements(variant, [item for item in CASES if item.id == case])[case].verdict is verdict
