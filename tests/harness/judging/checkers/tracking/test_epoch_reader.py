"""Memberships with epochs: one tracker holds them beside the classic ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.harness.toy_dialect.lease_dialect import LEASE
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS
from tests.traces import Story

from groupproof.harness.judging.checkers.tracking.epoch_reader import read_epoch_answer, read_epoch_request
from groupproof.harness.judging.checkers.tracking.frame_reader import FrameReader
from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker
from groupproof.harness.model.dialect_parts import registered
from groupproof.protocol.vocabulary import Api, TopicPartition

BEAT = Api.CONSUMER_GROUP_HEARTBEAT
T0, T1, T2 = ("t", 0), ("t", 1), ("t", 2)


@pytest.fixture(autouse=True)
def a_dialect_with_epochs() -> Iterator[None]:
    reader = FrameReader(
        dialect=LEASE,
        apis=frozenset({BEAT.title}),
        membership=frozenset({BEAT.title}),
        naming=frozenset({BEAT.title}),
        is_join=lambda obs: False,
        is_leave=lambda obs: False,
        asked=read_epoch_request,
        answered=read_epoch_answer,
        is_incremental=True,
    )
    with registered(LEASE_FUNCTIONS, reader):
        yield


class Beats(Story):
    def beats(
        self, epoch: int, *, to: int | None = None, owned: list[TopicPartition] | None = None, target: list[TopicPartition] | None = None, error: int = 0, client: str = "m0"
    ) -> Beats:  # fmt: skip
        """Tell of a heartbeat with what it says to own, and its answer with the epoch and the target that it gives."""
        asked: dict[str, Any] = {"body": {"topic_partitions": None if owned is None else ()}, "partitions": tuple(owned or ())}
        request = self.request(BEAT, client, member=f"id-{client}", member_epoch=epoch, **asked)
        answered = None if error else epoch if to is None else to
        self.answer(request, error=error, member_epoch=answered, partitions=tuple(target or ()), body={"assignment": None if target is None else {}})
        return self


def tracked(story: Story) -> GroupTracker:
    tracker = GroupTracker()
    for obs in story.trace:
        tracker.follow(obs)
    return tracker


def test_a_member_has_the_epoch_that_the_newest_answer_gave() -> None:
    mine = tracked(Beats().beats(0, to=5).beats(5, to=6)).members["m0"]

    assert (mine.is_member, mine.member_epoch, mine.generation, mine.member) == (True, 6, -1, "id-m0")
    assert mine.target is None


def test_a_revoked_partition_is_owned_until_the_member_says_otherwise() -> None:
    story = Beats().beats(0, to=1, target=[T0, T1]).beats(1, owned=[T0, T1]).beats(1, target=[T0])
    mine = tracked(story).members["m0"]
    assert (mine.target, mine.owned) == (frozenset({T0}), frozenset({T0, T1}))

    mine = tracked(story.beats(1, to=2, owned=[T0])).members["m0"]
    assert (mine.target, mine.owned, mine.member_epoch) == (frozenset({T0}), frozenset({T0}), 2)


def test_an_answer_without_an_assignment_changes_none_and_an_empty_one_takes_all() -> None:
    story = Beats().beats(0, to=1, target=[T0]).beats(1)
    assert tracked(story).members["m0"].target == frozenset({T0})
    assert tracked(story).topics == {"t"}

    assert tracked(story.beats(1, target=[])).members["m0"].target == frozenset()


@pytest.mark.parametrize(("error", "is_member"), [(25, False), (110, False), (14, True), (113, True), (111, True)])
def test_which_refusals_end_a_membership(error: int, is_member: bool) -> None:
    tracker = tracked(Beats().beats(0, to=1, target=[T2]).beats(1, error=error))

    assert tracker.is_member("m0") is is_member
    assert tracker.owned("m0") == (frozenset({T2}) if is_member else frozenset())


@pytest.mark.parametrize("epoch", [-1, -2])
def test_a_leave_ends_it_when_it_is_sent(epoch: int) -> None:
    story = Beats().beats(0, to=1, target=[T0])
    story.request(BEAT, member="id-m0", member_epoch=epoch)

    assert not tracked(story).is_member("m0")
    assert not tracked(story.beats(epoch)).is_member("m0")


def test_members_of_both_dialects_are_members_of_one_group() -> None:
    story = Beats().beats(0, to=3, target=[T0], client="m1")
    story.member(gets=[T1])
    tracker = tracked(story)

    assert (tracker.members["m0"].generation, tracker.members["m0"].member_epoch) == (1, -1)
    assert (tracker.members["m1"].generation, tracker.members["m1"].member_epoch) == (-1, 3)
    assert tracker.owned("m0") | tracker.owned("m1") == {T0, T1}


def test_callbacks_of_such_a_member_name_what_is_new() -> None:
    story = Beats().beats(0, to=1, target=[T0])
    story.partitions("assigned", T0)
    story.beats(1, to=2, target=[T0, T1])
    story.partitions("assigned", T1)

    assert set(tracked(story).hands.now["m0"]) == {T0, T1}


def test_a_refused_commit_with_an_old_epoch_ends_nothing() -> None:
    story = Beats().beats(0, to=4, target=[T0])
    story.exchange(Api.OFFSET_COMMIT, member="id-m0", generation=3, error=113)

    assert tracked(story).members["m0"].member_epoch == 4
