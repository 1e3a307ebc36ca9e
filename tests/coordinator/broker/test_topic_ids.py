"""Offsets by the ids of topics."""

from __future__ import annotations

from groupproof.coordinator.broker.topic_ids import named_request
from groupproof.coordinator.broker.topics import Topics
from groupproof.protocol.vocabulary import Api, ErrorCode

NOBODY = "00000000-0000-0000-0000-00000000beef"


def _topics() -> Topics:
    topics = Topics(0)
    topics.grow("t", 2)
    return topics


def _id(topics: Topics) -> str:
    found = topics.named("t")
    assert found is not None
    return found.topic_id


def test_the_coordinator_is_asked_by_names_about_the_topics_that_there_are() -> None:
    topics = _topics()
    asked = tuple({"topic_id": topic, "partitions": ({"partition_index": 1, "committed_offset": 3},)} for topic in (NOBODY, _id(topics)))

    named = named_request(Api.OFFSET_COMMIT, {"group_id": "g", "topics": asked}, topics)
    answer = named.answered({"topics": ({"name": "t", "partitions": ({"partition_index": 1, "error_code": 0},)},)})

    assert [topic["name"] for topic in named.body["topics"]] == ["t"]
    codes = {topic["topic_id"]: [partition["error_code"] for partition in topic["partitions"]] for topic in answer["topics"]}
    assert codes == {_id(topics): [0], NOBODY: [ErrorCode.UNKNOWN_TOPIC_ID]}


def test_a_group_that_is_refused_says_nothing_of_topics() -> None:
    topics = _topics()
    asked = ({"group_id": "g", "topics": ({"topic_id": NOBODY, "partition_indexes": (0,)},)}, {"group_id": "h", "topics": None})

    named = named_request(Api.OFFSET_FETCH, {"groups": asked}, topics)
    answer = named.answered({"groups": ({"group_id": "g", "error_code": 25, "topics": ()}, {"group_id": "h", "error_code": 0, "topics": ()})})

    assert [group["topics"] for group in named.body["groups"]] == [(), None], "all topics stay all topics"
    assert [group["topics"] for group in answer["groups"]] == [(), ()]
