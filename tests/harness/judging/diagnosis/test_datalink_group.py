"""Why groups of DataLink's workers rebalanced, from a trace of a switch of the Managers and of an operator's wish."""

from __future__ import annotations

import pytest

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of
from groupproof.harness.judging.diagnosis.reasons import reason_of
from groupproof.harness.judging.diagnosis.rebalances import DATALINK, Rebalance
from groupproof.harness.relatives.datalink.manager_switch import Switching, play
from groupproof.harness.reports.texts.advice import advice_for
from groupproof.harness.reports.texts.rebalance_text import tell


@pytest.fixture(scope="module")
def found() -> list[Rebalance]:
    return rebalances_of(play(Switching(seed=1, workers=3, tasks=6, before_s=5.0, after_s=1.0)).trace)


@pytest.mark.requirement("MGR-33")
def test_the_first_rebalance_with_the_other_manager_is_the_switch_s(found: list[Rebalance]) -> None:
    causes = [rebalance.cause for rebalance in found]

    assert {rebalance.protocol for rebalance in found} == {DATALINK}
    assert causes[0] is Cause.FIRST_MEMBER
    (moved,) = [rebalance for rebalance in found if rebalance.cause is Cause.MOVED]
    assert (moved.node, moved.generation) == (1, 1)
    assert "the new active one knew no group" in moved.words
    assert [advice.id for advice in advice_for(moved)] == ["MGR-33"]


@pytest.mark.requirement("IDJ-15")
def test_nothing_is_said_to_wait_for_an_initial_delay_and_no_advice_is_a_consumer_s(found: list[Rebalance]) -> None:
    assert not [waited for rebalance in found for waited in rebalance.awaited_to_join if "initial" in waited.why]
    assert {advice.id for rebalance in found for advice in advice_for(rebalance)} <= {"MGR-33", "PLAN-02", "DIAG-28", "TUNE-03"}


def test_the_group_of_a_rebalance_is_named(found: list[Rebalance]) -> None:
    assert next(iter(tell(found[0], None))).startswith("group g of DataLink's workers, rebalance 1: generation 0 → 1")


@pytest.mark.requirement("TR-128")
def test_an_operators_request_is_a_separate_cause() -> None:
    reason = reason_of("forced by the operator")

    assert reason is not None
    assert reason.cause is Cause.FORCED
