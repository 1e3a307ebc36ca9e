"""Coordinators and topics that a client may not see are refused to it by name, and left out where it asks for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.coordinator.helpers import staged, virtually

from groupproof.coordinator.broker.rights.authorizer import Denial
from groupproof.protocol.vocabulary import Api, ErrorCode

NO_GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
DENIALS = ("DESCRIBE group g", "DESCRIBE topic u", "DESCRIBE topic nowhere", "DESCRIBE topic t client=other", "READ topic t", "READ group h")


async def _answer(api: Api, version: int, body: Mapping[str, Any], client: str = "app") -> dict[str, Any]:
    async with staged(topics={"t": 1, "u": 1}) as stage:
        stage.cluster.deny(map(Denial.of, DENIALS))
        return await stage.connect(client).ask(api, body, version)


@pytest.mark.parametrize(("version", "message"), [(2, "Group authorization failed."), (4, "")])
@virtually
async def test_no_client_gets_the_coordinator_of_a_group_that_it_may_not_describe(version: int, message: str) -> None:
    (entry,) = (await _answer(Api.FIND_COORDINATOR, version, {"coordinator_keys": ("g",), "key_type": 0}))["coordinators"]

    assert (entry["error_code"], entry["node_id"], entry["host"], entry["port"], entry["error_message"]) == (NO_GROUP, -1, "", -1, message)


@virtually
async def test_other_groups_and_transactions_have_their_coordinators() -> None:
    groups = (await _answer(Api.FIND_COORDINATOR, 4, {"coordinator_keys": ("g", "h"), "key_type": 0}))["coordinators"]
    (of_transaction,) = (await _answer(Api.FIND_COORDINATOR, 4, {"coordinator_keys": ("g",), "key_type": 1}))["coordinators"]

    assert [entry["error_code"] for entry in groups] == [NO_GROUP, 0], "READ of h is denied, which is not asked for"
    assert of_transaction["error_code"] == 0


def _topics(answer: Mapping[str, Any]) -> list[tuple[str | None, int, int]]:
    return [(topic["name"], topic["error_code"], len(topic["partitions"])) for topic in answer["topics"]]


@virtually
async def test_a_topic_that_is_named_is_refused_whether_it_is_there_or_not() -> None:
    named = {"topics": tuple({"name": name, "topic_id": None} for name in ("t", "u", "nowhere", "other"))}
    answer = await _answer(Api.METADATA, 12, named)

    assert _topics(answer) == [("t", 0, 1), ("u", NO_TOPIC, 0), ("nowhere", NO_TOPIC, 0), ("other", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)]
    assert [topic["topic_id"] for topic in answer["topics"][1:]] == [None] * 3


@virtually
async def test_a_topic_that_is_asked_for_by_its_id_is_refused_without_its_name() -> None:
    async with staged(topics={"t": 1, "u": 1}) as stage:
        client = stage.connect("app")
        ids = [topic["topic_id"] for topic in (await client.ask(Api.METADATA, {"topics": None}, 12))["topics"]]
        stage.cluster.deny(map(Denial.of, DENIALS))
        answer = await client.ask(Api.METADATA, {"topics": tuple({"name": None, "topic_id": topic_id} for topic_id in ids)}, 12)

    assert _topics(answer) == [("t", 0, 1), (None, NO_TOPIC, 0)]
    assert [topic["topic_id"] for topic in answer["topics"]] == ids


@pytest.mark.parametrize(("api", "version", "body"), [(Api.METADATA, 12, {"topics": None}), (Api.DESCRIBE_TOPIC_PARTITIONS, 0, {"topics": ()})])
@virtually
async def test_of_all_topics_a_client_learns_of_those_that_it_may_see(api: Api, version: int, body: Mapping[str, Any]) -> None:
    assert [name for name, _, _ in _topics(await _answer(api, version, body))] == ["t"]
    assert _topics(await _answer(api, version, body, client="other")) == []


@virtually
async def test_a_topic_whose_partitions_are_to_be_described_is_refused() -> None:
    answer = await _answer(Api.DESCRIBE_TOPIC_PARTITIONS, 0, {"topics": ({"name": "t"}, {"name": "u"})})

    assert _topics(answer) == [("t", 0, 1), ("u", NO_TOPIC, 0)]


@virtually
async def test_a_request_that_no_rule_denies_is_answered_as_usual() -> None:
    answer = await _answer(Api.LIST_OFFSETS, 7, {"topics": ({"name": "u", "partitions": ({"partition_index": 0, "timestamp": -1},)},)})

    assert answer["topics"][0]["partitions"][0]["error_code"] in (0, ErrorCode.NOT_LEADER_OR_FOLLOWER)
