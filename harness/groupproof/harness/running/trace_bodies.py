"""The types of what a trace's bodies say: a body with another type is refused with its place, before a judge reads it. Pure.

The columns are checked as they are read (`Observation.from_json`). A body is an object with fields of its API, or of its event, and a judge that reads
one of another type would end, or blame for it. Fields that are missing, and fields without a type here, are let pass: nothing reads them, or what
reads them asks first.
"""

from __future__ import annotations

import re
import sys
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, reduce
from operator import or_
from typing import Any, Final

import msgspec

from groupproof.harness.subjects.shims.contract_lines import EVENTS
from groupproof.protocol.trace import Observation
from groupproof.protocol.wire import consumer_messages, messages

__all__ = ["WrongBody", "checked", "wrong_body"]


class WrongBody(ValueError):
    """A body with a value of another type. `str()` names the field and the value; `row` is the observation's place, from 1."""

    def __init__(self, row: int, why: str) -> None:
        super().__init__(why)
        self.row = row


class _Place(msgspec.Struct):
    topic: str
    partition: int
    offset: int = 0


class _EventBody(msgspec.Struct):
    """What an event of the kit, a receipt, a transition or a timer says, as far as something reads it."""

    name: str = ""
    count: int = 0
    error: str | int | None = None
    message: str | None = None
    generation: int | None = None
    capabilities: tuple[str, ...] = ()
    lag_ms: float = 0
    mark: str = ""
    step: str = ""
    command: str = ""
    stage: str = ""
    action: str = ""
    held: int = 0
    why: str | None = None
    waiting: str = ""


class _MemberReport(msgspec.Struct):
    """An event of the contract, or the answer to a command: what a shim reports of its member."""

    name: str = ""
    count: int = 0
    error: str | int | None = None
    message: str | None = None
    fatal: bool = False
    success: bool = False
    outcome: str | None = None
    member_id: str | None = None
    generation: int | None = None
    ok: bool = False
    ignored: tuple[str, ...] = ()
    unimplemented: str | None = None
    partitions: tuple[_Place | tuple[str, int], ...] | None = ()
    offsets: tuple[_Place | tuple[str, int, int], ...] | None = ()


class _UnknownEvent(msgspec.Struct):
    """An event of a shim that the contract does not name: it is ignored, whatever its fields are."""

    name: str = ""


class _Compact(msgspec.Struct):
    """The body of an API of which a trace keeps a part."""

    error_code: int = 0
    throttle_time_ms: int = 0
    topics: tuple[Any, ...] | None = None
    responses: tuple[Any, ...] | None = None


_REPORTS: Final = (*EVENTS, "answer")
_WHERE: Final = re.compile(r"(?P<due>.*?)(?: - at `\$(?P<path>[^`]*)`)?$")
_DUE: Final = re.compile(r"Expected `([^`]+)`")
_LACKS: Final = re.compile(r"missing required field `(\w+)`")
_NAMED: Final = {"int": "a whole number", "float": "a number", "str": "a text", "object": "an object", "array": "a list", "bytes": "base64 after b64:", "bool": "true or false", "null": "null"}  # fmt: skip
_EXCERPT_MAX: Final = 60


def wrong_body(obs: Observation) -> str | None:
    """Return which field of the observation's body has a value of another type, with the value; None where every field has its own."""
    body = obs.body
    if not body:
        return None
    try:
        msgspec.convert(body, _type_of(obs), builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        return _sentence(body, str(error))
    return None


def checked(observations: Iterable[Observation]) -> Iterator[Observation]:
    """Yield the observations; raise `WrongBody` at the first whose body has a wrong type."""
    for row, obs in enumerate(observations, 1):
        if obs.body and (wrong := wrong_body(obs)) is not None:
            raise WrongBody(row, wrong)
        yield obs


def _type_of(obs: Observation) -> Any:
    if obs.kind in ("request", "response"):
        return _TYPES.get((obs.api, obs.kind), _Compact)
    if obs.kind == "event" and obs.body.get("name") in _REPORTS:
        return _MemberReport
    return _UnknownEvent if obs.who == "shim" else _EventBody


def _sentence(body: Mapping[str, Any], error: str) -> str:
    found = _WHERE.match(error)
    assert found is not None
    path = (found["path"] or "").removeprefix(".")
    if lacks := _LACKS.search(found["due"]):
        return f"field {path} of its body lacks {lacks[1]}"
    due = _DUE.search(found["due"])
    kinds = " or ".join(_NAMED.get(kind, kind) for kind in due[1].split(" | ")) if due else found["due"]
    return f"field {path} of its body is {_excerpt(_value_at(body, path))}, where a trace has {kinds}"


def _value_at(body: Any, path: str) -> Any:
    for step in re.findall(r"\w+", path):
        body = body[int(step) if step.isdigit() else step]
    return body


def _excerpt(value: Any) -> str:
    text = msgspec.json.encode(value, enc_hook=str).decode()
    return text if len(text) <= _EXCERPT_MAX else f"{text[: _EXCERPT_MAX - 1]}…"


@cache
def _struct(message: Any) -> Any:
    """Return the struct with the fields of a message class, all of them optional."""
    hints = typing.get_type_hints(message, {**vars(messages), **vars(consumer_messages), **vars(sys.modules[message.__module__])})
    return msgspec.defstruct(message.__name__, [(field.name, _plain(hints[field.name]), None) for field in fields(message)])


def _plain(hint: Any) -> Any:
    """Return the type of a field in a body that was read: an object for a message, a number for an error code, and null where a version has none."""
    message: Any = hint
    if is_dataclass(hint):
        return _struct(message)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return int if issubclass(hint, int) else str
    if typing.get_origin(hint) is tuple:
        return tuple.__class_getitem__(tuple(part if part is ... else _plain(part) for part in typing.get_args(hint)))
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return reduce(or_, map(_plain, typing.get_args(hint)))
    return hint


_MESSAGES: Final = (
    *typing.get_args(messages.ClassicRequest),
    consumer_messages.ConsumerGroupHeartbeatRequest,
    consumer_messages.ConsumerGroupDescribeRequest,
)
_ANSWERS: Final = (
    *typing.get_args(messages.ClassicResponse),
    consumer_messages.ConsumerGroupHeartbeatResponse,
    consumer_messages.ConsumerGroupDescribeResponse,
)
_TYPES: Final[Mapping[tuple[str | None, str], Any]] = {
    **{(message.api.title, "request"): _struct(message) for message in _MESSAGES},
    **{(message.api.title, "response"): _struct(message) for message in _ANSWERS},
}
