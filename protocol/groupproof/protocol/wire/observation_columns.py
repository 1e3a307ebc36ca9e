"""The columns of an observation from a decoded request or response, kept small. Pure.

Group APIs, dialects' own APIs and KIP-848's heartbeat keep their whole body. For other APIs the trace keeps only the data that checkers need (topics,
offsets, error codes), and never record bytes or SASL payloads (contract, "The trace").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.error_responses import error_of
from groupproof.protocol.wire.message_conversion import GROUP_APIS
from groupproof.protocol.wire.subscription import decode_assignment, decode_subscription

__all__ = ["FrameColumns", "add_columns", "registered_columns", "request_columns", "response_columns"]

Body = Mapping[str, Any]
Columns = dict[str, Any]
Named = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameColumns:
    """The columns of one API's bodies: for a request its sender and its content, for a response its content (with the request as an argument).

    The last argument returns the names of topics by id, as far as they are known.
    """

    request: Callable[[Body, Named], tuple[Columns, Columns]]
    response: Callable[[Body, Body, Named], Columns]


def request_columns(api: Api, body: Body, named: Named = str) -> tuple[Columns, Columns]:
    """Return the columns of the sender and of the content, as far as the request has them.

    The sender's are group, member, instance and generation; the content's are partitions, offsets and body. Newer versions name topics by id
    (KIP-516, KIP-848); `named` returns their names.
    """
    brought, describe = _BROUGHT.get(api), _REQUESTS.get(api)
    if brought is not None:
        who, body_columns = brought.request(body, named)
    else:
        who, body_columns = describe(_named_by(body, named) if api in _BY_ID else body) if describe else ({}, {})
    if api is Api.FETCH:
        body_columns = _fetched(body, named)
    body_columns["body"] = body if _is_whole(api) else _compact(api, body)
    return who, body_columns


def response_columns(api: Api, request: Body, body: Body, named: Named = str) -> Columns:
    """Return the columns of an answer to the request body `request`, without those of the sender."""
    brought, describe = _BROUGHT.get(api), _RESPONSES.get(api)
    columns: Columns = {}
    if brought is not None:
        columns = brought.response(body, request, named)
    elif describe:
        columns = describe(_named_by(body, named) if api in _BY_ID else body, request)
    columns["error"] = error_of(api, body)
    columns["body"] = body if _is_whole(api) else _compact(api, body)
    return columns


_BY_ID: Final = frozenset({Api.OFFSET_COMMIT, Api.OFFSET_FETCH})


def _named_by(body: Body, named: Named) -> Body:
    """Return the body with names in place of mere ids, in the topic lists of OffsetCommit and OffsetFetch (v10)."""
    if body.get("groups"):
        return {**body, "groups": [_named_by(group, named) for group in body["groups"]]}
    return {**body, "topics": [_named_topic(topic, named) for topic in body["topics"]]} if body.get("topics") else body


def _named_topic(topic: Body, named: Named) -> Body:
    return topic if topic.get("name") or not topic.get("topic_id") else {**topic, "name": named(str(topic["topic_id"]))}


def _is_whole(api: Api) -> bool:
    return api in GROUP_APIS or api in _BROUGHT


def _member_columns(body: Body) -> tuple[Columns, Columns]:
    return _who(body), {}


def _who(body: Body) -> Columns:
    return {
        "group": body.get("group_id"),
        "member": body.get("member_id"),
        "instance": body.get("group_instance_id"),
        "generation": body.get("generation_id"),
    }


def _find_request(body: Body) -> tuple[Columns, Columns]:
    keys = body.get("coordinator_keys") or ()
    return ({"group": keys[0]} if keys and body.get("key_type", 0) == 0 else {}), {}


def _join_request(body: Body) -> tuple[Columns, Columns]:
    who = {"group": body.get("group_id"), "member": body.get("member_id"), "instance": body.get("group_instance_id")}
    protocols = body.get("protocols") or ()
    if body.get("protocol_type") == "consumer" and protocols:
        return who, {"partitions": _owned(protocols[0].get("metadata") or b"")}
    return who, {}


def _owned(metadata: bytes) -> tuple[tuple[str, int], ...]:
    try:
        return decode_subscription(metadata).owned
    except ValueError:
        return ()


def _leave_request(body: Body) -> tuple[Columns, Columns]:
    members = body.get("members") or ()
    first: Body = members[0] if members else {}
    return {"group": body.get("group_id"), "member": first.get("member_id"), "instance": first.get("group_instance_id")}, {}


def _commit_request(body: Body) -> tuple[Columns, Columns]:
    offsets = (
        (topic.get("name") or str(topic.get("topic_id")), partition["partition_index"], partition["committed_offset"])
        for topic in body.get("topics") or ()
        for partition in topic.get("partitions") or ()
    )
    return _who(body), {"offsets": tuple(offsets)}


def _delete_request(body: Body) -> tuple[Columns, Columns]:
    asked = ((topic["name"], partition["partition_index"]) for topic in body.get("topics") or () for partition in topic.get("partitions") or ())
    return {"group": body.get("group_id")}, {"partitions": tuple(asked)}


def _groups_request(body: Body) -> tuple[Columns, Columns]:
    groups = body.get("groups") or body.get("groups_names") or ()
    return {"group": groups[0] if groups else None}, {}


def _offset_fetch_request(body: Body) -> tuple[Columns, Columns]:
    groups = body.get("groups") or ()
    first: Body = groups[0] if groups else {}
    asked = ((topic["name"], index) for topic in first.get("topics") or () for index in topic.get("partition_indexes") or ())
    return {"group": first.get("group_id"), "member": first.get("member_id") or None}, {"partitions": tuple(asked)}


def _fetched(body: Body, named: Named) -> Columns:
    offsets = (
        (topic.get("topic") or named(str(topic.get("topic_id"))), partition["partition"], partition["fetch_offset"])
        for topic in body.get("topics") or ()
        for partition in topic.get("partitions") or ()
    )
    return {"offsets": tuple(offsets)}


_REQUESTS: dict[Api, Callable[[Body], tuple[Columns, Columns]]] = {
    Api.FIND_COORDINATOR: _find_request,
    Api.JOIN_GROUP: _join_request,
    Api.SYNC_GROUP: _member_columns,
    Api.HEARTBEAT: _member_columns,
    Api.LEAVE_GROUP: _leave_request,
    Api.OFFSET_COMMIT: _commit_request,
    Api.OFFSET_FETCH: _offset_fetch_request,
    Api.TXN_OFFSET_COMMIT: _commit_request,
    Api.OFFSET_DELETE: _delete_request,
    Api.DESCRIBE_GROUPS: _groups_request,
    Api.DELETE_GROUPS: _groups_request,
}


def _join_response(body: Body, request: Body) -> Columns:
    return {"member": body.get("member_id") or request.get("member_id"), "generation": body.get("generation_id")}


def _sync_response(body: Body, request: Body) -> Columns:
    """Return the partitions of a consumer's assignment. Other groups' assignments stay undecoded."""
    if body.get("error_code") or request.get("protocol_type") not in (None, "consumer"):
        return {}
    try:
        return {"partitions": decode_assignment(body.get("assignment") or b"").partitions}
    except ValueError:
        return {}


def _offset_fetch_response(body: Body, request: Body) -> Columns:
    offsets = (
        (topic.get("name") or str(topic.get("topic_id")), partition["partition_index"], partition["committed_offset"])
        for group in (body.get("groups") or ())[:1]
        for topic in group.get("topics") or ()
        for partition in topic.get("partitions") or ()
    )
    return {"offsets": tuple(offsets)}


_RESPONSES: dict[Api, Callable[[Body, Body], Columns]] = {
    Api.JOIN_GROUP: _join_response,
    Api.SYNC_GROUP: _sync_response,
    Api.OFFSET_FETCH: _offset_fetch_response,
}


def _epoch_request(body: Body, named: Named) -> tuple[Columns, Columns]:
    who = {"group": body.get("group_id"), "member": body.get("member_id"), "instance": body.get("instance_id")}
    return {**who, "member_epoch": body.get("member_epoch")}, _by_id(body.get("topic_partitions"), named)


def _epoch_response(body: Body, request: Body, named: Named) -> Columns:
    """Return the member's epoch and assignment, which an error answer does not have."""
    assigned = (
        {}
        if body.get("error_code")
        else {"member_epoch": body.get("member_epoch")} | _by_id((body.get("assignment") or {}).get("topic_partitions"), named)
    )
    return {"member": body.get("member_id") or request.get("member_id"), "member_epoch": None, **assigned}


def _by_id(topics: Any, named: Named) -> Columns:
    """Return the partitions of topics given by id; nothing where there are none."""
    partitions = ((named(str(topic.get("topic_id"))), index) for topic in topics or () for index in topic.get("partitions") or ())
    return {"partitions": tuple(partitions)} if topics else {}


_BROUGHT: Final[dict[Api, FrameColumns]] = {
    Api.CONSUMER_GROUP_HEARTBEAT: FrameColumns(request=_epoch_request, response=_epoch_response),
}
"""The columns of the dialects' APIs, and of KIP-848's heartbeat, which traces describe even without a registered dialect."""


def add_columns(columns: Mapping[Api, FrameColumns]) -> None:
    """Register columns for the frames of these APIs."""
    _BROUGHT.update(columns)


@contextmanager
def registered_columns(columns: Mapping[Api, FrameColumns]) -> Iterator[None]:
    """Register columns for the frames of these APIs, for the duration of the context."""
    before = dict(_BROUGHT)
    add_columns(columns)
    try:
        yield
    finally:
        _BROUGHT.clear()
        _BROUGHT.update(before)


_KEPT: dict[Api, tuple[str, ...]] = {
    Api.FETCH: ("max_wait_ms", "min_bytes", "max_bytes", "isolation_level", "session_id", "session_epoch", "error_code"),
    Api.PRODUCE: ("acks", "timeout_ms", "transactional_id"),
    Api.SASL_HANDSHAKE: ("mechanism", "error_code"),
    Api.SASL_AUTHENTICATE: ("error_code",),
    Api.API_VERSIONS: ("client_software_name", "client_software_version", "error_code"),
}


def _compact(api: Api, body: Body) -> Columns:
    """Keep the plain fields, and for topics their names and partition counts."""
    kept = {name: body[name] for name in _KEPT[api] if name in body} if api in _KEPT else _plain_fields(body)
    for name in ("topics", "topic_data", "responses"):
        if isinstance(body.get(name), tuple | list):
            kept[name] = [_topic(entry) for entry in body[name]]
    return kept


def _plain_fields(body: Body) -> Columns:
    return {name: value for name, value in body.items() if isinstance(value, str | int | bool | None)}


def _topic(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    partitions = entry.get("partitions", entry.get("partition_data", entry.get("partition_responses")))
    topic: Columns = {"name": entry.get("name") or entry.get("topic") or entry.get("topic_id")}
    return topic | ({"partitions": len(partitions)} if isinstance(partitions, tuple | list) else {})
