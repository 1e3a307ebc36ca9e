from __future__ import annotations

import pytest
from tests.harness.judging.oracle.target_questions import question_of, shares

from groupproof.coordinator.machine.choices import TargetQuestion
from groupproof.harness.judging.oracle.target_legality import broken_rule, milder_rule


def _broken(question: TargetQuestion, **owned: str) -> str | None:
    rule = broken_rule(question, {name: shares(text) for name, text in owned.items()})
    return None if rule is None else rule.requirement


def _milder(question: TargetQuestion, *, is_certain: bool = True, **owned: str) -> str | None:
    rule = milder_rule(question, {name: shares(text) for name, text in owned.items()}, is_certain=is_certain)
    return None if rule is None else rule.requirement


@pytest.mark.parametrize(
    ("a", "b", "broken"),
    [
        ("t0 t1", "t2 t3", None),
        ("t1 t3", "t0 t2", None),
        ("t0 t1", "t2", "CGA-04"),
        ("t0 t1", "t1 t2 t3", "CGI-11"),
        ("t0 t1 t2", "t3", "CGA-10"),
    ],
)
@pytest.mark.requirement("CGA-04", "CGA-10", "CGI-11")
def test_a_uniform_target_is_whole_and_level_and_gives_nothing_twice(a: str, b: str, broken: str | None) -> None:
    assert _broken(question_of(a="t", b="t"), a=a, b=b) == broken


@pytest.mark.requirement("CGA-05")
def test_nobody_is_given_a_topic_that_it_does_not_subscribe_to() -> None:
    question = question_of(topics={"t": 2, "u": 1}, a="t", b="u")

    assert _broken(question, a="t0 t1", b="u0") is None
    assert _broken(question, a="t0 u0", b="t1") == "CGA-05"


@pytest.mark.parametrize(
    ("a", "b", "c", "broken"),
    [
        ("t0 t1", "t2", "t3", None),
        ("t3", "t2", "t0 t1", None),
        ("t0 t3", "t1", "t2", "CGA-15"),
        ("t0 t1 t2", "t3", "", "CGA-15"),
    ],
)
@pytest.mark.requirement("CGA-15", "CGA-16")
def test_ranges_are_whole_and_level_for_members_in_any_order(a: str, b: str, c: str, broken: str | None) -> None:
    assert _broken(question_of("range", a="t", b="t", c="t"), a=a, b=b, c=c) == broken


@pytest.mark.requirement("CGA-22")
def test_static_members_have_the_first_ranges_by_their_instance_ids() -> None:
    question = question_of("range", instances={"y": "i2", "z": "i1"}, topics={"t": 3}, a="t", y="t", z="t")

    assert _broken(question, a="t2", y="t1", z="t0") is None
    assert _broken(question, a="t0", y="t2", z="t1") == "CGA-22"
    assert _broken(question, a="t2", y="t0", z="t1") == "CGA-22"


@pytest.mark.requirement("CGA-23")
def test_topics_of_one_size_have_the_same_ranges() -> None:
    question = question_of("range", topics={"t": 2, "u": 2}, a="t u", b="t u")

    assert _broken(question, a="t0 u1", b="t1 u0") is None
    assert _milder(question, a="t0 u1", b="t1 u0") == "CGA-23"
    assert _milder(question, a="t1 u1", b="t0 u0") is None


@pytest.mark.requirement("CGA-11")
def test_a_leader_that_moves_more_than_it_needs_gets_advice_if_that_is_certain() -> None:
    question = question_of(last={"a": "t0 t1", "b": "t2 t3"}, a="t", b="t", c="t")

    assert _milder(question, a="t1", b="t2 t3", c="t0") is None
    assert _milder(question, a="t3", b="t0 t1", c="t2") == "CGA-11"
    assert _milder(question, is_certain=False, a="t3", b="t0 t1", c="t2") is None


@pytest.mark.requirement("CGA-13")
def test_uneven_subscriptions_are_as_level_as_they_let_be() -> None:
    question = question_of(topics={"t": 4, "u": 1}, a="t u", b="t")

    assert _milder(question, a="u0 t0", b="t1 t2 t3") is None
    assert _milder(question, a="u0 t0 t1 t2", b="t3") == "CGA-13"
