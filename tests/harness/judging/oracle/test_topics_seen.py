from __future__ import annotations

from collections.abc import Callable

import pytest

from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.harness.judging.oracle.exchanges import History, TopicChange
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.harness.judging.oracle.topics_seen import TopicsSeen
from groupproof.protocol.rules import profile
from groupproof.protocol.wire.messages import CommitPartition, CommitTopic, HeartbeatRequest, OffsetCommitRequest, OffsetCommitResponse

T, LATER, GROWN = TopicImage("id-t", 2), TopicImage("id-later", 1), TopicImage("id-later", 3)
BEGUN_MS, DONE_MS = 1_000.0, 1_200.0
EXACT = Tolerance()
SPREAD_MS = EXACT.topics_ms


def _topics_seen(topics: dict[str, int] | None = None, tolerance: Tolerance = EXACT) -> TopicsSeen:
    changes = (
        TopicChange(begun_ms=BEGUN_MS, done_ms=DONE_MS, images={"later": LATER}, begun_seq=5),
        TopicChange(begun_ms=5_000, done_ms=5_100, images={"later": GROWN}),
    )
    history = History(group="g", exchanges=(), moves=(), end_ms=9_000, topics=topics, topic_images={"t": T}, topic_changes=changes)
    return TopicsSeen(history, profile(), tolerance)


def _never(ways: int, changes: int) -> int:
    raise AssertionError(f"asked which of {ways} ways, with {changes} changes to come")


def _refused(topics: TopicsSeen, asked: OffsetCommitRequest, way: Callable[[int, int], int] = _never, ready_ms: float = 9_000, seq: int = 9) -> bool:
    return topics.asked_of_group(asked, ready_ms, seq, way)[1] is not None


def _commit(*partitions: tuple[str, int]) -> OffsetCommitRequest:
    topics = tuple(CommitTopic(name=name, partitions=(CommitPartition(partition_index=index, committed_offset=1),)) for name, index in partitions)
    return OffsetCommitRequest(group_id="g", topics=topics)


def test_before_a_change_begins_nobody_knows_of_it() -> None:
    topics = _topics_seen()

    assert list(topics.changes_until(BEGUN_MS - 1, 9, _never)) == []
    assert topics.images == {"t": T}


def test_what_was_answered_before_a_change_began_knew_nothing_of_it() -> None:
    topics = _topics_seen()

    assert list(topics.changes_until(DONE_MS, 4, _never)) == []
    assert topics.images == {"t": T}


def test_long_after_a_change_it_is_known() -> None:
    topics = _topics_seen()

    assert list(topics.changes_until(DONE_MS + SPREAD_MS, 9, _never)) == [DONE_MS]
    assert topics.images == {"t": T, "later": LATER}


@pytest.mark.parametrize(
    ("ready_ms", "way", "is_known"),
    [(BEGUN_MS + 1, 0, False), (BEGUN_MS + 1, 1, True), (DONE_MS + 1, 0, True), (DONE_MS + 1, 1, False)],
)
def test_meanwhile_either_may_be_and_what_the_brokers_tell_is_tried_first(ready_ms: float, way: int, is_known: bool) -> None:
    topics = _topics_seen()

    assert bool(list(topics.changes_until(ready_ms, 9, lambda *_: way))) is is_known


def test_a_broker_that_did_not_know_a_change_probably_does_not_know_it_at_the_next_request() -> None:
    topics = _topics_seen()

    assert list(topics.changes_until(DONE_MS + 1, 9, lambda *_: 1)) == []
    assert list(topics.changes_until(DONE_MS + 2, 9, lambda *_: 0)) == []
    assert list(topics.changes_until(DONE_MS + 3, 9, lambda *_: 1)) == [DONE_MS]


@pytest.mark.requirement("CGX-16")
@pytest.mark.parametrize(
    ("ready_ms", "is_known", "is_late"),
    [(DONE_MS + SPREAD_MS - 1, False, False), (DONE_MS + SPREAD_MS, False, True), (DONE_MS + SPREAD_MS + 499, False, True), (DONE_MS + SPREAD_MS + 500, True, False)],
)  # fmt: skip
def test_a_coordinator_may_be_late_against_the_advice_up_to_a_bound(ready_ms: float, is_known: bool, is_late: bool) -> None:
    topics = _topics_seen(tolerance=EXACT.with_late_topics(500))

    assert bool(list(topics.changes_until(ready_ms, 9, lambda ways, _: 1 if ways > 1 else 0))) is is_known
    assert topics.is_late is is_late
    assert list(topics.changes_until(ready_ms + 1_000, 9, lambda *_: 0)) == ([] if is_known else [DONE_MS])
    assert not topics.is_late


def test_a_change_that_was_put_off_says_nothing_of_the_next_one() -> None:
    topics = _topics_seen()
    list(topics.changes_until(DONE_MS + 1, 9, lambda *_: 1))

    assert list(topics.changes_until(5_101, 9, lambda *_: 0)) == [DONE_MS, 5_100]


def test_a_timer_between_finds_the_topics_of_before_or_of_after() -> None:
    asked: list[int] = []

    def way(ways: int, _: int) -> int:
        asked.append(ways)
        return ways - 1

    assert list(_topics_seen().changes_until(DONE_MS + SPREAD_MS, 9, way, lambda: int(DONE_MS))) == [BEGUN_MS]
    assert list(_topics_seen().changes_until(DONE_MS + 1, 9, way, lambda: int(DONE_MS))) == [BEGUN_MS]
    assert asked == [2, 3]


@pytest.mark.parametrize("due_ms", [BEGUN_MS, DONE_MS + 1])
def test_a_timer_before_or_after_a_change_opens_no_other_way(due_ms: float) -> None:
    assert list(_topics_seen().changes_until(DONE_MS + SPREAD_MS, 9, _never, lambda: int(due_ms))) == [DONE_MS]


def test_one_of_two_changes_may_be_known_without_the_other() -> None:
    topics = _topics_seen()

    assert len(list(topics.changes_until(5_101, 9, lambda _, changes: 0 if changes == 2 else 1))) == 1
    assert topics.images["later"] == LATER


def test_changes_come_one_after_the_other() -> None:
    topics = _topics_seen()

    assert list(topics.changes_until(9_000, 9, _never)) == [1_200, 5_100]
    assert topics.images["later"] == GROWN


def test_what_there_is_not_is_refused_beside_the_group() -> None:
    topics = _topics_seen({"t": 2})

    accepted, refused = topics.asked_of_group(_commit(("t", 1), ("t", 9), ("later", 0)), 0, 9, _never)

    assert refused is None
    assert accepted == _commit(("t", 1))
    assert _refused(topics, _commit(("nowhere", 0)))


def test_what_came_meanwhile_is_there() -> None:
    topics = _topics_seen({"t": 2})
    list(topics.changes_until(9_000, 9, _never))

    assert topics.asked_of_group(_commit(("later", 2)), 9_000, 9, _never) == (_commit(("later", 2)), None)


def test_an_answer_is_completed_by_what_was_refused() -> None:
    whole = _topics_seen({"t": 2}).completed(_commit(("t", 9)), OffsetCommitResponse())

    assert isinstance(whole, OffsetCommitResponse)
    assert [partition.error_code for topic in whole.topics for partition in topic.partitions] == [3]


def test_without_a_report_of_the_topics_nothing_is_refused() -> None:
    topics, asked = _topics_seen(), _commit(("nowhere", 0))

    assert topics.asked_of_group(asked, 9_000, 9, _never) == (asked, None)
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="a")
    assert _topics_seen({"t": 2}).asked_of_group(beat, 9_000, 9, _never) == (beat, None)


T_WENT = TopicChange(begun_ms=1_000, done_ms=1_100, images={"t": TopicImage("", 0)}, begun_seq=5)
T_CAME_AGAIN = TopicChange(begun_ms=3_000, done_ms=3_100, images={"t": TopicImage("id-new", 1)}, begun_seq=20)


def _deleted(*changes: TopicChange) -> TopicsSeen:
    history = History(group="g", exchanges=(), moves=(), end_ms=9_000, topics={"t": 2, "u": 1}, topic_images={"t": T}, topic_changes=changes)
    return TopicsSeen(history, profile(), EXACT)


def test_a_topic_that_went_is_refused_and_one_of_its_name_may_come_again() -> None:
    topics = _deleted(T_WENT, T_CAME_AGAIN)

    list(topics.changes_until(2_900, 9, _never))
    assert (topics.images, _refused(topics, _commit(("t", 0)), ready_ms=2_900)) == ({}, True)
    list(topics.changes_until(9_000, 30, _never))
    assert (topics.images, _refused(topics, _commit(("t", 0)))) == ({"t": TopicImage("id-new", 1)}, False)


@pytest.mark.parametrize(("ready_ms", "way", "is_refused"), [(1_001, 0, False), (1_001, 1, True), (1_101, 0, True), (1_101, 1, False)])
def test_a_broker_may_refuse_what_the_coordinator_knows_still(ready_ms: float, way: int, is_refused: bool) -> None:
    topics = _deleted(T_WENT)

    assert _refused(topics, _commit(("t", 0)), lambda *_: way, ready_ms) is is_refused
    assert topics.images == {"t": T}


def test_a_broker_does_not_forget_a_change_and_the_coordinator_learns_of_it_once() -> None:
    topics = _deleted(T_WENT, T_CAME_AGAIN)
    _refused(topics, _commit(("t", 0)), lambda *_: 1, 1_001)

    assert _refused(topics, _commit(("t", 0)), _never, 1_002)
    assert list(topics.changes_until(2_900, 9, _never)) == [1_100]
    assert _refused(topics, _commit(("t", 0)), _never, 2_900)
    assert list(topics.changes_until(9_000, 30, _never)) == [3_100]
    assert not _refused(topics, _commit(("t", 0)))


def test_a_broker_learns_of_changes_one_after_the_other() -> None:
    topics = _deleted(TopicChange(begun_ms=900, done_ms=950, images={"u": TopicImage("id-u", 2)}), T_WENT)
    _refused(topics, _commit(("t", 0)), lambda *_: 1, 1_001)

    assert not _refused(topics, _commit(("u", 1)), _never, 1_001)


@pytest.mark.parametrize(("asked", "ready_ms", "seq"), [(("u", 0), 1_050, 9), (("t", 0), 999, 9), (("t", 0), 1_050, 4)])
def test_what_a_broker_knows_is_checked_only_for_changes_that_touch_the_request(asked: tuple[str, int], ready_ms: float, seq: int) -> None:
    assert not _refused(_deleted(T_WENT), _commit(asked), _never, ready_ms, seq)
