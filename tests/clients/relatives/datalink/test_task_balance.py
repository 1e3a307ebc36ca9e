"""Costs on capacities: compared with the best that brute force finds."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupproof.clients.relatives.datalink.task_balance import SEARCHED_MAX, balanced, heaviest

WORKERS = "abcd"


def _best(capacities: dict[str, float], costs: dict[str, float]) -> float:
    """Return the least greatest load of all placements there are."""
    found = float("inf")
    for places in product(capacities, repeat=len(costs)):
        loads = dict.fromkeys(capacities, 0.0)
        for place, cost in zip(places, costs.values(), strict=True):
            loads[place] += cost
        found = min(found, max(loads[capacity] / capacities[capacity] for capacity in capacities))
    return found


@pytest.mark.requirement("PLAN-01")
@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3), st.lists(st.integers(1, 100), min_size=1, max_size=7),
)  # fmt: skip
def test_small_cases_come_within_a_tenth_of_the_best_possible(sizes: list[int], prices: list[int]) -> None:
    capacities = {WORKERS[index]: float(size) for index, size in enumerate(sizes)}
    costs = {f"t{index}": float(price) for index, price in enumerate(prices)}

    placed = balanced(capacities, costs)

    assert sorted(task for tasks in placed.values() for task in tasks) == sorted(costs)
    assert heaviest(placed, capacities, costs) <= _best(capacities, costs) * 1.1


@pytest.mark.soak
@settings(max_examples=300)
@given(
    st.lists(st.integers(1, 4), min_size=2, max_size=4), st.lists(st.integers(1, 100), min_size=4, max_size=8),
)  # fmt: skip
def test_larger_ones_do_so_too(sizes: list[int], prices: list[int]) -> None:
    capacities = {WORKERS[index]: float(size) for index, size in enumerate(sizes)}
    costs = {f"t{index}": float(price) for index, price in enumerate(prices)}

    assert heaviest(balanced(capacities, costs), capacities, costs) <= _best(capacities, costs) * 1.1


@pytest.mark.requirement("PLAN-01")
def test_where_greed_goes_wrong_the_search_finds_the_best() -> None:
    costs = {"a": 3.0, "b": 3.0, "c": 2.0, "d": 2.0, "e": 2.0}

    placed = balanced({"x": 1.0, "y": 1.0}, costs)

    assert heaviest(placed, {"x": 1.0, "y": 1.0}, costs) == 6.0


@given(st.integers(1, 7), st.integers(0, 60))
def test_equal_costs_are_balanced_within_one(workers: int, tasks: int) -> None:
    placed = balanced({f"w{index}": 1.0 for index in range(workers)}, {f"t{index}": 1.0 for index in range(tasks)})

    counts = [len(item) for item in placed.values()]
    assert max(counts) - min(counts) <= 1


def test_of_very_many_tasks_greed_is_enough_and_quick() -> None:
    costs = {f"t{index}": float(1 + index % 17) for index in range(20 * SEARCHED_MAX)}
    capacities = {f"w{index}": 1.0 + index % 3 for index in range(30)}

    ideal = sum(costs.values()) / sum(capacities.values())

    assert heaviest(balanced(capacities, costs), capacities, costs) <= ideal * 1.1


def test_a_bigger_worker_has_more_capacity() -> None:
    placed = balanced({"big": 3.0, "small": 1.0}, {f"t{index}": 1.0 for index in range(8)})

    assert {key: len(tasks) for key, tasks in placed.items()} == {"big": 6, "small": 2}
