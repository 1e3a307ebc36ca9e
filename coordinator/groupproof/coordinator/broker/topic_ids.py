"""OffsetCommit and OffsetFetch by topic id (v10, KIP-848): the broker translates ids to names for the coordinator, and back. Pure.

Sources: Kafka's `KafkaApis.handleOffsetCommitRequest` and `fetchOffsetsForGroup`. The broker answers 100 for a topic with an unknown id, before the
coordinator checks the member (CGO-26, CGO-27, CGO-39), and asks for the rest. A group that is refused as a whole has no topics in its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from groupproof.coordinator.broker.topics import Topics
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["BY_ID_SINCE", "NamedRequest", "named_request"]

Body = dict[str, Any]

BY_ID_SINCE: Final[Mapping[Api, int]] = {Api.OFFSET_COMMIT: 10, Api.OFFSET_FETCH: 10}
"""The first version of an API that names topics only by their ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRequest:
    """A request with names in place of ids. `answered` converts the answer to it into the client's answer."""

    body: Body
    answered: Callable[[Body], Body]


def named_request(api: Api, body: Mapping[str, Any], topics: Topics, *, unknown: ErrorCode = ErrorCode.UNKNOWN_TOPIC_ID) -> NamedRequest:
    """Return the request for the coordinator. `unknown` is the error code for unknown ids in a commit."""
    return _commit(body, topics, unknown) if api is Api.OFFSET_COMMIT else _fetch(body, topics)


def _commit(body: Mapping[str, Any], topics: Topics, error: ErrorCode) -> NamedRequest:
    existing, unknown = _apart(body.get("topics") or (), topics)
    refused = tuple(_refused(topic, (entry["partition_index"] for entry in topic["partitions"]), error=error) for topic in unknown)
    return NamedRequest(
        body={**body, "topics": existing}, answered=lambda answer: {**answer, "topics": (*_identified(answer.get("topics") or (), topics), *refused)}
    )


def _fetch(body: Mapping[str, Any], topics: Topics) -> NamedRequest:
    groups: list[Body] = []
    refused: dict[str, tuple[Body, ...]] = {}
    for group in body.get("groups") or ():
        existing, unknown = _apart(group.get("topics") or (), topics)
        groups.append({**group, "topics": None if group.get("topics") is None else existing})
        refused[group["group_id"]] = tuple(_refused(topic, topic["partition_indexes"], _NOT_FETCHED) for topic in unknown)

    def answered(group: Body) -> Body:
        lacking = () if group.get("error_code") else refused.get(group["group_id"], ())
        return {**group, "topics": (*_identified(group.get("topics") or (), topics), *lacking)}

    return NamedRequest(
        body={**body, "groups": tuple(groups)}, answered=lambda answer: {**answer, "groups": tuple(map(answered, answer.get("groups") or ()))}
    )


_NOT_FETCHED: Final = {"committed_offset": -1, "committed_leader_epoch": -1, "metadata": ""}


def _apart(asked: Sequence[Mapping[str, Any]], topics: Topics) -> tuple[tuple[Body, ...], tuple[Mapping[str, Any], ...]]:
    """Return the existing topics, under their names, and the unknown ones."""
    found = [(topic, topics.by_id(topic.get("topic_id"))) for topic in asked]
    existing = tuple({**topic, "name": there.name} for topic, there in found if there is not None)
    return existing, tuple(topic for topic, there in found if there is None)


def _identified(answered: Sequence[Mapping[str, Any]], topics: Topics) -> tuple[Body, ...]:
    return tuple({**topic, "topic_id": found.topic_id} for topic in answered if (found := topics.named(topic["name"])) is not None)


def _refused(
    topic: Mapping[str, Any], indexes: Any, beside: Mapping[str, Any] | None = None, *, error: ErrorCode = ErrorCode.UNKNOWN_TOPIC_ID
) -> Body:
    partitions = tuple({"partition_index": index, **(beside or {}), "error_code": error.value} for index in indexes)
    return {"topic_id": topic.get("topic_id"), "name": "", "partitions": partitions}
