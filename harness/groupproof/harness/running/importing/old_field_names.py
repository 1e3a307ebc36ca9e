"""Converts message bodies of a request log from their release's field names to the newest shape, which every trace has. Pure.

Fields that no reader of such a trace needs are left out. A blob of which only the length is logged becomes empty, with the length beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from groupproof.protocol.vocabulary import Api

__all__ = ["newest_request", "newest_response"]

Body = Mapping[str, Any]
_LENGTH: Final = re.compile(r"\blim=(\d+)")


def newest_request(api: Api, body: Body) -> dict[str, Any]:
    """Return a request's body in the newest shape."""
    return {**_plain(body), **_REQUESTS.get(api, _nothing)(body)}


def newest_response(api: Api, body: Body) -> dict[str, Any]:
    """Return a response's body in the newest shape; numbers logged as text become numbers."""
    return {**_plain(body), **_RESPONSES.get(api, _nothing)(body)}


def _nothing(_: Body) -> dict[str, Any]:
    return {}


def _plain(body: Body) -> dict[str, Any]:
    """Return the fields with a single value."""
    return {_RENAMED.get(name, name): _value(value) for name, value in body.items() if not isinstance(value, list | dict)}


_RENAMED: Final = {
    "session_timeout": "session_timeout_ms", "rebalance_timeout": "rebalance_timeout_ms", "group_protocol": "protocol_name", "leader_id": "leader",
    "generation_id_or_member_epoch": "generation_id",
}  # fmt: skip


def _value(value: Any) -> Any:
    if value == "null":
        return None
    if isinstance(value, str) and (value.isdigit() or (value.startswith("-") and value[1:].isdigit())):
        return int(value)
    return value


def _text(body: Body, *names: str) -> str:
    return next((str(body[name]) for name in names if body.get(name) is not None), "")


def _number(body: Body, *names: str) -> int:
    return next((int(body[name]) for name in names if name in body), -1)


def _optional(body: Body, name: str) -> str | None:
    value = body.get(name)
    return None if value in (None, "null", "None") else str(value)


def _blob(body: Body, *names: str) -> dict[str, Any]:
    """Return the blob where it is logged, or else its length."""
    value = next((body[name] for name in names if name in body), b"")
    if isinstance(value, bytes):
        return {names[0]: value}
    found = _LENGTH.search(str(value))
    return {names[0]: b"", f"{names[0]}_bytes": int(found[1]) if found else 0}


def _several(body: Body, *names: str) -> Sequence[Body]:
    found: list[Any] = next((body[name] for name in names if isinstance(body.get(name), list)), [])
    return [entry for entry in found if isinstance(entry, Mapping)]


def _who(body: Body) -> dict[str, Any]:
    return {"group_id": _text(body, "group_id"), "member_id": _text(body, "member_id"), "group_instance_id": _optional(body, "group_instance_id")}


def _find(body: Body) -> dict[str, Any]:
    keys = body.get("coordinator_keys") or [_text(body, "coordinator_key", "key", "group_id")]
    return {"coordinator_keys": tuple(keys), "key_type": max(0, _number(body, "key_type", "coordinator_type"))}


def _join(body: Body) -> dict[str, Any]:
    protocols = tuple(
        {"name": _text(entry, "name", "protocol_name"), **_blob(entry, "metadata", "protocol_metadata")}
        for entry in _several(body, "protocols", "group_protocols")
    )
    return {**_who(body), "protocol_type": _text(body, "protocol_type"), "protocols": protocols}


def _joined(body: Body) -> dict[str, Any]:
    members = tuple(
        {
            "member_id": _text(entry, "member_id"),
            "group_instance_id": _optional(entry, "group_instance_id"),
            **_blob(entry, "metadata", "member_metadata"),
        }
        for entry in _several(body, "members")
    )
    return {"member_id": _text(body, "member_id"), "leader": _text(body, "leader", "leader_id"), "members": members}


def _sync(body: Body) -> dict[str, Any]:
    entries = _several(body, "assignments", "group_assignment")
    assignments = tuple({"member_id": _text(entry, "member_id"), **_blob(entry, "assignment", "member_assignment")} for entry in entries)
    return {**_who(body), "assignments": assignments}


def _synced(body: Body) -> dict[str, Any]:
    return _blob(body, "assignment", "member_assignment")


def _leave(body: Body) -> dict[str, Any]:
    members = _several(body, "members") or [body]
    event = ({**_who(member), "reason": _optional(member, "reason")} for member in members)
    return {
        "group_id": _text(body, "group_id"),
        "members": tuple({name: value for name, value in entry.items() if name != "group_id"} for entry in event),
    }


def _commit(body: Body) -> dict[str, Any]:
    topics = tuple(
        {
            "name": _text(topic, "name", "topic", "topic_id"),
            "partitions": tuple(
                {"partition_index": _number(entry, "partition_index", "partition"), "committed_offset": _number(entry, "committed_offset", "offset")}
                for entry in _several(topic, "partitions")
            ),
        }
        for topic in _several(body, "topics")
    )
    return {**_who(body), "topics": topics}


def _committed(body: Body) -> dict[str, Any]:
    topics = tuple(
        {
            "name": _text(topic, "name", "topic", "topic_id"),
            "partitions": tuple(
                {"partition_index": _number(entry, "partition_index", "partition"), "error_code": _number(entry, "error_code")}
                for entry in _several(topic, "partitions", "partition_responses")
            ),
        }
        for topic in _several(body, "topics", "responses")
    )
    return {"topics": topics}


def _found(body: Body) -> dict[str, Any]:
    one = body.get("coordinator")
    coordinators = _several(body, "coordinators") or [{**body, **one} if isinstance(one, Mapping) else body]
    return {
        "coordinators": tuple(
            {"key": _text(coordinator, "key"), "node_id": _number(coordinator, "node_id"), "error_code": _number(coordinator, "error_code")}
            for coordinator in coordinators
        )
    }


def _metadata(body: Body) -> dict[str, Any]:
    topics = tuple(
        {
            "name": _text(topic, "name", "topic"),
            "error_code": _number(topic, "error_code"),
            "partitions": tuple(
                {"partition_index": _number(entry, "partition_index", "partition")} for entry in _several(topic, "partitions", "partition_metadata")
            ),
        }
        for topic in _several(body, "topics", "topic_metadata")
    )
    return {"topics": topics, "brokers": ()}


_REQUESTS: Final[Mapping[Api, Callable[[Body], dict[str, Any]]]] = {
    Api.FIND_COORDINATOR: _find,
    Api.JOIN_GROUP: _join,
    Api.SYNC_GROUP: _sync,
    Api.HEARTBEAT: _who,
    Api.LEAVE_GROUP: _leave,
    Api.OFFSET_COMMIT: _commit,
    Api.METADATA: lambda _: {"topics": ()},
}

_RESPONSES: Final[Mapping[Api, Callable[[Body], dict[str, Any]]]] = {
    Api.FIND_COORDINATOR: _found,
    Api.JOIN_GROUP: _joined,
    Api.SYNC_GROUP: _synced,
    Api.LEAVE_GROUP: lambda body: {"members": tuple({"error_code": _number(entry, "error_code")} for entry in _several(body, "members"))},
    Api.OFFSET_COMMIT: _committed,
    Api.METADATA: _metadata,
}
