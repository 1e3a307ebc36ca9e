"""The lines of the shim contract, version 1: read what a shim writes, write what it reads. Pure; `conversation.py` holds the dialogue.

Source: the shim contract ("The shim contract (version 1)"): one JSON object per line. Stdout lines that do not start with `{` are noise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from groupproof.harness.subjects.shims.line_shapes import BrokenLine, check_answer, check_event, check_hello, shorten

__all__ = [
    "CONTRACT", "EVENTS", "LINE_BYTES_MAX", "NOT_UTF_8", "Answer", "BrokenLine", "CaseHistory", "Event", "Hello", "Noise", "command_line",
    "read_line",
]  # fmt: skip

CONTRACT = 1

LINE_BYTES_MAX = 1 << 20
"""The maximum length of a line (contract, "The shim contract"): 1 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """A shim's first line. For a program of level 0, which has none: `unreported` are the events that it never writes."""

    contract: int
    client: str
    version: str
    language: str
    capabilities: frozenset[str]
    level: int = 1
    unreported: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The one answer to a command. Exactly one of `ok`, `error` and `unimplemented` is set. `body` is the whole object."""

    id: int
    ok: bool = False
    error: str | None = None
    unimplemented: str | None = None
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something a member did, with VerifiableConsumer's names. `member` comes only from a shim with `multi`. `is_known` is False for a name outside
    the contract."""

    name: str
    member: str | None
    body: dict[str, Any]
    is_known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    text: str


CaseHistory = Hello | Answer | Event | Noise

EVENTS = frozenset(
    {
        "startup_complete", "shutdown_complete", "callback_done", "partitions_assigned", "partitions_revoked", "partitions_lost", "records_consumed",
        "offsets_committed", "error",
    }
)  # fmt: skip

NOT_UTF_8 = "\ufffd"
"""The replacement for bytes that are not UTF-8."""


def read_line(text: str) -> CaseHistory:
    """Return the parsed line. Raise `BrokenLine` for a line that starts with `{` and breaks the contract."""
    if not text.startswith("{"):
        return Noise(text=text)
    if _is_too_long(text):
        raise BrokenLine(f"a line longer than 1 MiB: {shorten(text)}")
    body = _object(text)
    try:
        if body.get("name") == "hello":
            return _hello(body)
        if "name" in body:
            return _event(body)
        if "id" in body:
            return _answer(body)
    except BrokenLine as error:
        raise BrokenLine(f"{error}: {shorten(text)}") from None
    raise BrokenLine(f"neither an event (name) nor an answer (id): {shorten(text)}")


def command_line(number: int, command: str, fields: Mapping[str, Any], member: str | None = None) -> str:
    """Return a command as a line without its newline. `member` is for shims with `multi`."""
    addressed = {} if member is None else {"member": member}
    return json.dumps({"id": number, "command": command, **addressed, **fields}, separators=(",", ":"), ensure_ascii=False)


def _is_too_long(text: str) -> bool:
    return len(text) > LINE_BYTES_MAX // 4 and len(text.encode("utf-8", "replace")) > LINE_BYTES_MAX


def _object(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text, parse_constant=_no_number)
        # A lone surrogate ("\\ud800") is no text: a message about it could not be written.
        if "\\u" in text:
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise BrokenLine(f"a line that starts with {{ is no JSON ({error}): {shorten(text)}") from error
    return dict(body)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _hello(body: dict[str, Any]) -> Hello:
    check_hello(body)
    if body["contract"] != CONTRACT:
        raise BrokenLine(f"the shim speaks contract {body['contract']}, this kit speaks {CONTRACT}")
    fields = {name: body[name] for name in ("contract", "client", "version", "language")}
    return Hello(**fields, capabilities=frozenset(body["capabilities"]))


def _event(body: dict[str, Any]) -> Event:
    name = body["name"]
    if not isinstance(name, str):
        raise BrokenLine(f"an event's name is no string: {shorten(repr(name))}")
    is_known = name in EVENTS
    if is_known:
        check_event(name, body)
    member = body.get("member")
    return Event(name=name, member=None if member is None else str(member), body=body, is_known=is_known)


def _answer(body: dict[str, Any]) -> Answer:
    number = body["id"]
    if not isinstance(number, int) or isinstance(number, bool):
        raise BrokenLine(f"an answer's id is no integer: {shorten(repr(number))}")
    kinds = [kind for kind in ("ok", "error", "unimplemented") if body.get(kind) not in (None, False)]
    if len(kinds) != 1:
        raise BrokenLine(f"the answer to command {number} has {' and '.join(kinds) or 'none'} of ok, error, unimplemented; it takes exactly one")
    check_answer(number, body)
    result = {kinds[0]: body[kinds[0]]}
    return Answer(id=number, ok="ok" in result, error=result.get("error"), unimplemented=result.get("unimplemented"), body=body)
