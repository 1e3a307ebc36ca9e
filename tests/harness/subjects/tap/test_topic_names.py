from __future__ import annotations

from typing import Any

from groupproof.harness.subjects.tap.topic_names import TopicNames, topics_in
from groupproof.protocol.vocabulary import Api

T, U = "6971e554-41f6-52eb-b5a6-7b370e856d5c", "0d2ad2a5-9c1d-4c25-8f3c-1b1a4f6f1a11"


def metadata(name: str | None, topic_id: str | None, count: int, error: int = 0) -> dict[str, Any]:
    return {"topics": ({"name": name, "topic_id": topic_id, "error_code": error, "partitions": ({},) * count},)}


def test_metadata_and_created_topics_tell_ids() -> None:
    created = {"topics": ({"name": "u", "topic_id": U, "error_code": 0, "num_partitions": 3},)}

    assert topics_in(Api.METADATA, metadata("t", T, 4)) == {"t": (T, 4)}
    assert topics_in(Api.CREATE_TOPICS, created) == {"u": (U, 3)}
    assert topics_in(Api.METADATA, metadata("t", None, 4)) == {}, "an older version knows no ids"
    assert topics_in(Api.METADATA, metadata("t", T, 0, error=3)) == {}
    assert topics_in(Api.HEARTBEAT, {"topics": ()}) == {}


def test_a_topic_that_comes_or_grows_is_a_change_and_one_that_stays_is_none() -> None:
    topics = TopicNames()
    topics.begin({"t": (T, 4)})

    assert topics.learn(Api.METADATA, metadata("t", T, 4)) == {}
    assert topics.learn(Api.METADATA, metadata("t", T, 6)) == {"t": (T, 6)}
    assert topics.learn(Api.METADATA, metadata("u", U, 1)) == {"u": (U, 1)}
    assert (topics.name_of(T), topics.name_of(U)) == ("t", "u")


def test_a_description_of_a_group_names_topics() -> None:
    topics = TopicNames()
    member = {"assignment": {"topic_partitions": ({"topic_id": T, "topic_name": "t", "partitions": (0,)},)}, "target_assignment": None}
    topics.learn(Api.CONSUMER_GROUP_DESCRIBE, {"groups": ({"members": (member,)},)})

    assert topics.name_of(T) == "t"


def test_what_was_once_called_by_its_id_is_so_for_ever() -> None:
    topics = TopicNames()

    assert topics.name_of(U) == U
    topics.learn(Api.METADATA, metadata("u", U, 1))
    assert topics.name_of(U) == U, "or the same partition would have two names in one trace"
