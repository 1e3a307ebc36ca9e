"""The shapes of the fields in a shim's lines, by the contract. Another shape is refused with one sentence. Pure.

A run is lenient about what it does not read, and strict about what it reads. Otherwise a field of another type would end the kit, or a judge,
instead of the shim. Source: the shim contract and its schemas (shim-event, shim-answer).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["BrokenLine", "check_answer", "check_event", "check_hello", "shorten"]

SHOWN_CHARS_MAX: Final = 160
_INT32_MAX: Final = (1 << 31) - 1
_INT64_MAX: Final = (1 << 63) - 1


class BrokenLine(Exception):
    """A line that breaks the contract. `str()` says how."""


Shape = Callable[[Any], bool]
"""Returns whether a value has the shape."""


def shorten(text: str) -> str:
    """Return the text, cut where it is long."""
    return text if len(text) <= SHOWN_CHARS_MAX else text[:SHOWN_CHARS_MAX] + "…"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_INT64_MAX <= value <= _INT64_MAX


def _is_count(value: Any) -> bool:
    return _is_int(value) and 0 <= value <= _INT32_MAX


def _or_null(shape: Shape) -> Shape:
    return lambda value: value is None or shape(value)


def _object(**fields: Shape) -> Shape:
    """Return the shape of an object with at least these fields."""
    return lambda value: isinstance(value, dict) and all(name in value and shape(value[name]) for name, shape in fields.items())


def _tuple(*shapes: Shape) -> Shape:
    return lambda value: (
        isinstance(value, list) and len(value) == len(shapes) and all(is_it(shape) for is_it, shape in zip(shapes, value, strict=True))
    )


_PARTITION: Final = _object(topic=_is_text, partition=_is_count)
_SPAN: Final = _object(topic=_is_text, partition=_is_count, minOffset=_is_int, maxOffset=_is_int)
_OFFSET: Final = _object(topic=_is_text, partition=_is_count, offset=_is_int)
_POSITION: Final = _tuple(_is_text, _is_count, _is_int)


def _is_records(value: Any) -> bool:
    """Return whether it is a partition of `records_consumed`. The verifiable consumer of confluent-kafka-python has no count there."""
    return _SPAN(value) and ("count" not in value or _is_count(value["count"]))


_Kind = tuple[Shape, str]

_TEXT: Final[_Kind] = (_is_text, "a string")
_BOOL: Final[_Kind] = (_is_bool, "true or false")
_INT: Final[_Kind] = (_is_int, "an integer")
_COUNT: Final[_Kind] = (_is_count, "a count")
_LIST: Final[_Kind] = (_is_list, "a list")
_TEXT_OR_NULL: Final[_Kind] = (_or_null(_is_text), "a string or null")
_INT_OR_NULL: Final[_Kind] = (_or_null(_is_int), "an integer or null")

_Items = tuple[str, Shape, str]

_CALLBACKS: Final = ("partitions_assigned", "partitions_revoked", "partitions_lost")
_HELLO: Final[Mapping[str, _Kind]] = {"contract": _INT, "client": _TEXT, "version": _TEXT, "language": _TEXT, "capabilities": _LIST}
_REQUIRED: Final[Mapping[str, Mapping[str, _Kind]]] = {
    **{name: {"partitions": _LIST} for name in _CALLBACKS},
    "records_consumed": {"count": _COUNT, "partitions": _LIST},
    "offsets_committed": {"offsets": _LIST},
    "error": {"error": _TEXT, "message": _TEXT, "fatal": _BOOL},
}
_OPTIONAL: Final[Mapping[str, Mapping[str, _Kind]]] = {
    **{name: {"member_id": _TEXT_OR_NULL, "generation": _INT_OR_NULL} for name in _CALLBACKS},
    "offsets_committed": {"success": _BOOL, "error": _TEXT_OR_NULL, "outcome": _TEXT},
}
_ITEMS: Final[Mapping[str, _Items]] = {
    **{name: ("partitions", _PARTITION, "{topic, partition}") for name in _CALLBACKS},
    "records_consumed": ("partitions", _is_records, "{topic, partition, minOffset, maxOffset, count}"),
    "offsets_committed": ("offsets", _OFFSET, "{topic, partition, offset}"),
}
_ANSWER: Final[Mapping[str, _Kind]] = {
    "error": _TEXT, "message": _TEXT_OR_NULL, "fatal": _BOOL, "unimplemented": _TEXT, "outcome": _TEXT, "ignored": _LIST, "offsets": _LIST,
    "partitions": _LIST,
}  # fmt: skip
_ANSWER_ITEMS: Final[tuple[_Items, ...]] = (
    ("ignored", _is_text, "a field's name"),
    ("offsets", _POSITION, "[topic, partition, offset]"),
    ("partitions", _PARTITION, "{topic, partition}"),
)

UNKNOWN: Final = "unknown"
"""The outcome of a commit about which the client reports nothing."""


def check_hello(body: Mapping[str, Any]) -> None:
    """Raise `BrokenLine` for a hello that breaks the contract."""
    _require(body, _HELLO, "hello")
    _require_items(body, ("capabilities", _is_text, "a string"), "hello")


def check_event(name: str, body: Mapping[str, Any]) -> None:
    """Raise `BrokenLine` for a known event that breaks the contract."""
    line_name = f"event {name}"
    _require(body, _REQUIRED.get(name, {}), line_name)
    _require(body, {"member": _TEXT_OR_NULL, **_OPTIONAL.get(name, {})}, line_name, is_optional=True)
    if name in _ITEMS:
        _require_items(body, _ITEMS[name], line_name)
    if name == "offsets_committed":
        _require_outcome(body, line_name)
    if name == "records_consumed":
        _require_sums(body, line_name)


def check_answer(number: int, body: Mapping[str, Any]) -> None:
    """Raise `BrokenLine` for an answer with a field that breaks the contract."""
    line_name = f"the answer to command {number}"
    present = {name: value for name, value in body.items() if value is not None and (name == "fatal" or value is not False)}
    _require(present, _ANSWER, line_name, is_optional=True)
    for items in _ANSWER_ITEMS:
        _require_items(body, items, line_name)
    if body.get("ok") not in (None, False, True):
        raise BrokenLine(f"{line_name}: ok is {_describe(body['ok'])}, not true")
    if body.get("outcome") not in (None, UNKNOWN):
        raise BrokenLine(f"{line_name}: outcome is {_describe(body['outcome'])}, not {UNKNOWN!r}")


def _require_sums(body: Mapping[str, Any], line_name: str) -> None:
    """Refuse a line that contradicts itself: its count must be the sum of its partitions' counts, if they have them."""
    counts = [partition.get("count") for partition in body["partitions"]]
    there = sum(count for count in counts if count is not None)
    if None not in counts and body["count"] != there:
        raise BrokenLine(f"{line_name}: count is {_describe(body['count'])}, and its partitions add up to {there}")


def _require_outcome(body: Mapping[str, Any], line_name: str) -> None:
    outcome = body.get("outcome")
    if outcome not in (None, UNKNOWN):
        raise BrokenLine(f"{line_name}: outcome is {_describe(outcome)}, not {UNKNOWN!r}")
    if "success" not in body and outcome is None:
        raise BrokenLine(f"{line_name} lacks success")


def _require(body: Mapping[str, Any], fields: Mapping[str, _Kind], line_name: str, *, is_optional: bool = False) -> None:
    for name, (has_shape, wanted) in fields.items():
        if name not in body and is_optional:
            continue
        if name not in body:
            raise BrokenLine(f"{line_name} lacks {name}")
        if not has_shape(body[name]):
            raise BrokenLine(f"{line_name}: {name} is {_describe(body[name])}, not {wanted}")


def _require_items(body: Mapping[str, Any], items: _Items, line_name: str) -> None:
    name, has_shape, wanted = items
    for item in body.get(name) or ():
        if not has_shape(item):
            raise BrokenLine(f"{line_name}: in {name} there is {_describe(item)}, not {wanted}")


def _describe(value: Any) -> str:
    return shorten(repr(value))
