"""Who gets and who gives the next partition of a topic."""

from __future__ import annotations

from groupproof.coordinator.assignors.member_balancer import MemberBalancer


def test_the_poorest_get_first_and_all_of_a_level_in_turn() -> None:
    sizes = [2, 0, 1]
    balancer = MemberBalancer([0, 1, 2], sizes)
    takers = []
    for _ in range(6):
        takers.append(balancer.next_least_loaded())
        sizes[takers[-1]] += 1

    assert takers == [1, 1, 2, 1, 2, 0]
    assert sizes == [3, 3, 3]


def test_the_richest_give_first_and_those_that_have_nothing_of_the_topic_are_left_out() -> None:
    balancer = MemberBalancer([0, 1, 2], [5, 5, 0])

    assert balancer.imbalance == 5
    assert balancer.next_most_loaded() == 1
    balancer.exclude_most_loaded()
    assert balancer.next_most_loaded() == 0
    balancer.exclude_most_loaded()
    assert balancer.next_most_loaded() == 2
    balancer.exclude_most_loaded()
    assert balancer.next_most_loaded() is None


def test_ranges_one_apart_are_balanced() -> None:
    balancer = MemberBalancer([0, 1], [3, 1])
    assert not balancer.is_balanced
    assert (balancer.next_most_loaded(), balancer.next_least_loaded()) == (0, 1)
    assert not balancer.is_balanced
    balancer.next_least_loaded()

    assert balancer.is_balanced
