from __future__ import annotations

from tests.epoch_traces import BOTH, EpochStory
from tests.traces import ID

from groupproof.harness.judging.case_checkers.consumer.epoch_beats import beats, membership_at


def test_a_heartbeat_is_read_with_its_answer() -> None:
    story = EpochStory().settled()
    story.ask(1)
    story.hb(-1)

    join, answered, open_, leave = beats(story.evidence, "m0")

    assert (join.is_join, join.member, join.owned, join.names, join.is_full, join.target) == (True, ID, frozenset(), ("t",), True, frozenset(BOTH))
    assert (answered.owned, answered.is_full, answered.target, answered.is_accepted) == (frozenset(BOTH), False, None, True)
    assert (open_.answer, open_.is_accepted, open_.owned) == (None, False, None)
    assert leave.is_leave


def test_in_version_0_a_join_is_named_by_its_answer() -> None:
    story = EpochStory()
    asked = story.ask(0, member="", version=0)
    story.answer(asked, member=ID, member_epoch=1, body={"assignment": None})
    lost = story.ask(0, member="", version=0)

    named, unanswered = beats(story.evidence, "m0")

    assert (named.member, named.is_named) == (ID, True)
    assert (unanswered.request.seq, unanswered.member, unanswered.is_named) == (lost.seq, "", True)


def test_a_membership_stands_from_its_answer_until_the_client_leaves_or_is_refused() -> None:
    story = EpochStory().settled().mark("settled")
    story.hb(1, gets=2)
    story.mark("moved").hb(-1)
    story.mark("gone")
    ev = story.evidence

    assert [beat.answer.member_epoch for name in ("settled", "moved") if (beat := membership_at(ev, "m0", name)) is not None and beat.answer] == [
        1,
        2,
    ]
    assert membership_at(ev, "m0", "gone") is None
    assert membership_at(ev, "m1", "gone") is None
