from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.epoch_traces import BOTH, EpochStory

from groupproof.harness.judging.conditions import describe, watch
from groupproof.harness.judging.reconciling import Reconciling
from groupproof.harness.model.plan import Reconciled
from groupproof.protocol.vocabulary import ErrorCode

Does = Callable[[EpochStory], object]


def missing(story: EpochStory, *members: str, topics: dict[str, int] | None = None) -> str:
    group = Reconciling(members or ("m0",), topics or {"t": 2})
    for obs in story.trace:
        group.follow(obs)
    return group.missing()


def test_a_member_that_said_what_it_was_given_has_reconciled() -> None:
    assert missing(EpochStory().settled()) == ""


def joined(story: EpochStory) -> object:
    return story.hb(0, gets=1, gives=BOTH)


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda story: None, "m0 has had no heartbeat answered"),
        (joined, "m0 has not said that it owns what it was given"),
        (lambda story: (joined(story), story.hb(1, owns=BOTH)), "the application of m0 does not know its partitions"),
        (lambda story: story.settled(gets=BOTH[:1]), "1 partitions have no owner"),
        (lambda story: story.settled().hb(1, error=ErrorCode.FENCED_MEMBER_EPOCH), "m0 has had no heartbeat answered"),
        (lambda story: story.settled().hb(-1), "m0 has had no heartbeat answered"),
        (lambda story: story.settled().hb(1, gives=BOTH[:1]), "m0 has not said that it owns what it was given"),
        (lambda story: (joined(story), story.hb(1, owns=BOTH, error=14)), "m0 has not said that it owns what it was given"),
        (lambda story: (story.settled(), story.hb(1, error=14)), ""),
    ],
)
def test_what_is_not_so_yet_is_said(does: Does, expected: str) -> None:
    story = EpochStory()
    does(story)

    assert missing(story) == expected


def test_the_members_share_the_partitions_at_one_epoch() -> None:
    story = EpochStory().settled(gets=BOTH[:1], member="a")
    story.settled("m1", gets=BOTH[1:], member="b", epoch=2)

    assert missing(story, "m0", "m1") == "the members are not at one epoch"
    story.hb(1, gets=2, member="a")
    assert missing(story, "m0", "m1") == ""
    story.hb(2, "m1", gives=BOTH, member="b")
    story.hb(2, "m1", owns=BOTH, member="b")
    story.partitions("assigned", BOTH[0], client="m1")
    assert missing(story, "m0", "m1") == "a partition has two owners"


def test_a_member_without_partitions_need_say_nothing() -> None:
    story = EpochStory().settled(epoch=2, member="a")
    story.hb(0, "m1", gets=2, gives=(), member="b")

    assert missing(story, "m0", "m1") == ""


def test_a_plan_waits_for_it_after_an_instant() -> None:
    condition = Reconciled(members=("m0",), topics={"t": 2}, after="later")
    story = EpochStory().settled()
    story.mark("later").hb(1)
    watcher = watch(condition, frozenset({"m0"}))
    held = [watcher.feed(obs) for obs in story.trace]

    assert held.index(True) == len(held) - 1
    assert describe(condition) == "group reconciled with m0 after later"


@pytest.mark.parametrize(
    ("capabilities", "expected"), [(["consumer"], ""), (["consumer", "on-revoked"], "the application of m0 does not know its partitions")]
)
def test_an_application_without_a_callback_may_know_later_of_what_has_gone(capabilities: list[str], expected: str) -> None:
    story = EpochStory()
    story.kit("hello", "m0", capabilities=capabilities)
    story.settled()
    story.hb(1, gives=BOTH[:1])
    story.hb(1, owns=BOTH[:1])

    assert missing(story, topics={"t": 1}) == expected
