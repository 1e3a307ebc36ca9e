from __future__ import annotations

from math import inf

from tests.traces import Story

from groupproof.harness.judging.checkers.steady import Steady, SteadyRequests
from groupproof.harness.judging.checkers.tracking.consumer_reader import CONSUMER_READER
from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker
from groupproof.harness.judging.checkers.tracking.reader_registry import READERS, readers_by_api
from groupproof.protocol.vocabulary import Api

BEAT = Api.CONSUMER_GROUP_HEARTBEAT


def _tracked(story: Story) -> GroupTracker:
    tracker = GroupTracker()
    for obs in story.trace:
        tracker.follow(obs)
    return tracker


def test_the_reader_is_that_of_its_heartbeat() -> None:
    assert readers_by_api()[BEAT.title] is CONSUMER_READER
    assert READERS.of(CONSUMER_READER.dialect) is CONSUMER_READER


def test_a_refused_commit_ends_no_membership_and_a_refused_heartbeat_does() -> None:
    story = Story()
    story.answer(story.request(BEAT, member="m", member_epoch=0), member_epoch=1, body={"assignment": {}}, partitions=(("t", 0),))
    story.exchange(Api.OFFSET_COMMIT, member="m", generation=1, error=25)
    assert (_tracked(story).is_member("m0"), _tracked(story).owned("m0")) == (True, frozenset({("t", 0)}))

    story.answer(story.request(BEAT, member="m", member_epoch=1), error=25, member_epoch=None)
    assert not _tracked(story).is_member("m0")


def test_joins_leaves_and_ids_are_distinguished() -> None:
    story = Story()
    frames = [story.request(BEAT, member=member, member_epoch=epoch) for member, epoch in (("m", 0), ("", 0), ("m", 4), ("m", -1), ("m", -2))]

    assert [CONSUMER_READER.is_join(obs) for obs in frames] == [True, True, False, False, False]
    assert [CONSUMER_READER.brings_id(obs) for obs in frames] == [True, False, False, False, False]
    assert [CONSUMER_READER.is_leave(obs) for obs in frames] == [False, False, False, True, True]


def _steady(**columns: object) -> Steady:
    beats = SteadyRequests(
        places=[7, 9], answer_places=[8, 10], seqs=[7, 9], answer_seqs=[8, 10], at_ms=[7.0, 9.0], correlations=[5, 6], burst_ms=inf
    )  # fmt: skip
    fixed: dict[str, object] = {"client": "m0", "wire_client": "m0", "member": "m", "connection": 1, "generation": 1}
    return Steady(**{**fixed, "apis": frozenset({BEAT.title}), "asked": {BEAT.title: beats}, **columns})  # type: ignore[arg-type]  # by name


def test_heartbeats_in_the_epoch_of_their_member_change_nothing_but_which_was_answered_last() -> None:
    story = Story()
    story.answer(story.request(BEAT, member="m", member_epoch=0), member_epoch=1, body={"assignment": {}}, partitions=(("t", 0),))
    tracker = _tracked(story)

    assert tracker.is_steady(_steady())
    assert not any(tracker.is_steady(_steady(**other)) for other in ({"generation": 2}, {"member": "n"}, {"client": "m1"}))
    tracker.absorb(_steady())
    assert (tracker.of("m0").beat_seq, tracker.owned("m0")) == (10, frozenset({("t", 0)}))
