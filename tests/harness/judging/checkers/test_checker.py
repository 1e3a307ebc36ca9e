from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.judging.checkers.stories import busy_group

from groupproof.harness.judging.checkers.checker import Checker, Newest, Numbers, UnderWay, Waiting, findings_of
from groupproof.harness.judging.checkers.classic.invariants import GroupInvariants
from groupproof.harness.judging.checkers.classic.universal import UNIVERSAL_CHECKERS
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation


@given(st.lists(st.integers(-3, 12)))
def test_numbers_are_a_set_in_as_few_ranges_as_there_are(added: list[int]) -> None:
    numbers = Numbers()
    for number in added:
        numbers.add(number)

    assert [number for number in range(-5, 15) if number in numbers] == sorted(set(added))
    assert bool(numbers) is bool(added)
    assert len(numbers._starts) == len([number for number in set(added) if number - 1 not in added])


def test_nothing_but_a_number_is_in_numbers() -> None:
    numbers = Numbers()
    numbers.add(1)

    assert None not in numbers
    assert "1" not in numbers


def test_what_waits_comes_out_when_its_time_is_over_and_in_order() -> None:
    waiting: Waiting[str] = Waiting(100)
    waiting.add(0, "a")
    waiting.add(50, "b")
    waiting.add(60, "c")

    assert list(waiting.due(100)) == []
    assert list(waiting.due(151)) == ["a", "b"]
    assert list(waiting.rest()) == ["c"]
    assert list(waiting.rest()) == []


def test_of_the_newest_as_many_are_known_as_are_kept() -> None:
    newest: Newest[str, int] = Newest(2)
    for key in ("a", "b", "a"):
        newest.set(key, 1)

    assert not newest.has_forgotten
    newest.set("c", 2)
    assert newest.has_forgotten
    assert [newest.get(key) for key in ("a", "b", "c")] == [1, None, 2]


@pytest.mark.parametrize("before", [[], [1], [1, 2, 3]])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_new_entries_that_are_set_at_once_are_known_as_one_by_one(before: list[int], count: int) -> None:
    at_once, one_by_one = Newest[int, int](3), Newest[int, int](3)
    for newest in (at_once, one_by_one):
        for key in before:
            newest.set(key, 0)
    keys = [10 + number for number in range(count)]
    at_once.set_new(keys, keys)
    for key in keys:
        one_by_one.set(key, key)

    assert at_once == one_by_one
    assert list(at_once.entries) == list(one_by_one.entries)


def test_a_request_is_under_way_until_it_is_answered_or_its_connection_ends() -> None:
    under_way: UnderWay[int] = UnderWay()
    asked = [Observation(seq=number, at_ns=0, kind="request", connection=number % 2, correlation=number) for number in range(4)]
    for number, obs in enumerate(asked):
        under_way.ask(obs, number)

    assert under_way.of(asked[0]) == 0
    assert under_way.answered(asked[0]) == 0
    assert under_way.of(asked[0]) is None
    assert under_way.answered(asked[0]) is None
    assert under_way.closed(Observation(seq=9, at_ns=0, kind="event", who="link", connection=1, body={"name": "connected"})) == []
    assert under_way.closed(Observation(seq=9, at_ns=0, kind="event", who="link", connection=1, body={"name": "closed"})) == [1, 3]
    assert under_way.rest() == [2]


def test_what_is_under_way_stands_in_the_order_of_the_requests() -> None:
    under_way: UnderWay[int] = UnderWay()
    for number in range(4):
        under_way.ask(Observation(seq=number, at_ns=0, kind="request", connection=number % 2, correlation=9 - number), number)

    assert under_way.rest() == [0, 1, 2, 3]


@pytest.mark.parametrize("make", [*UNIVERSAL_CHECKERS, GroupInvariants], ids=lambda make: make.__name__)
def test_a_stored_checker_continues_where_it_stopped(make: Callable[[], Checker]) -> None:
    trace = busy_group()
    whole = list(findings_of(make(), trace))

    checker = make()
    found: list[Finding] = []
    for obs in trace:
        found += checker.step(obs)
        checker = pickle.loads(pickle.dumps(checker))

    assert [*found, *checker.end()] == whole


def test_the_busy_group_breaks_every_rule_that_is_always_judged() -> None:
    broken = {make.__name__ for make in UNIVERSAL_CHECKERS if list(findings_of(make(), busy_group()))}

    assert broken == {make.__name__ for make in UNIVERSAL_CHECKERS}
