"""Converts plain bodies between old shapes and the newest one. Pure.

LeaveGroup before v3 names one member (KIP-345), FindCoordinator before v4 one key and OffsetFetch before v8 one group (KIP-709). OffsetCommit v1
gives each partition a timestamp. ListOffsets v0 asks for a number of offsets and gets a list of them (KIP-79).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from groupproof.protocol.wire.messages import JoinGroupResponse

__all__ = ["REWRITES", "Rewrite"]

Body = dict[str, Any]
_COMMITTED = ("partition_index", "committed_offset", "committed_metadata")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """Converts between versions up to `version_max` and the newest shape. `is_other_shape` says that they differ in more than a value.

    `newest(body, version)` converts a body that was read and has every field of the old version. `old(body, version)` converts a body that is about
    to be written, and that may lack fields. Where only a value differs, `old_message(message)` does the same for a message.
    """

    version_max: int
    newest: Callable[[Body, int], Body]
    old: Callable[[Mapping[str, Any], int], Body]
    is_other_shape: bool = True
    old_message: Callable[[Any], Any] | None = None


def _leave_request_newest(body: Body, version: int) -> Body:
    member = {"member_id": body["member_id"], "group_instance_id": None, "reason": None}
    return {"group_id": body["group_id"], "members": (member,)}


def _leave_request_old(body: Mapping[str, Any], version: int) -> Body:
    members = body.get("members", ())
    if len(members) != 1:
        raise ValueError(f"LeaveGroup v{version} names exactly one member, not {len(members)}")
    return {"group_id": body.get("group_id", ""), "member_id": members[0].get("member_id", "")}


def _leave_response_newest(body: Body, version: int) -> Body:
    return {**body, "members": ()}


def _leave_response_old(body: Mapping[str, Any], version: int) -> Body:
    """LEAVE-51: the one code is the top one, or else the only member's."""
    code = body.get("error_code", 0)
    members = body.get("members", ())
    if code == 0 and len(members) == 1:
        code = members[0].get("error_code", 0)
    return _kept(body, "throttle_time_ms") | {"error_code": code}


def _find_request_newest(body: Body, version: int) -> Body:
    return {"coordinator_keys": (body["key"],), "key_type": body["key_type"]}


def _find_request_old(body: Mapping[str, Any], version: int) -> Body:
    keys = body.get("coordinator_keys", ())
    if len(keys) != 1:
        raise ValueError(f"FindCoordinator v{version} asks for exactly one key, not {len(keys)}")
    return _kept(body, "key_type") | {"key": keys[0]}


def _find_response_newest(body: Body, version: int) -> Body:
    found = {"key": "", **body}
    return {"throttle_time_ms": found.pop("throttle_time_ms"), "coordinators": (found,)}


def _find_response_old(body: Mapping[str, Any], version: int) -> Body:
    found = body.get("coordinators", ())
    if len(found) != 1:
        raise ValueError(f"a FindCoordinator v{version} response has exactly one coordinator, not {len(found)}")
    return _kept(body, "throttle_time_ms") | {name: value for name, value in found[0].items() if name != "key"}


def _fetch_request_newest(body: Body, version: int) -> Body:
    topics = body["topics"]
    if topics is not None:
        topics = tuple({**topic, "topic_id": None} for topic in topics)
    group = {"group_id": body["group_id"], "topics": topics, "member_id": None, "member_epoch": -1}
    return {"groups": (group,), "require_stable": body["require_stable"]}


def _fetch_request_old(body: Mapping[str, Any], version: int) -> Body:
    group = _only_group(body, f"OffsetFetch v{version}")
    topics = group.get("topics", ())
    if topics is not None:
        topics = tuple(_kept(topic, "name", "partition_indexes") for topic in topics)
    return _kept(body, "require_stable") | {"group_id": group.get("group_id", ""), "topics": topics}


def _fetch_response_newest(body: Body, version: int) -> Body:
    topics = tuple({**topic, "topic_id": None} for topic in body["topics"])
    group = {"group_id": "", "topics": topics, "error_code": body["error_code"]}
    return {"throttle_time_ms": body["throttle_time_ms"], "groups": (group,)}


def _fetch_response_old(body: Mapping[str, Any], version: int) -> Body:
    """Before v2 the group has no code: each partition repeats it."""
    group = _only_group(body, f"an OffsetFetch v{version} response")
    code = group.get("error_code", 0)
    topics = tuple(_fetched_topic(topic, code if version < 2 else 0) for topic in group.get("topics", ()))
    return _kept(body, "throttle_time_ms") | {"topics": topics, "error_code": code}


def _fetched_topic(topic: Mapping[str, Any], code: int) -> Body:
    partitions = topic.get("partitions", ())
    if code:
        partitions = tuple({**partition, "error_code": code, "committed_offset": -1} for partition in partitions)
    return {"name": topic.get("name", ""), "partitions": partitions}


def _join_response_newest(body: Body, version: int) -> Body:
    """Before v7 the protocol's name could not be null: "" was used instead."""
    body["protocol_name"] = body["protocol_name"] or None
    return body


def _join_response_old(body: Mapping[str, Any], version: int) -> Body:
    return {**body, "protocol_name": body.get("protocol_name") or ""}


def _join_response_old_message(message: JoinGroupResponse) -> JoinGroupResponse:
    return message if message.protocol_name else replace(message, protocol_name="")


def _commit_request_newest(body: Body, version: int) -> Body:
    """Drop v1's timestamp of each partition, which no later version has, and add defaults for later fields."""
    return {**body, "group_instance_id": None, "retention_time_ms": -1, "topics": tuple(_commit_topic_newest(topic) for topic in body["topics"])}


def _commit_topic_newest(topic: Mapping[str, Any]) -> Body:
    partitions = tuple(_kept(partition, *_COMMITTED) | {"committed_leader_epoch": -1} for partition in topic["partitions"])
    return {"name": topic["name"], "topic_id": None, "partitions": partitions}


def _commit_request_old(body: Mapping[str, Any], version: int) -> Body:
    topics = tuple(
        _kept(topic, "name") | {"partitions": tuple(_kept(partition, *_COMMITTED) for partition in topic.get("partitions", ()))}
        for topic in body.get("topics", ())
    )
    return _kept(body, "group_id", "generation_id", "member_id") | {"topics": topics}


def _list_request_newest(body: Body, version: int) -> Body:
    return {**body, "isolation_level": 0, "timeout_ms": 0, "topics": _by_partition(body, _listed_newest)}


def _listed_newest(partition: Mapping[str, Any]) -> Body:
    return _kept(partition, "partition_index", "timestamp") | {"current_leader_epoch": -1}


def _list_request_old(body: Mapping[str, Any], version: int) -> Body:
    return _kept(body, "replica_id") | {"topics": _by_partition(body, lambda partition: _kept(partition, "partition_index", "timestamp"))}


def _list_response_newest(body: Body, version: int) -> Body:
    return {"throttle_time_ms": 0, "topics": _by_partition(body, _offset_newest)}


def _offset_newest(partition: Mapping[str, Any]) -> Body:
    offsets = partition["old_style_offsets"]
    return _kept(partition, "partition_index", "error_code") | {"timestamp": -1, "offset": offsets[0] if offsets else -1, "leader_epoch": -1}


def _list_response_old(body: Mapping[str, Any], version: int) -> Body:
    return {"topics": _by_partition(body, _offset_old)}


def _offset_old(partition: Mapping[str, Any]) -> Body:
    """Return a list with the offset, empty where there is none. Later versions have only one offset."""
    offset = partition.get("offset", -1)
    return _kept(partition, "partition_index", "error_code") | {"old_style_offsets": (offset,) if offset >= 0 else ()}


def _by_partition(body: Mapping[str, Any], rewritten: Callable[[Mapping[str, Any]], Body]) -> tuple[Body, ...]:
    return tuple(
        _kept(topic, "name") | {"partitions": tuple(rewritten(partition) for partition in topic.get("partitions", ()))}
        for topic in body.get("topics", ())
    )


def _only_group(body: Mapping[str, Any], title: str) -> Mapping[str, Any]:
    groups = body.get("groups", ())
    if len(groups) != 1:
        raise ValueError(f"{title} is about exactly one group, not {len(groups)}")
    only: Mapping[str, Any] = groups[0]
    return only


def _kept(body: Mapping[str, Any], *names: str) -> Body:
    return {name: body[name] for name in names if name in body}


REWRITES: dict[tuple[Api, str], Rewrite] = {
    (Api.LEAVE_GROUP, "request"): Rewrite(version_max=2, newest=_leave_request_newest, old=_leave_request_old),
    (Api.LEAVE_GROUP, "response"): Rewrite(version_max=2, newest=_leave_response_newest, old=_leave_response_old),
    (Api.FIND_COORDINATOR, "request"): Rewrite(version_max=3, newest=_find_request_newest, old=_find_request_old),
    (Api.FIND_COORDINATOR, "response"): Rewrite(version_max=3, newest=_find_response_newest, old=_find_response_old),
    (Api.OFFSET_FETCH, "request"): Rewrite(version_max=7, newest=_fetch_request_newest, old=_fetch_request_old),
    (Api.OFFSET_FETCH, "response"): Rewrite(version_max=7, newest=_fetch_response_newest, old=_fetch_response_old),
    (Api.OFFSET_COMMIT, "request"): Rewrite(version_max=1, newest=_commit_request_newest, old=_commit_request_old),
    (Api.LIST_OFFSETS, "request"): Rewrite(version_max=0, newest=_list_request_newest, old=_list_request_old),
    (Api.LIST_OFFSETS, "response"): Rewrite(version_max=0, newest=_list_response_newest, old=_list_response_old),
    (Api.JOIN_GROUP, "response"): Rewrite(
        version_max=6, newest=_join_response_newest, old=_join_response_old, is_other_shape=False, old_message=_join_response_old_message
    ),
}
"""The conversions by API and side."""
