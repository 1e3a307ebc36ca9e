"""Answers that refuse a request: the shape of the request's answer, with one error code in every place that has one.

The fault engine gives them in place of a coordinator, and a coordinator gives them to refuse a whole request. Source: the `getErrorResponse` methods
of Kafka's request classes. Ids are echoed where the coordinator's own error answers echo them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from groupproof.protocol.vocabulary import Api

__all__ = ["error_of", "refusal"]

Body = Mapping[str, Any]
Refuse = Callable[[Body, int], dict[str, Any]]


def refusal(api: Api, request: Body, error_code: int, version: int | None = None) -> dict[str, Any]:
    """Return the answer to `request` (a body in the newest shape) with `error_code` in every place for one.

    With `version` the answer is Kafka's for it: from v2 on a refused OffsetFetch group has no partitions.
    """
    if api is Api.OFFSET_FETCH and version is not None and version >= 2:
        groups = tuple({"group_id": group.get("group_id", ""), "error_code": error_code} for group in request.get("groups", ()))
        return {"groups": groups}
    return _REFUSALS.get(api, _top)(request, error_code)


def error_of(api: Api, response: Body) -> int:
    """Return the top error code of a response body, or else the first nested one that is not 0."""
    code = int(response.get("error_code", 0))
    return code if code or api in _TOP_ALONE else _nested_error(response)


def _nested_error(body: Body) -> int:
    for value in body.values():
        if not isinstance(value, tuple | list):
            continue
        for entry in value:
            if not isinstance(entry, Mapping):
                break
            if code := int(entry.get("error_code", 0)) or _nested_error(entry):
                return code
    return 0


def _top(request: Body, code: int) -> dict[str, Any]:
    return {"error_code": code}


def _join(request: Body, code: int) -> dict[str, Any]:
    return {"error_code": code, "generation_id": -1, "member_id": request.get("member_id", "")}


def _find(request: Body, code: int) -> dict[str, Any]:
    nowhere = {"node_id": -1, "host": "", "port": -1, "error_code": code}
    return {"coordinators": tuple({"key": key, **nowhere} for key in request.get("coordinator_keys", ()))}


def _offset_fetch(request: Body, code: int) -> dict[str, Any]:
    return {"groups": tuple(_offset_fetch_group(group, code) for group in request.get("groups", ()))}


def _offset_fetch_group(group: Body, code: int) -> dict[str, Any]:
    topics = tuple(
        {**_named(topic), "partitions": tuple(_unfetched(index, code) for index in topic.get("partition_indexes", ()))}
        for topic in group.get("topics") or ()
    )
    return {"group_id": group.get("group_id", ""), "error_code": code, "topics": topics}


def _unfetched(index: int, code: int) -> dict[str, Any]:
    return {"partition_index": index, "committed_offset": -1, "metadata": "", "error_code": code}


def _describe_groups(request: Body, code: int) -> dict[str, Any]:
    return {"groups": tuple({"group_id": group, "error_code": code} for group in request.get("groups", ()))}


def _describe_consumer_groups(request: Body, code: int) -> dict[str, Any]:
    return {"groups": tuple({"group_id": group, "error_code": code} for group in request.get("group_ids", ()))}


def _delete_groups(request: Body, code: int) -> dict[str, Any]:
    return {"results": tuple({"group_id": group, "error_code": code} for group in request.get("groups_names", ()))}


def _delete_topics(request: Body, code: int) -> dict[str, Any]:
    """Refuse each topic. Up to v5 topics are named, from v6 on they have a name or an id."""
    asked = [*({"name": name} for name in request.get("topic_names", ())), *(_named(topic) for topic in request.get("topics") or ())]
    return {"responses": tuple({**topic, "error_code": code} for topic in asked)}


def _describe_configs(request: Body, code: int) -> dict[str, Any]:
    resources = ({name: resource[name] for name in ("resource_type", "resource_name")} for resource in request.get("resources", ()))
    return {"results": tuple({**resource, "error_code": code} for resource in resources)}


def _alter_configs(request: Body, code: int) -> dict[str, Any]:
    return {"responses": _describe_configs(request, code)["results"]}


def _create_partitions(request: Body, code: int) -> dict[str, Any]:
    return {"results": tuple({**_named(topic), "error_code": code} for topic in request.get("topics", ()))}


def _elect_leaders(request: Body, code: int) -> dict[str, Any]:
    """Refuse each partition: v0 has no top error code."""
    asked = request.get("topic_partitions") or ()
    refused = (
        {"topic": item["topic"], "partition_result": tuple({"partition_id": at, "error_code": code} for at in item["partitions"])} for item in asked
    )
    return {"error_code": code, "replica_election_results": tuple(refused)}


def _init_producer_id(request: Body, code: int) -> dict[str, Any]:
    return {"error_code": code, "producer_id": -1, "producer_epoch": -1}


def _topics(request: Body, code: int) -> dict[str, Any]:
    """Refuse each topic: CreateTopics, DescribeTopicPartitions."""
    return {"topics": tuple({**_named(topic), "error_code": code} for topic in request.get("topics") or ())}


def _metadata(request: Body, code: int) -> dict[str, Any]:
    return {"error_code": code, **_topics(request, code)}


def _by_partition(request_path: str, answer_path: str, *, top: bool = False, **more: Any) -> Refuse:
    """Return a refusal of each partition. `request_path` and `answer_path` are the paths to topics, partitions and index in request and answer."""
    asked_topics, asked_partitions, asked_index = request_path.split("/")
    answer_topics, answer_partitions, answer_index = answer_path.split("/")

    def refuse(request: Body, code: int) -> dict[str, Any]:
        def refused(topic: Body) -> dict[str, Any]:
            indexes = (partition[asked_index] for partition in topic.get(asked_partitions, ()))
            return {**_named(topic), answer_partitions: tuple({answer_index: index, "error_code": code, **more} for index in indexes)}

        answer: dict[str, Any] = {answer_topics: tuple(refused(topic) for topic in request.get(asked_topics, ()))}
        return {"error_code": code, **answer} if top else answer

    return refuse


def _named(topic: Body) -> dict[str, Any]:
    """Return the fields that name a topic in request and answer: its name (`topic` in Fetch and OffsetForLeaderEpoch) and its id, if present."""
    return {name: topic[name] for name in ("name", "topic", "topic_id") if name in topic}


# Answers with only the top error code: no search is needed.
_TOP_ALONE: Final = frozenset({Api.HEARTBEAT, Api.JOIN_GROUP, Api.SYNC_GROUP, Api.API_VERSIONS, Api.LIST_GROUPS, Api.INIT_PRODUCER_ID})
_COMMIT: Final = _by_partition("topics/partitions/partition_index", "topics/partitions/partition_index")
_REFUSALS: Final[dict[Api, Refuse]] = {
    Api.PRODUCE: _by_partition("topic_data/partition_data/index", "responses/partition_responses/index", base_offset=-1),
    Api.FETCH: _by_partition("topics/partitions/partition", "responses/partitions/partition_index", top=True, high_watermark=-1, records=b""),
    Api.LIST_OFFSETS: _by_partition("topics/partitions/partition_index", "topics/partitions/partition_index"),
    Api.METADATA: _metadata,
    Api.OFFSET_COMMIT: _COMMIT,
    Api.OFFSET_FETCH: _offset_fetch,
    Api.FIND_COORDINATOR: _find,
    Api.JOIN_GROUP: _join,
    Api.DESCRIBE_GROUPS: _describe_groups,
    Api.CREATE_TOPICS: _topics,
    Api.DELETE_TOPICS: _delete_topics,
    Api.CREATE_PARTITIONS: _create_partitions,
    Api.ELECT_LEADERS: _elect_leaders,
    Api.INIT_PRODUCER_ID: _init_producer_id,
    Api.OFFSET_FOR_LEADER_EPOCH: _by_partition("topics/partitions/partition", "topics/partitions/partition"),
    Api.TXN_OFFSET_COMMIT: _COMMIT,
    Api.DESCRIBE_CONFIGS: _describe_configs,
    Api.INCREMENTAL_ALTER_CONFIGS: _alter_configs,
    Api.DELETE_GROUPS: _delete_groups,
    Api.CONSUMER_GROUP_DESCRIBE: _describe_consumer_groups,
    Api.DESCRIBE_TOPIC_PARTITIONS: _topics,
}
"""The APIs whose answer has more than a top error code. `_top` refuses the others."""
