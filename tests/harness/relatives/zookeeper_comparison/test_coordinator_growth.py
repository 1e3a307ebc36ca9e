from __future__ import annotations

import pytest

from groupproof.harness.relatives.zookeeper.growth import grow
from groupproof.harness.relatives.zookeeper_comparison.coordinator_growth import grow_coordinated


@pytest.mark.requirement("ZK-70", "ZK-73", "ZK-74")
def test_a_member_more_is_one_decision_of_a_coordinator_and_a_rebalance_of_each_member_on_zookeeper() -> None:
    coordinated, watching = grow_coordinated(32, 1), grow(32, 1)

    assert coordinated.rebalances == 1
    assert coordinated.requests["JoinGroup"] == 32 + 2  # the newcomer asks twice: first for its id
    assert coordinated.requests["SyncGroup"] == 33
    assert watching.rebalances >= 33
    assert watching.watch_events >= 32
    assert watching.requests > 10 * coordinated.total


def test_requests_of_a_coordinator_grow_with_the_members_and_those_of_zookeeper_with_their_square() -> None:
    small, large = grow_coordinated(16, 1, churn="leave"), grow_coordinated(64, 1, churn="leave")
    assert 3 < large.total / small.total < 5
    assert 8 < grow(64, 1, churn="leave").requests / grow(16, 1, churn="leave").requests < 16


@pytest.mark.parametrize("churn", ["join", "leave", "crash"])
def test_the_same_arguments_give_the_same_row(churn: str) -> None:
    row = grow_coordinated(8, 3, churn=churn)
    assert row == grow_coordinated(8, 3, churn=churn)
    assert row.churn == churn
    assert row.stable_ms is not None


def test_a_crash_is_found_by_the_session_timeout() -> None:
    row = grow_coordinated(8, 1, churn="crash")
    assert row.stable_ms is not None
    assert row.stable_ms > 3_000


def test_a_churn_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="the churn is join, leave, crash"):
        grow_coordinated(4, 1, churn="vanish")
