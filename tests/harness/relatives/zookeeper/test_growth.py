"""What one member more costs, as the group grows."""

from __future__ import annotations

import pytest

from groupproof.harness.relatives.zookeeper.growth import CHURNS, grow


@pytest.mark.requirement("ZK-70", "ZK-73")
@pytest.mark.parametrize("members", [2, 7, 40])
def test_each_member_rebalances_and_reads_each_others_registration(members: int) -> None:
    figures = grow(members, 3)

    assert figures.stable_ms is not None
    assert (figures.rebalances, figures.watch_events, figures.partitions) == (members + 1, members, 2 * members)
    assert figures.attempts == figures.rebalances + figures.conflicts
    assert figures.operations["get"] >= figures.attempts * (members + 1)


def test_reads_grow_with_the_square_of_the_members() -> None:
    small, large = grow(50, 1), grow(200, 1)

    assert 12 < large.operations["get"] / small.operations["get"] < 18
    assert small.watch_events == 50
    assert large.watch_events == 200


@pytest.mark.parametrize("churn", CHURNS)
def test_the_same_seed_gives_the_same_figures(churn: str) -> None:
    assert grow(5, 7, churn=churn) == grow(5, 7, churn=churn)
    assert grow(5, 7, churn=churn).unowned == 0


@pytest.mark.requirement("TIMER-34")
def test_a_crash_costs_the_session_timeout_before_anything_else() -> None:
    crashed, left = grow(5, 2, churn="crash").stable_ms, grow(5, 2, churn="leave").stable_ms

    assert crashed is not None
    assert left is not None
    assert crashed - left > 3_000


def test_a_conflict_costs_the_backoff() -> None:
    found = [grow(4, seed) for seed in range(12)]
    slow = [figures.stable_ms for figures in found if figures.conflicts]
    fast = [figures.stable_ms for figures in found if not figures.conflicts]

    assert slow
    assert fast
    assert all(stable_ms is not None and 2_000 <= stable_ms < 9_000 for stable_ms in slow)
    assert all(stable_ms is not None and stable_ms < 200 for stable_ms in fast)


@pytest.mark.parametrize(("members", "churn"), [(0, "join"), (4, "explode")])
def test_a_churn_that_cannot_be_is_refused(members: int, churn: str) -> None:
    with pytest.raises(ValueError, match="a group has a member at least"):
        grow(members, 1, churn=churn)


@pytest.mark.soak
@pytest.mark.parametrize("churn", CHURNS)
def test_a_group_of_ten_thousand_reads_a_hundred_million_nodes_for_one_member(churn: str) -> None:
    figures = grow(10_000, 1, churn=churn)

    assert figures.requests > 99_000_000
    assert figures.rebalances >= 9_999
    assert figures.stable_ms is not None
    assert figures.stable_ms > 1_000_000
