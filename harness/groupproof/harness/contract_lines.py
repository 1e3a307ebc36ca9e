"""The lines of the shim contract, version 1: read what a shim writes, write what it reads. Pure; `conversation.py` keeps the dialogue.

Source: the shim contract ("The shim contract (version 1)"): JSON objects one a line; stdout lines that don't start with `{` are noise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CONTRACT", "Answer", "BrokenLine", "Event", "Hello", "Line", "Noise", "command_line", "read_line"]

CONTRACT = 1

LINE_BYTES_MAX = 1 << 20
_SHOWN_CHARS_MAX = 120


class BrokenLine(Exception):
    """A line that breaks the contract; `str()` says how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """A shim's first line."""

    contract: int
    client: str
    version: str
    language: str
    capabilities: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The one answer to a command; exactly one of `ok`, `error` and `unimplemented` is set. `body` is the whole object."""

    id: int
    ok: bool = False
    error: str | None = None
    unimplemented: str | None = None
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something a member did, by VerifiableConsumer's names; `member` only from a shim with `multi`. `known` is false for a name not in the contract."""

    name: str
    member: str | None
    body: dict[str, Any]
    known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    text: str


Line = Hello | Answer | Event | Noise

_PARTITION_EVENTS = frozenset({"partitions_assigned", "partitions_revoked", "partitions_lost"})
_EVENT_FIELDS: dict[str, dict[str, type]] = {
    "startup_complete": {},
    "shutdown_complete": {},
    "callback_done": {},
    **{name: {"partitions": list} for name in _PARTITION_EVENTS},
    "records_consumed": {"count": int, "partitions": list},
    "offsets_committed": {"success": bool, "offsets": list},
    "error": {"error": str, "message": str, "fatal": bool},
}
_HELLO_FIELDS: dict[str, type] = {"contract": int, "client": str, "version": str, "language": str, "capabilities": list}


def read_line(text: str) -> Line:
    """Raise `BrokenLine` for a line that starts with `{` and is not what the contract asks for."""
    if not text.startswith("{"):
        return Noise(text=text)
    body = _object(text)
    if body.get("name") == "hello":
        return _hello(body)
    if "name" in body:
        return _event(body)
    if "id" in body:
        return _answer(body)
    raise BrokenLine(f"neither an event (name) nor an answer (id): {_shown(text)}")


def command_line(number: int, command: str, fields: Mapping[str, Any], member: str | None = None) -> str:
    """Return a command as a line without its newline; `member` for shims with `multi`."""
    addressed = {} if member is None else {"member": member}
    return json.dumps({"id": number, "command": command, **addressed, **fields}, separators=(",", ":"), ensure_ascii=False)


def _object(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError as error:
        raise BrokenLine(f"a line that starts with {{ is no JSON ({error}): {_shown(text)}") from error
    return dict(body)


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS_MAX else text[:_SHOWN_CHARS_MAX] + "…"


def _hello(body: dict[str, Any]) -> Hello:
    _require(body, _HELLO_FIELDS, "hello")
    if body["contract"] != CONTRACT:
        raise BrokenLine(f"the shim speaks contract {body['contract']}, this kit speaks {CONTRACT}")
    if not all(isinstance(each, str) for each in body["capabilities"]):
        raise BrokenLine("the capabilities in hello are not all strings")
    known = {name: body[name] for name in _HELLO_FIELDS}
    return Hello(**{**known, "capabilities": frozenset(body["capabilities"])})


def _event(body: dict[str, Any]) -> Event:
    name = body["name"]
    if not isinstance(name, str):
        raise BrokenLine(f"an event's name is no string: {name!r}")
    fields = _EVENT_FIELDS.get(name)
    if fields is not None:
        _require(body, fields, f"event {name}")
    if name in _PARTITION_EVENTS:
        _require_partitions(body["partitions"], name)
    member = body.get("member")
    return Event(name=name, member=None if member is None else str(member), body=body, known=fields is not None)


def _require_partitions(partitions: list[Any], name: str) -> None:
    for each in partitions:
        if not (isinstance(each, dict) and isinstance(each.get("topic"), str) and isinstance(each.get("partition"), int)):
            raise BrokenLine(f"event {name}: a partition is not {{topic, partition}}: {each!r}")


def _answer(body: dict[str, Any]) -> Answer:
    if not isinstance(body["id"], int):
        raise BrokenLine(f"an answer's id is no integer: {body['id']!r}")
    kinds = [kind for kind in ("ok", "error", "unimplemented") if body.get(kind) not in (None, False)]
    if len(kinds) != 1:
        raise BrokenLine(f"the answer to command {body['id']} has {' and '.join(kinds) or 'none'} of ok, error, unimplemented; it takes exactly one")
    if kinds[0] == "ok":
        return Answer(id=body["id"], ok=True, body=body)
    if kinds[0] == "error":
        return Answer(id=body["id"], error=str(body["error"]), body=body)
    return Answer(id=body["id"], unimplemented=str(body["unimplemented"]), body=body)


def _require(body: dict[str, Any], fields: dict[str, type], what: str) -> None:
    for name, kind in fields.items():
        if name not in body:
            raise BrokenLine(f"{what} lacks {name}")
        if not isinstance(body[name], kind) or (kind is int and isinstance(body[name], bool)):
            raise BrokenLine(f"{what}: {name} is {type(body[name]).__name__}, not {kind.__name__}")
