"""Reads a shim's stdout strictly: what a run only warns about is a problem here. Pure.

Source: the shim contract and its schemas. Only `shim check` is strict ("Unknown fields and events are ignored with a warning").
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from groupproof.protocol.schemas import SchemaError, schema, validate

__all__ = ["CAPABILITIES", "EVENTS", "StrictLines"]

CAPABILITIES: Final = frozenset(
    {
        "classic", "consumer", "consumer-preview", "commit", "commit-async", "auto-commit", "pause", "poll-deadline", "static", "cooperative", "seek", "regex",
        "on-revoked", "resubscribe", "close-timeout", "multi", "connect", "streams", "faust",
    }
)  # fmt: skip

_CALLBACKS: Final = frozenset({"partitions_assigned", "partitions_revoked", "partitions_lost"})
EVENTS: Final = _CALLBACKS | {"hello", "startup_complete", "callback_done", "records_consumed", "offsets_committed", "error", "shutdown_complete"}

# What may come between a callback's report and its end: the callback itself may commit.
_IN_CALLBACK: Final = frozenset({"callback_done", "offsets_committed", "error"})
_SHOWN_CHARS_MAX: Final = 120


class StrictLines:
    """Reads lines in order. Each problem is reported once."""

    def __init__(self) -> None:
        self.is_multi = False
        self._lines = 0
        self._callbacks: dict[str | None, str] = {}
        self._events: set[str] = set()

    def problems(self, text: str) -> list[str]:
        """Return the problems of the next line, without those already reported."""
        self._lines += 1
        new = [name for name in self._read(text) if name not in self._events]
        self._events.update(new)
        return new

    def unfinished(self) -> list[str]:
        """Return what is still missing at the end."""
        return [f"{name} was not followed by callback_done" for name in self._callbacks.values()]

    def _read(self, text: str) -> Iterator[str]:
        if not text.startswith("{"):
            yield f"noise on stdout: {_shorten(text)!r}; log to stderr"
            return
        try:
            body = json.loads(text)
        except ValueError as error:
            yield f"a line that starts with {{ is no JSON ({error}): {_shorten(text)}"
            return
        if "name" in body:
            yield from self._event(body)
        elif "id" in body:
            yield from _of_schema("shim-answer", body, frozenset(schema("shim-answer")["properties"]) | {"member"}, "the answer")
            yield from self._addressed(body, "an answer")
        else:
            yield f"neither an event (name) nor an answer (id): {_shorten(text)}"

    def _event(self, body: Mapping[str, Any]) -> Iterator[str]:
        name = body["name"]
        if name not in EVENTS:
            yield f"event {name!r} is not in the contract"
            return
        if (name == "hello") != (self._lines == 1):
            yield "hello must be the first line, and come once"
        yield from _of_schema("shim-event", body, _fields(name), f"event {name}")
        if name == "hello":
            yield from self._hello(body)
        else:
            yield from self._addressed(body, f"event {name}")
            yield from self._order(name, body.get("member"))
            yield from _records(body) if name == "records_consumed" else ()

    def _hello(self, body: Mapping[str, Any]) -> Iterator[str]:
        capabilities = body.get("capabilities")
        names = [capability for capability in capabilities if isinstance(capability, str)] if isinstance(capabilities, list) else []
        self.is_multi = "multi" in names
        if unknown := sorted(set(names) - CAPABILITIES):
            yield f"hello declares {', '.join(unknown)}, which the contract does not know"
        if not {"classic", "consumer", "connect", "streams"} & set(names):
            yield "hello declares neither classic nor consumer, neither connect nor streams: there is nothing to certify"

    def _addressed(self, body: Mapping[str, Any], line_name: str) -> Iterator[str]:
        if self.is_multi and "name" in body and not isinstance(body.get("member"), str):
            yield f"{line_name} carries no member, although hello declares multi"
        if not self.is_multi and "member" in body:
            yield f"{line_name} carries a member, although hello does not declare multi"

    def _order(self, name: str, member: str | None) -> Iterator[str]:
        """Yield what comes between a callback's report and its `callback_done`."""
        if member in self._callbacks and name not in _IN_CALLBACK:
            yield f"{name} came after {self._callbacks.pop(member)} and before its callback_done"
        if name == "callback_done" and self._callbacks.pop(member, None) is None:
            yield "callback_done came without a callback"
        if name in _CALLBACKS:
            self._callbacks[member] = name


def _of_schema(name: str, body: Mapping[str, Any], allowed: frozenset[str], line_name: str) -> Iterator[str]:
    try:
        validate(name, body)
    except SchemaError as error:
        yield f"{line_name} is not as the schema says: {str(error).removeprefix(f'{name}: ')}"
    if unknown := sorted(set(body) - allowed):
        yield f"{line_name} carries {', '.join(unknown)}, which the contract does not know"


@cache
def _fields(event: str) -> frozenset[str]:
    """Return the fields that an event may have by its schema."""
    whole = schema("shim-event")
    own = (item["then"] for item in whole["allOf"] if event in _named(item["if"]["properties"]["name"]))
    return frozenset(whole["properties"]).union(*(item.get("properties", {}) for item in own))


def _named(condition: Mapping[str, Any]) -> list[str]:
    return condition["enum"] if "enum" in condition else [condition["const"]]


def _records(body: Mapping[str, Any]) -> Iterator[str]:
    partitions = body.get("partitions")
    if not isinstance(partitions, list) or not all(isinstance(partition, dict) for partition in partitions):
        return
    if body.get("count") != sum(partition.get("count", 0) for partition in partitions):
        yield f"records_consumed says count {body.get('count')}, its partitions add up to another number"
    if any(partition.get("minOffset", 0) > partition.get("maxOffset", 0) for partition in partitions if partition.get("count")):
        yield "records_consumed has a minOffset above its maxOffset"


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS_MAX else text[:_SHOWN_CHARS_MAX] + "…"
