from __future__ import annotations

from typing import Any

import pytest

from groupproof.harness.reports.bundle.differences import by_id, differences


@pytest.mark.parametrize(
    ("report", "due", "named"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["a.b is 1; it comes to 2"]),
        ({"a": True}, {"a": 1}, ["a is true; it comes to 1"]),
        ({}, {"a": None}, ["a is missing; it comes to null"]),
        ({"a": None}, {}, ["a has no place there"]),
        ({"a": ["x", "y"]}, {"a": ["x", "z"]}, ["a lacks z", "a has y, which it does not come to"]),
        ({"a": ["x", "y"]}, {"a": ["y", "x"]}, ["a is in another order, or names something twice"]),
        ({"a": ["x", "x"]}, {"a": ["x"]}, ["a is in another order, or names something twice"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a is [1]; it comes to [1, 2]"]),
        ({"a": []}, {"a": ["x"]}, ['a is []; it comes to ["x"]']),
    ],
)
def test_each_difference_is_named_with_what_is_said_and_what_it_comes_to(report: Any, due: Any, named: list[str]) -> None:
    assert list(differences(report, due)) == named


def test_long_lists_and_values_are_reported_in_short() -> None:
    (lacks,) = differences({"ids": ["x"]}, {"ids": ["x", *(f"case-{number}" for number in range(9))]})
    (text,) = differences({"text": "x" * 999}, {"text": "y"})

    assert lacks == "ids lacks case-0, case-1, case-2, case-3, case-4 and 4 more"
    assert len(text) < 250


def test_a_case_that_is_not_there_shifts_no_other() -> None:
    report, due = ({"cases": [{"id": id, "verdict": "OK"} for id in ids]} for ids in (("b", "c"), ("a", "b", "c")))

    assert list(differences(by_id(report), by_id(due))) == ['cases.a is missing; it comes to {"verdict": "OK"}']
