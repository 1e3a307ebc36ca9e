from __future__ import annotations

import json
from typing import Any

import pytest

from groupproof.harness.model.script import (
    Ask,
    AssignmentBytes,
    AwaitAnswer,
    AwaitClose,
    Cut,
    DeleteTopic,
    Group,
    GrowTopic,
    MoveGroup,
    OwnedById,
    PartitionsById,
    Pass,
    Raw,
    ReadAgain,
    Ref,
    Script,
    StopReading,
    SubscriptionBytes,
    Topic,
    TopicId,
    TopicPattern,
    script_from_json,
    script_to_json,
    topics_in,
)
from groupproof.harness.model.script_builders import commit, stable
from groupproof.protocol.vocabulary import Api

EVERY_STEP = Script(
    steps=(
        *stable("a", "b"),
        commit("a", {("t", 1): 7}, metadata=None),
        Ask(
            member="x",
            api=Api.HEARTBEAT,
            fields={"group_id": "", "member_id": Ref("a", "member_id"), "generation_id": Ref("a", "generation", 1)},
            over="a/2",
        ),
        Ask(
            member="x",
            api=Api.OFFSET_DELETE,
            fields={"group_id": Group("h"), "topics": ({"name": Topic("u"), "partitions": ()},)},
            version=0,
            to="other",
        ),
        Ask(member="x", api=Api.JOIN_GROUP, fields={"protocols": ({"name": "p", "metadata": SubscriptionBytes(("t",), (("t", 1),), b"\x00", 3)},)}),
        Ask(member="x", api=Api.SYNC_GROUP, fields={"assignments": ({"member_id": "m", "assignment": AssignmentBytes((("t", 0),), b"\xff")},)}),
        AwaitAnswer(label="join a", code=27),
        Pass(ms=10),
        Cut(connection="a", resets=True),
        Raw(connection="r", data=b"\x7f\xff\xff\xff"),
        AwaitClose(connection="r"),
        StopReading(connection="a"),
        ReadAgain(connection="a"),
        MoveGroup(),
        GrowTopic(topic="later", partitions=3),
        DeleteTopic(topic="later"),
        *(
            Ask(member="x", api=Api.CONSUMER_GROUP_HEARTBEAT, fields={"subscribed_topic_regex": TopicPattern("{t}.*"), "topic_partitions": owned})
            for owned in (OwnedById("x"), PartitionsById((("t", 1),)), ({"topic_id": TopicId("u"), "partitions": (0,)},))
        ),
    ),
    settings={"group.initial.rebalance.delay.ms": 0},
    topics={"t": 2, "u": 1},
    brokers=2,
)


def test_a_script_comes_back_from_its_file_as_it_was() -> None:
    assert script_from_json(json.loads(json.dumps(script_to_json(EVERY_STEP)))) == EVERY_STEP


def _edited(**changes: Any) -> dict[str, Any]:
    return {**script_to_json(EVERY_STEP), **changes}


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"steps": [{"step": "dance"}]}, "dance"),
        ({"steps": [{"step": "pass", "s": 1}]}, "'s'"),
        ({"steps": [{"step": "ask", "member": "a", "api": "Jump", "fields": {}}]}, "Jump"),
        ({"steps": [{"step": "ask", "member": "a", "api": "Heartbeat", "fields": {"group_id": {"$grp": {}}}}]}, "grp"),
        ({"steps": [{}]}, "step"),
    ],
)
def test_what_is_no_script_is_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=f"not a script: .*{named}"):
        script_from_json(_edited(**wrong))


def test_the_topics_that_a_request_names_are_found_wherever_it_names_them() -> None:
    fields = {
        "subscribed_topic_names": (Topic("a"),),
        "topics": [{"topic_id": TopicId("b"), "partitions": ({"partition_index": 0},)}],
        "subscribed_topic_regex": TopicPattern("{c}|x-{d}.*"),
        "topic_partitions": PartitionsById((("e", 1),)),
        "protocols": ({"name": "range", "metadata": SubscriptionBytes(topics=("f",))},),
        "assignments": ({"assignment": AssignmentBytes((("g", 0),))},),
        "group_id": Group("h"),
        "member_id": "i",
    }

    assert list(topics_in(fields)) == list("abcdefg")
    assert list(topics_in({"subscribed_topic_names": None})) == []
