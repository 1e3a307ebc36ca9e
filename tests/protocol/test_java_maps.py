"""The order of Java's hash maps, against what `java.util.HashMap` and Kafka's TimelineHashMap printed (JDK 17, kafka-server-common 4.3.1)."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.protocol.java_hash import java_hash
from groupproof.protocol.java_maps import JavaMap, capacity_of_copy, hash_order, int_hash, timeline_order, uuid_hash

NAMES = ["Aa", "BB", "t0", "t1", "t2", "orders", "payments", "C#", "Bb", "x"]


def test_keys_go_by_their_bucket_and_then_by_their_arrival() -> None:
    assert hash_order(NAMES, java_hash) == ["Aa", "BB", "C#", "Bb", "payments", "x", "orders", "t0", "t1", "t2"]
    assert hash_order(["BB", "Aa"], java_hash) == ["BB", "Aa"]  # the same hash


@pytest.mark.parametrize(
    ("numbers", "capacity", "order"),
    [
        ([33, 1, 17, 0], 16, [0, 33, 1, 17]),
        ([33, 1, 17, 0], 64, [0, 1, 17, 33]),
        (list(range(0, 160, 16)), 16, [0, 32, 64, 96, 128, 16, 48, 80, 112, 144]),  # the ninth key of a bin doubles the table
        ([4, 3, 2, 1], 1, [1, 2, 3, 4]),
    ],
)
def test_partitions_go_by_their_lowest_bits(numbers: list[int], capacity: int, order: list[int]) -> None:
    assert hash_order(numbers, int_hash, capacity) == order


def test_a_computed_key_goes_to_the_front_of_its_bin_and_a_put_one_to_its_end() -> None:
    numbers: JavaMap[int, str] = JavaMap(int_hash)
    numbers.put(1, "first")
    numbers.put(17, "put")
    numbers.compute_if_absent(33, lambda: "computed")
    numbers.compute_if_absent(17, lambda: "not asked for")

    assert list(numbers.items()) == [(33, "computed"), (1, "first"), (17, "put")]


def test_a_key_that_was_removed_comes_back_at_the_end_and_one_that_is_replaced_stays() -> None:
    numbers: JavaMap[int, str] = JavaMap(int_hash)
    for number in (1, 17, 33):
        numbers.put(number, "")
    numbers.remove(1)
    numbers.remove(2)
    numbers.put(17, "again")
    numbers.put(1, "back")

    assert list(numbers) == [17, 33, 1]
    assert (len(numbers), numbers[17], 2 in numbers) == (3, "again", False)


@pytest.mark.parametrize(("size", "capacity"), [(0, 16), (11, 16), (12, 17), (24, 33), (100, 134)])
def test_a_copy_has_room_for_four_thirds(size: int, capacity: int) -> None:
    assert capacity_of_copy(size) == capacity


def test_the_hash_of_an_id_is_kafkas() -> None:
    assert uuid_hash(str(uuid.UUID(int=0))) == 0
    assert uuid_hash("12345678-1234-5678-9abc-def012345678") == 0x88888888


@pytest.mark.parametrize(("keys", "order"), [("ab", "ba"), ("abcde", "cebda"), ("abcdefgh", "fchebgda")])
def test_a_timeline_map_goes_by_slots_and_in_a_slot_from_the_newest_to_the_oldest(keys: str, order: str) -> None:
    assert "".join(timeline_order(keys, size_max=len(keys))) == order


def test_a_timeline_map_never_shrinks() -> None:
    once_ten, once_thirty = timeline_order(NAMES, size_max=10), timeline_order(NAMES, size_max=30)

    assert sorted(once_ten) == sorted(once_thirty) == sorted(NAMES)
    assert once_ten != once_thirty


@given(st.lists(st.integers(0, 400), unique=True, max_size=60), st.integers(1, 128))
def test_the_order_of_many_keys_is_that_of_a_map_that_got_them_one_by_one(numbers: list[int], capacity: int) -> None:
    table: JavaMap[int, None] = JavaMap(int_hash, capacity)
    for number in numbers:
        table.put(number, None)

    assert hash_order(numbers, int_hash, capacity) == list(table)


@given(st.lists(st.tuples(st.sampled_from(("put", "compute", "remove")), st.integers(0, 7), st.integers(0, 30)), max_size=120))
def test_the_table_is_that_of_a_map_that_counts_its_bins_for_each_key(steps: list[tuple[str, int, int]]) -> None:
    kept: JavaMap[int, None] = JavaMap(int_hash)
    anew: JavaMap[int, None] = JavaMap(int_hash)
    for step, low, high in steps:
        key = low + 64 * high if low < 4 else high  # half of the keys share few bins
        for numbers in (kept, anew):
            if step == "remove":
                numbers.remove(key)
            elif step == "put":
                numbers.put(key, None)
            else:
                numbers.compute_if_absent(key, lambda: None)
        anew._sizes = None

        assert (kept.table, list(kept)) == (anew.table, list(anew))


@given(st.lists(st.integers(-5, 70_000), unique=True, min_size=2, max_size=40))
def test_numbers_of_any_size_go_by_the_code_of_each(numbers: list[int]) -> None:
    spread = sorted(numbers, key=lambda number: ((number & 0xFFFFFFFF) ^ ((number & 0xFFFFFFFF) >> 16)) & 255)

    assert hash_order(numbers, int_hash, 256) == spread


@given(
    numbers=st.lists(st.integers(0, 300), unique=True, max_size=60), stride=st.sampled_from((1, 16, 32)), capacity=st.sampled_from((1, 16, 32, 64))
)
def test_numbers_put_at_once_go_as_those_put_one_by_one(numbers: list[int], stride: int, capacity: int) -> None:
    at_once, one_by_one = JavaMap[int, None](int_hash, capacity), JavaMap[int, None](int_hash, capacity)
    keys = [number * stride for number in numbers]
    at_once.put_all(keys)
    for key in keys:
        one_by_one.put(key, None)

    assert (list(at_once), at_once.table) == (list(one_by_one), one_by_one.table)
