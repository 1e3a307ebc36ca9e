"""A logged group as data: names, sentences, and JSON without anything that JSON has not."""

from __future__ import annotations

import json

from tests.harness.judging.topic_history.stories import Story, member

from groupproof.harness.judging.diagnosis.causes import Cause


def test_a_member_goes_by_its_instance_or_its_client_id_and_is_the_same_process_under_a_new_member_id() -> None:
    story = Story()
    story.generation(0, 1, member("a-1", client="orders"), member("b-1", instance="i-7"))
    first, static = story.group.members.values()
    story.generation(1, 2, member("a-2", client="orders"), member("b-2", instance="i-7", host="/10.0.0.2"))
    second, moved = story.group.members.values()

    assert (first.name, static.name) == ("orders", "i-7")
    assert (first.identity, static.identity) == (second.identity, moved.identity)


def test_a_rebalance_says_in_a_sentence_why_it_began() -> None:
    story = Story()
    story.generation(0, 1, member("a-1"))
    story.generation(1, 2, member("a-1"), member("b-1"))

    assert story.last.words == "b is new and joined"
    assert (story.last.place, story.last.kind is not None) == ((0, 1), True)


def test_of_a_consumer_group_the_words_are_those_of_its_protocol() -> None:
    story = Story()
    story.epoch_member(0, "a-1")
    story.epoch(0, 1)
    story.epoch(1, 2, metadata_hash=5)

    assert (story.last.cause, story.last.words) == (Cause.PARTITIONS, "the partitions of a subscribed topic changed")


def test_everything_is_reported_as_json() -> None:
    story = Story()
    story.generation(0, 1, member("a-1", instance="i"))
    story.generation(1, 1, member("a-2", instance="i"))
    story.commit(2, 0)
    group = json.loads(json.dumps(story.group.to_json()))

    assert (group["group"], group["state"], group["generation"], group["is_whole"]) == ("g", "Stable", 1, True)
    assert group["members"][0]["partitions"] == [["t", 0]]
    assert (group["rebalances"][0]["cause"], group["rebalances"][0]["certain"], group["static_restarts"][0]["instance"]) == (
        "first-member",
        True,
        "i",
    )
