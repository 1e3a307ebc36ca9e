from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.epoch_traces import BOTH, EpochStory
from tests.traces import findings, verdict

from groupproof.harness.judging.case_checkers.consumer.epoch_join import (
    acknowledges,
    carries_instance,
    have_ids_of_their_own,
    is_one_member,
    joins_again,
    joins_in_full,
    learns_assignment,
    names_assignor,
    names_rebalance_timeout,
    says_again,
    says_little_when_idle,
    subscribes_to,
)
from groupproof.harness.model.case import Judge
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import ErrorCode

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def joining(**columns: Any) -> EpochStory:
    story = EpochStory()
    story.hb(0, gets=1, gives=BOTH, **columns)
    story.end(100)
    return story


@pytest.mark.parametrize(
    ("columns", "requirement"),
    [
        ({"member": ""}, "CGC-04"),
        ({"body": {"rebalance_timeout_ms": -1}}, "CGC-07"),
        ({"owns": BOTH}, "CGC-07"),
        ({"body": {"topic_partitions": None}}, "CGC-07"),
        ({"body": {"subscribed_topic_names": []}}, "CGC-07"),
        ({"body": {"subscribed_topic_regex": "t.*"}}, "CGC-13"),
    ],
)
def test_a_join_says_all_that_it_must(columns: dict[str, Any], requirement: str) -> None:
    wrong = [finding.requirement for finding in findings(joins_in_full("m0"), joining(**columns)) if finding.verdict is Verdict.FAILED]

    assert wrong == [requirement]
    assert verdict(joins_in_full("m0"), joining()) is Verdict.OK


def test_in_version_0_the_broker_names_the_member() -> None:
    assert verdict(joins_in_full("m0"), joining(member="", version=0)) is Verdict.OK


def test_an_empty_regex_beside_names_is_none() -> None:
    assert verdict(joins_in_full("m0"), joining(body={"subscribed_topic_regex": ""})) is Verdict.OK


def test_a_regex_is_a_subscription() -> None:
    assert verdict(joins_in_full("m0"), joining(body={"subscribed_topic_names": [], "subscribed_topic_regex": "t.*"})) is Verdict.OK


@pytest.mark.parametrize(
    ("judge", "found", "expected"),
    [
        (names_rebalance_timeout("m0", 30_000), {}, Verdict.OK),
        (names_rebalance_timeout("m0", 41_000), {}, Verdict.NON_STRICT),
        (names_assignor("m0", None), {}, Verdict.OK),
        (names_assignor("m0", None), {"server_assignor": "uniform"}, Verdict.INFORMATIONAL),
        (names_assignor("m0", "range"), {"server_assignor": "range"}, Verdict.OK),
        (names_assignor("m0", "range"), {}, Verdict.FAILED),
    ],
)
def test_a_join_carries_what_was_set(judge: Judge, found: dict[str, str], expected: Verdict) -> None:
    assert verdict(judge, joining(body=found)) is expected


@pytest.mark.parametrize(("leave", "expected"), [("one", Verdict.OK), (None, Verdict.FAILED)])
def test_a_static_member_names_its_instance_when_it_leaves(leave: str | None, expected: Verdict) -> None:
    story = EpochStory()
    story.hb(0, gets=1, instance="one")
    story.hb(1)
    story.hb(-2, instance=leave)

    assert verdict(carries_instance("m0", "one"), story) is expected
    assert verdict(carries_instance("m0", "one", leaving=False), story) is Verdict.OK


@pytest.mark.parametrize(("between", "expected"), [(None, Verdict.OK), ("one", Verdict.OK), ("other", Verdict.FAILED)])
def test_a_static_member_may_leave_its_instance_out_in_between_and_name_no_other(between: str | None, expected: Verdict) -> None:
    story = EpochStory()
    story.hb(0, gets=1, instance="one")
    story.hb(1, instance=between)

    assert verdict(carries_instance("m0", "one", leaving=False), story) is expected


def test_no_heartbeats_are_no_proof() -> None:
    for judge in (joins_in_full("m0"), carries_instance("m0", "one"), have_ids_of_their_own("m0"), acknowledges("m0")):
        with pytest.raises(NotReached):
            verdict(judge, EpochStory().mark("a"))


@pytest.mark.parametrize(("second", "expected"), [("b", Verdict.OK), ("a", Verdict.FAILED)])
def test_two_members_of_one_id_are_no_members(second: str, expected: Verdict) -> None:
    story = EpochStory().settled(member="a")
    story.hb(0, "m1", gets=2, member=second)
    story.end(500)

    assert verdict(have_ids_of_their_own("m0", "m1"), story) is expected


def test_a_client_that_never_got_its_id_is_no_ghost() -> None:
    story = EpochStory()
    story.ask(0, member="", version=0)
    story.at(500).hb(0, member="", version=0)
    story.hb(1, gets=1)

    assert verdict(is_one_member("m0"), story.end(1_000)) is Verdict.OK


@pytest.mark.parametrize(("second", "expected"), [("m0-1", Verdict.OK), ("another", Verdict.NON_STRICT)])
def test_a_member_that_joins_again_with_another_id_leaves_a_ghost(second: str, expected: Verdict) -> None:
    story = EpochStory()
    story.ask(0)
    story.at(500).hb(0, member=second)

    assert verdict(is_one_member("m0"), story.end(1_000)) is expected


@pytest.mark.parametrize(
    ("at_ms", "owned", "expected"),
    [(50, BOTH, Verdict.OK), (2_500, BOTH, Verdict.NON_STRICT), (50, BOTH[:1], Verdict.FAILED), (None, BOTH, Verdict.FAILED)],
)
def test_an_assignment_is_acknowledged_at_once_and_whole(at_ms: float | None, owned: Any, expected: Verdict) -> None:
    story = EpochStory()
    story.hb(0, gets=1, gives=BOTH)
    if at_ms is not None:
        story.at(at_ms).hb(1, owns=owned)
    story.end(9_000)

    assert verdict(acknowledges("m0"), story) is expected


def test_an_assignment_that_is_overtaken_or_repeated_need_not_be_acknowledged_again() -> None:
    story = EpochStory()
    story.hb(0, gets=1, gives=BOTH[:1])
    story.at(10).hb(1, gives=BOTH, full=True, owns=())
    story.at(20).hb(1, gives=BOTH, full=True, owns=BOTH)
    story.at(500).hb(1, gives=BOTH, full=True, owns=BOTH)
    story.end(9_000)

    assert verdict(acknowledges("m0"), story) is Verdict.OK


@pytest.mark.parametrize(("owned", "expected"), [(BOTH, Verdict.OK), (BOTH[:1], Verdict.FAILED)])
def test_an_assignment_is_acknowledged_to_the_coordinator_that_repeats_it_after_another_refused_the_heartbeat(owned: Any, expected: Verdict) -> None:
    story = EpochStory()
    story.hb(0, gets=1, gives=BOTH)
    story.at(90).hb(1, owns=(), error=ErrorCode.NOT_COORDINATOR)
    story.at(120).hb(1, gives=BOTH, full=True, owns=())
    story.at(190).hb(1, owns=owned)
    story.end(9_000)

    assert verdict(acknowledges("m0"), story) is expected


@pytest.mark.parametrize(("full", "expected"), [(False, Verdict.OK), (True, Verdict.NON_STRICT)])
def test_an_idle_member_does_not_send_everything_each_time(full: bool, expected: Verdict) -> None:
    story = EpochStory().settled()
    story.mark("idle")
    for _ in range(3):
        story.hb(1, full=full, owns=BOTH if full else None)
    story.end()

    assert verdict(says_little_when_idle("m0", after="idle"), story) is expected


def refused(again: Callable[[EpochStory], object]) -> EpochStory:
    story = EpochStory()
    story.hb(0, gets=1, gives=BOTH)
    story.struck("error", 1, LOADING, owns=BOTH)
    again(story.at(200))
    story.end(9_000)
    return story


def test_what_was_refused_is_said_again() -> None:
    judge = says_again("m0", after="error")

    assert verdict(judge, refused(lambda story: story.hb(1, owns=BOTH))) is Verdict.OK
    assert verdict(judge, refused(lambda story: story.hb(1))) is Verdict.FAILED


@pytest.mark.parametrize(
    ("names", "at_ms", "expected"), [(["t", "u"], 500, Verdict.OK), (["t"], 500, Verdict.FAILED), (["t", "u"], 5_000, Verdict.NON_STRICT)]
)
def test_a_new_subscription_is_sent_whole_and_in_time(names: list[str], at_ms: float, expected: Verdict) -> None:
    story = EpochStory().settled()
    story.mark("more").at(at_ms).hb(1, body={"subscribed_topic_names": names})
    story.end(9_000)

    assert verdict(subscribes_to("m0", ("u", "t"), after="more", within_ms=1_000), story) is expected


@pytest.mark.parametrize(("owned", "expected"), [(BOTH, Verdict.OK), (BOTH[:1], Verdict.FAILED)])
def test_an_assignment_whose_answer_was_lost_is_learned_all_the_same(owned: Any, expected: Verdict) -> None:
    story = EpochStory().settled(gets=BOTH[:1])
    story.fault("lost").at(1_000).hb(1, full=True, owns=owned)
    story.end(12_000)

    assert verdict(learns_assignment("m0", after="lost", partitions=2), story) is expected


def test_a_member_that_gives_up_unasked_has_reported_it_with_its_subscription() -> None:
    story = EpochStory().settled()
    story.mark("less").hb(1, body={"subscribed_topic_names": ["t"]}, owns=BOTH[:1])
    story.end(9_000)

    assert verdict(acknowledges("m0", after="less"), story) is Verdict.OK


@pytest.mark.parametrize(("error", "again", "expected"), [(16, True, Verdict.OK), (16, False, Verdict.FAILED), (0, False, Verdict.OK)])
def test_a_refused_heartbeat_acknowledges_nothing(error: int, again: bool, expected: Verdict) -> None:
    story = EpochStory()
    story.hb(0, gets=1, gives=BOTH)
    story.hb(1, owns=BOTH, error=error)
    story.hb(1, owns=BOTH if again else None)
    story.end(9_000)

    assert verdict(acknowledges("m0"), story) is expected


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: story.hb(0, gets=1, gives=BOTH), Verdict.OK),
        (lambda story: story.hb(1), Verdict.FAILED),
        (lambda story: story.tell("error", error="X", fatal=False), Verdict.FAILED),
        (lambda story: story.tell("error", error="X", fatal=True), Verdict.NON_STRICT),
    ],
)
def test_a_join_that_was_never_answered_is_sent_again(does: Callable[[EpochStory], object], expected: Verdict) -> None:
    story = EpochStory()
    story.ask(0, owns=())
    does(story.fault("lost").at(1_000))
    story.end(12_000)

    assert verdict(joins_again("m0", after="lost"), story) is expected
