from __future__ import annotations

from tests.streams_traces import OTHER, leads, says, task
from tests.traces import ID, Story

from groupproof.harness.judging.checkers.embedded.streams_frames import (
    info_in,
    led_generations,
    newest_assignment,
    subscription_in,
    tasks_in_words,
    thread_assignment_in,
)
from groupproof.protocol.vocabulary import Api


def test_what_a_leader_deals_is_read_with_what_the_members_said_before() -> None:
    story = Story()
    leads(story, {ID: says(owned=(0,)), OTHER: says(version=8)}, {ID: (0,), OTHER: (1,)}, version=8)
    (generation,) = led_generations(story.evidence, "m0")

    assert (generation.leader, generation.active()) == (ID, frozenset({task(0), task(1)}))
    assert {name: info.version for name, info in generation.subscriptions.items() if info is not None} == {ID: 11, OTHER: 8}
    assert generation.owned == {ID: {("t", 0)}, OTHER: frozenset()}
    assert [info.version for info in generation.infos] == [8, 8]


def test_what_a_member_was_given_is_known_when_it_joins_again() -> None:
    story = Story()
    leads(story, {ID: says()}, {ID: (0, 1)})
    join = story.request(Api.JOIN_GROUP, member=ID, body={"protocols": [{"name": "stream", "metadata": says(owned=(0, 1), running=(0,))}]})
    mine, info, subscription = newest_assignment(story.evidence, "m0", join), info_in(join), subscription_in(join)

    assert mine is not None
    assert info is not None
    assert subscription is not None
    assert (mine.partitions, mine.info.active) == ((("t", 0), ("t", 1)), (task(0), task(1)))
    assert (info.active, subscription.owned) == ((task(0),), (("t", 0), ("t", 1)))
    assert newest_assignment(story.evidence, "m1", join) is None


def test_bytes_that_cannot_be_read_are_nothing() -> None:
    story = Story()
    leads(story, {ID: b"?"}, {})
    (generation,) = led_generations(story.evidence, "m0")

    assert (generation.subscriptions, generation.infos) == ({}, [])
    assert info_in(story.request(Api.JOIN_GROUP, body={"protocols": [{"name": "stream", "metadata": b"?"}]})) is None
    assert thread_assignment_in(story.answer(story.request(Api.SYNC_GROUP), body={"assignment": b"?"})) is None


def test_tasks_are_called_as_kafkas_logs_call_them() -> None:
    assert tasks_in_words([task(1), task(0)]) == "0_0, 0_1"
    assert tasks_in_words([]) == "nothing"
