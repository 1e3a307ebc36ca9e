"""Metadata answers without the groups and topics that the client may not describe. Pure.

Source: Kafka's `KafkaApis.getCoordinator` and `handleTopicMetadataRequest`, `DescribeTopicPartitionsRequestHandler`. A request for all topics gets
none of the denied ones. A request that names one is refused, whether the topic exists or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from groupproof.coordinator.broker.rights.authorizer import Operation, Resource, Rights
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["concealed"]

Body = dict[str, Any]

_GROUP: Final = 0  # FindCoordinator's key type
_IN_BATCHES_SINCE: Final = 4  # KIP-699; before, the message is the error's
_MESSAGE: Final = "Group authorization failed."


def concealed(api: Api, version: int, *, asked: Mapping[str, Any], answer: Body, rights: Rights) -> Body:
    """Return the answer that a client with these rights gets."""
    conceal = _CONCEALED.get(api)
    return answer if conceal is None else conceal(version, asked, answer, rights)


def _coordinators(version: int, asked: Mapping[str, Any], answer: Body, rights: Rights) -> Body:
    if asked.get("key_type", _GROUP) != _GROUP:
        return answer
    message = "" if version >= _IN_BATCHES_SINCE else _MESSAGE
    refused = {"node_id": -1, "host": "", "port": -1, "error_code": ErrorCode.GROUP_AUTHORIZATION_FAILED.value, "error_message": message}
    return answer | {
        "coordinators": tuple(
            entry if rights.may(Operation.DESCRIBE, Resource.GROUP, entry["key"]) else entry | refused for entry in answer["coordinators"]
        )
    }


def _topics(version: int, asked: Mapping[str, Any], answer: Body, rights: Rights) -> Body:
    entries = ((entry, entry["name"] is None or rights.may(Operation.DESCRIBE, Resource.TOPIC, entry["name"])) for entry in answer["topics"])
    by_id = {topic["topic_id"] for topic in asked.get("topics") or () if topic.get("topic_id") is not None}
    names = bool(asked.get("topics"))
    return answer | {"topics": tuple(entry if may else _refused(entry, by_id) for entry, may in entries if may or names)}


def _refused(entry: Body, by_id: set[str]) -> Body:
    """Refuse a topic under the requested name or id, without the other one."""
    is_by_id = entry["topic_id"] in by_id
    hidden: Body = {"name": None} if is_by_id else {"topic_id": None}
    return entry | hidden | {"error_code": ErrorCode.TOPIC_AUTHORIZATION_FAILED.value, "is_internal": False, "partitions": ()}


_CONCEALED: Final[Mapping[Api, Callable[[int, Mapping[str, Any], Body, Rights], Body]]] = {
    Api.FIND_COORDINATOR: _coordinators,
    Api.METADATA: _topics,
    Api.DESCRIBE_TOPIC_PARTITIONS: _topics,
}
