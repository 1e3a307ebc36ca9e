"""Who joined before the trace is judged from its next join on; who joined in it, from there."""

from __future__ import annotations

from tests.epoch_traces import EpochStory
from tests.harness.judging.checkers.stories import Group
from tests.traces import Story, Written

from groupproof.harness.judging.checkers.tracking.earlier_members import EarlierMembers
from groupproof.protocol.vocabulary import Api


def judged(story: Written) -> list[tuple[str | None, int | None]]:
    """Return the apis of the requests that are judged, with the generations or epochs that they name."""
    earlier = EarlierMembers()
    rows = [(obs, earlier.is_judged(obs)) for obs in story.trace]
    numbers = {True: lambda obs: obs.member_epoch, False: lambda obs: obs.generation}
    return [(obs.api, numbers[obs.api == "ConsumerGroupHeartbeat"](obs)) for obs, is_judged in rows if is_judged and obs.kind == "request"]


def test_a_member_of_before_is_judged_when_it_was_let_in_again() -> None:
    story = Story()
    story.beat(generation=6)
    story.join(member="m0-1", generation=7)
    story.sync(generation=7)
    story.commit(("t", 0, 3), generation=6)
    story.beat(generation=7)

    assert judged(story) == [("SyncGroup", 7), ("Heartbeat", 7)]


def test_an_earlier_member_that_begins_again_is_judged_from_there_on() -> None:
    story = Story()
    story.beat(generation=6, error=25)
    story.join()
    story.beat(member="made-up")

    assert judged(story) == [("JoinGroup", None), ("Heartbeat", 1)]


def test_a_member_that_joined_in_the_trace_is_judged_by_all_that_it_names() -> None:
    story = Story().member()
    story.beat(member="made-up", generation=9)

    assert judged(story) == [("JoinGroup", None), ("SyncGroup", 1), ("Heartbeat", 9)]


def test_an_answer_that_is_missing_may_have_given_what_the_client_names_then() -> None:
    story = Story().member()
    story.request(Api.JOIN_GROUP, member="m0-1")
    story.commit(("t", 0, 3), generation=1)
    story.sync(generation=2)
    story.beat(generation=2)
    story.join(member="m0-1", generation=3)
    story.beat(generation=3)

    assert judged(story)[2:] == [("JoinGroup", None), ("OffsetCommit", 1), ("Heartbeat", 3)]


def test_the_answer_that_is_missing_may_have_handed_out_an_id() -> None:
    story = Story()
    story.request(Api.JOIN_GROUP)
    story.join(member="m0-1")
    story.sync()

    assert judged(story) == [("JoinGroup", None), ("SyncGroup", 1)]


def test_what_a_missing_answer_assigned_is_not_known_to_be_of_nobody() -> None:
    story = Story()
    story.join()
    story.request(Api.SYNC_GROUP, member="m0-1", generation=1)
    story.beat()
    story.commit(("t", 0, 3))

    assert judged(story)[2:] == [("Heartbeat", 1)]


def test_a_commit_of_no_member_is_always_judged() -> None:
    story = Story()
    story.commit(("t", 0, 3), member="", generation=-1)

    assert judged(story) == [("OffsetCommit", -1)]


def test_where_the_coordinator_made_the_group_nobody_was_there_before() -> None:
    story = Group()
    story.moves(None, "Empty", 0, rule="JoinGroup/none/created")
    story.beat(generation=6)
    assert judged(story) == [("Heartbeat", 6)]

    log = Group()
    log.moves(None, "Empty", 0)
    log.beat(generation=6)
    assert judged(log) == []


def test_a_member_with_epochs_is_judged_when_it_joins_with_epoch_0() -> None:
    story = EpochStory()
    story.hb(5, owns=(("t", 0),), gets=6)
    story.hb(6)
    story.hb(0, gets=7)
    story.hb(9)

    assert judged(story) == [("ConsumerGroupHeartbeat", 0), ("ConsumerGroupHeartbeat", 9)]
