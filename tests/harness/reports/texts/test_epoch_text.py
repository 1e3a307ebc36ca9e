from __future__ import annotations

from tests.epoch_traces import EpochStory
from tests.harness.judging.diagnosis.test_epoch_history import described, ordered

from groupproof.harness.judging.diagnosis.epoch_history import epoch_histories
from groupproof.harness.reports.texts.epoch_text import epochs_to_json, tell_epochs
from groupproof.protocol.vocabulary import ErrorCode


def sentences(story: EpochStory) -> list[str]:
    return list(tell_epochs(epoch_histories(story.trace)))


def open_yet() -> EpochStory:
    story = ordered()
    story.at(9_000)
    story.hb(1, "m0", gets=1, member="a")
    return story


def test_unreleased_partitions_are_shown_with_their_owner_their_time_and_what_would_free_them() -> None:
    assert sentences(open_yet()) == [
        "group g: m0 was to give up t-1 at 1.000 s (epoch 1), and has not released it 8.0 s later, where the trace ends",
        "  alive    it heartbeats, last at 9.000 s: its application has not returned from its callback, or does not poll",
        "  freed by m0 when it says so or leaves; its rebalance timeout of 30 s, at 31.000 s at the latest; the end of its session, which its heartbeats put off",
        "  waits    its next owner is unknown: a ConsumerGroupDescribe shows the target",
    ]


def test_members_that_wait_for_it_are_known_from_the_target() -> None:
    story = open_yet()
    described(story, a=(0,), b=(1,))

    assert sentences(story)[3:] == [
        "  waits    m1 for t-1",
        "group g: m0 at epoch 1 of 2 has t-1 to give up, as described at 9.000 s",
        "group g: m1 at epoch 1 of 2 lacks t-1 (m0 has it), as described at 9.000 s",
    ]


def test_what_was_given_up_late_and_why_a_member_was_refused() -> None:
    story = ordered()
    story.at(4_000)
    story.hb(1, "m0", gets=2, owns=[("t", 0)], member="a")
    story.hb(9, "m0", error=ErrorCode.FENCED_MEMBER_EPOCH, member="a")

    assert sentences(story) == [
        "group g: m0 was to give up t-1 at 1.000 s (epoch 1), and did after 3.0 s: it said so",
        "group g: ConsumerGroupHeartbeat of m0 was answered FENCED_MEMBER_EPOCH (110) at 4.000 s: it named epoch 9, and had been answered with 2",
    ]


def test_what_was_given_up_at_once_is_no_news_and_data_all_the_same() -> None:
    story = ordered()
    story.hb(1, "m0", gets=2, owns=[("t", 0)], member="a")

    assert sentences(story) == []
    assert epochs_to_json(epoch_histories(story.trace))["orders"][0]["how"] == "it said so"
    assert epochs_to_json([]) == {}
