from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
from tests.choosing import LONG, PARAMETERS_MAX, SECONDS, SHARE, dealt, too_long_for_a_change_in_hand
from tests.project import ROOT

pytest_plugins = ["pytester"]


class FakeItem:
    """As much of an item as is asked."""

    def __init__(self, nodeid: str, *marks: str, fixtures: tuple[str, ...] = ()) -> None:
        self.nodeid, self.fixturenames, self._marks = nodeid, fixtures, marks

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self._marks else None


def items(*wanted: FakeItem) -> list[pytest.Item]:
    return cast("list[pytest.Item]", list(wanted))


def many(count: int, make: Callable[[int], FakeItem]) -> list[pytest.Item]:
    return items(*(make(number) for number in range(count)))


@pytest.mark.parametrize("mark", LONG)
def test_a_change_in_hand_is_tried_by_nothing_long(mark: str) -> None:
    quick, long = items(FakeItem("test_a.py::test_x"), FakeItem("test_a.py::test_y", mark))

    assert too_long_for_a_change_in_hand([quick, long]) == {long}


def test_of_many_parameters_a_share_is_run_the_same_each_time_and_of_few_all() -> None:
    few = many(PARAMETERS_MAX, lambda number: FakeItem(f"test_a.py::test_few[{number}]"))
    much = many(SHARE * 40, lambda number: FakeItem(f"test_a.py::test_many[{number}]"))

    left_out = too_long_for_a_change_in_hand([*few, *much])

    assert left_out <= {*much}
    assert 20 <= len(much) - len(left_out) <= 80
    assert left_out == too_long_for_a_change_in_hand([*few, *much])


@pytest.mark.parametrize(("workers", "quick_ones"), [(1, 0), (2, 0), (4, 0), (5, 1), (8, 1), (9, 2)])
def test_one_worker_begins_with_spark_most_others_with_what_is_slow_and_nothing_is_lost(workers: int, quick_ones: int) -> None:
    spark = many(3, lambda number: FakeItem(f"spark{number}", "slow", fixtures=("spark",)))
    slow = many(14, lambda number: FakeItem(f"slow{number}", "slow"))
    quick = many(80, lambda number: FakeItem(f"quick{number}"))
    mixed = sorted([*spark, *slow, *quick], key=lambda item: item.nodeid[::-1])

    order = dealt(mixed, workers)

    assert sorted(order, key=id) == sorted(mixed, key=id)
    assert {*order[:3]} == {*spark}
    begins = [len(mixed) * number // workers for number in range(1, workers)]
    slow_ones = len(begins) - quick_ones
    assert [order[begin] in slow for begin in begins] == [True] * slow_ones + [False] * quick_ones
    assert order[-1] in quick


def test_more_long_tests_than_a_part_holds_are_all_run() -> None:
    spark = many(30, lambda number: FakeItem(f"spark{number}", fixtures=("spark",)))
    quick = many(10, lambda number: FakeItem(f"quick{number}"))

    assert dealt([*quick, *spark], 4) == [*spark, *quick]


def test_the_longest_file_is_begun_first() -> None:
    long = max(SECONDS, key=lambda file: SECONDS[file])
    slow = [*many(30, lambda number: FakeItem(f"test_{number}.py::test_x", "slow")), *items(FakeItem(f"{long}::test_y", "slow"))]
    quick = many(60, lambda number: FakeItem(f"quick{number}"))

    order = dealt([*quick, *slow], 3)

    assert order.index(slow[-1]) in (len(order) // 3, len(order) * 2 // 3)


def test_the_files_with_a_time_of_their_own_are_there() -> None:
    assert [file for file in SECONDS if not (ROOT / file).is_file()] == []


SHARING = """
import pytest

@pytest.fixture(scope="module", params=["a", "b"])
def costly(request):
    return request.param

def test_quick(costly): pass

@pytest.mark.slow
def test_slow(costly): pass

@pytest.mark.slow
@pytest.mark.parametrize("number", range(9))
def test_alone(number): pass
"""


def test_what_stands_on_one_fixture_is_given_to_one_worker(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmarkers = slow")
    found, _ = pytester.inline_genitems("-p", "no:randomly", pytester.makepyfile(SHARING))

    order = [item.name for item in dealt(found[::-1], 4)]

    for param in "ab":
        places = [place for place, name in enumerate(order) if name.endswith(f"[{param}]")]
        assert places == [places[0], places[0] + 1]
