from __future__ import annotations

import pytest
from tests.harness.judging.oracle.target_questions import beat, described, question_of, shares

from groupproof.harness.judging.oracle.recorded_targets import RangeTargets, evidence_of, is_as_shown, is_wholly_shown, reconstructed


@pytest.mark.requirement("CGA-04")
def test_a_description_tells_the_target_of_its_epoch_alone() -> None:
    question = question_of(a="t", b="t")
    coming = [described(1, 1, {"a": "t0 t1 t2 t3"}), described(2, 2, {"a": "t1 t3", "b": "t0 t2"}), described(3, 3, {"a": "t0", "b": "t1"})]

    evidence = evidence_of(question, coming, with_orders=True)

    assert evidence.whole == {"a": shares("t1 t3"), "b": shares("t0 t2")}
    assert evidence.seq == 102
    assert reconstructed(question, evidence, RangeTargets(question)) == evidence.whole
    assert is_wholly_shown(evidence.whole, evidence)


@pytest.mark.requirement("CGR-01", "CGR-10")
def test_heartbeats_tell_what_is_free_already_and_what_is_to_be_kept() -> None:
    question = question_of(last={"a": "t0 t1 t2 t3"}, a="t", b="t")
    coming = [beat(1, "b", 2, "", asked_at=0), beat(2, "a", 1, "t2 t3")]

    evidence = evidence_of(question, coming, with_orders=True)

    assert (evidence.has["a"], evidence.lacks["a"]) == (shares("t2 t3"), shares("t0 t1"))
    assert reconstructed(question, evidence, RangeTargets(question)) == {"a": shares("t2 t3"), "b": shares("t0 t1")}
    assert not is_as_shown({"a": shares("t0 t1"), "b": shares("t2 t3")}, evidence)
    assert evidence_of(question, coming, with_orders=False).lacks == {}


def test_an_order_that_comes_after_a_later_target_says_nothing_of_this_one() -> None:
    question = question_of(last={"a": "t0 t1 t2 t3"}, a="t", b="t")
    coming = [beat(1, "b", 3, "t0", asked_at=0), beat(2, "a", 1, "t2 t3")]

    evidence = evidence_of(question, coming, with_orders=True)

    assert (evidence.has, evidence.lacks, evidence.whole) == ({}, {}, {})
    assert evidence.later == dict.fromkeys(shares("t0"), "b")
    assert reconstructed(question, evidence, RangeTargets(question), by_later=True)["b"] > shares("t0")


def test_what_nobody_tells_stays_where_it_was_as_long_as_that_is_level() -> None:
    question = question_of(last={"a": "t0 t1", "b": "t2 t3"}, a="t", b="t", c="t")

    owned = reconstructed(question, evidence_of(question, [beat(1, "c", 2, "t3")], with_orders=True), RangeTargets(question))

    assert owned == {"a": shares("t0 t1"), "b": shares("t2"), "c": shares("t3")}


@pytest.mark.requirement("CGA-15")
def test_ranges_are_completed_to_ranges() -> None:
    question = question_of("range", a="t", b="t", c="t")

    owned = reconstructed(question, evidence_of(question, [beat(1, "c", 2, "t0 t1")], with_orders=True), RangeTargets(question))

    assert owned == {"a": shares("t2"), "b": shares("t3"), "c": shares("t0 t1")}


def test_each_order_of_ranges_is_computed_once_and_given_as_often_as_asked() -> None:
    question = question_of("range", a="t", b="t", c="t")
    ranges = RangeTargets(question)
    last = evidence_of(question, [beat(1, "c", 2, "t0 t1"), beat(2, "b", 2, "t2")], with_orders=True)
    first = evidence_of(question, [beat(1, "a", 2, "t0 t1")], with_orders=True)

    assert ranges.fitting(last) == ranges.fitting(last) == {"a": shares("t3"), "b": shares("t2"), "c": shares("t0 t1")}
    assert ranges.fitting(first) == {"a": shares("t0 t1"), "b": shares("t2"), "c": shares("t3")}
    assert ranges.fitting(evidence_of(question, [beat(1, "a", 2, "t0 t3")], with_orders=True)) is None
    assert RangeTargets(question_of(a="t", b="t")).fitting(first) is None
