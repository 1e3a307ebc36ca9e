"""What the group has of a member's assignment after it was computed."""

from __future__ import annotations

from tests.coordinator.server_invariants import ID

from groupproof.coordinator.assignors.stored_order import deep_copy, set_of, stored

T, U = ID["t"], ID["u"]


def test_the_same_partitions_in_another_order_are_no_change() -> None:
    last = {T: (17, 1), U: (0,)}

    assert stored([(U, [0]), (T, [1, 17])], last) is last


def test_a_change_is_stored_in_the_order_of_new_hash_maps() -> None:
    assert list(stored([(U, [33, 1, 17]), (T, [4, 3])], {}).items()) == [(T, (3, 4)), (U, (33, 1, 17))]


def test_a_topic_that_is_no_longer_assigned_is_a_change() -> None:
    assert stored([(T, [0])], {T: (0,), U: (0,)}) == {T: (0,)}


def test_a_copy_is_changed_alone() -> None:
    last = {T: (0, 1)}
    copy = deep_copy(last)
    copy[T].remove(0)
    copy.compute_if_absent(U, lambda: set_of((), 16)).put(3, None)

    assert {topic: tuple(numbers) for topic, numbers in copy.items()} == {T: (1,), U: (3,)}
    assert last == {T: (0, 1)}
