"""Converts between typed messages and plain bodies: the classes of `messages.py` by their field names, and the classes that a dialect adds."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire import messages
from groupproof.protocol.wire.codec import Shape
from groupproof.protocol.wire.messages import ClassicRequest, ClassicResponse, GroupRequest, GroupResponse

__all__ = [
    "GROUP_APIS", "BodyMaker", "MessagePair", "add_messages", "body_maker", "body_of", "is_whole", "message_shape", "registered_messages",
    "request_of", "response_of",
]  # fmt: skip

MessagePair = tuple[type[Any], type[Any]]
"""The classes of an API's request and response."""

Maker = Callable[[Mapping[str, Any]], Any]
BodyMaker = Callable[[Any], dict[str, Any]]


def request_of(api: Api, body: Mapping[str, Any]) -> GroupRequest:
    """Return the typed request of a body. Missing fields get the message's default. Raises `ValueError` for an API without one."""
    if api not in _REQUESTS:
        raise ValueError(f"{api.title} has no typed message; its body is a plain dictionary")
    made: GroupRequest = _REQUESTS[api](body)
    return made


def response_of(api: Api, body: Mapping[str, Any]) -> GroupResponse:
    """Return the typed response of a body. Missing fields get the message's default. Raises `ValueError` for an API without one."""
    if api not in _RESPONSES:
        raise ValueError(f"{api.title} has no typed message; its body is a plain dictionary")
    made: GroupResponse = _RESPONSES[api](body)
    return made


def body_of(message: GroupRequest | GroupResponse) -> dict[str, Any]:
    """Return the message as a plain body."""
    return _BODY_MAKERS[type(message)](message)


def message_shape(shape: Shape, api: Api, side: str) -> Shape | None:
    """Return the shape whose values are the API's typed messages, None where there is no class or it has another form."""
    message = (_REQUEST_CLASSES if side == "request" else _RESPONSE_CLASSES).get(api)
    return None if message is None else _typed(shape, message)


def _typed(shape: Shape, message: type[Any]) -> Shape | None:
    entries = _nested(message)
    if not entries.keys() <= set(shape.names) or any(column.tag is not None for column in shape.columns):
        return None
    columns = []
    for column in shape.columns:
        if column.shape is not None:
            entry = entries.get(column.name)
            typed = None if entry is None else _typed(column.shape, entry)
            if typed is None:
                return None
            column = replace(column, shape=typed)
        columns.append(column)
    return replace(shape, columns=tuple(columns), message=message)


def is_whole(shape: Shape) -> bool:
    """Return whether the messages of a shape have every field of its bodies."""
    assert shape.message is not None, f"{shape.title} has no message class"
    return _nested(shape.message).keys() == set(shape.names) and all(is_whole(column.shape) for column in shape.columns if column.shape is not None)


def body_maker(shape: Shape) -> BodyMaker:
    """Return the function that converts a message to the body that a reader would return."""
    entries = {column.name: body_maker(column.shape) for column in shape.columns if column.shape is not None}
    return _body_maker((name, entries.get(name)) for name in shape.names)


def _nested(message: Any) -> dict[str, Any]:
    """Return the message class of each field's entries by field name, None for a plain value."""
    hints = typing.get_type_hints(message, {**vars(messages), **vars(sys.modules[message.__module__])})
    return {field.name: _entry(hints[field.name]) for field in fields(message)}


def _entry(hint: Any) -> Any:
    """Return the message class in `tuple[X, ...]` or `tuple[X, ...] | None`."""
    if is_dataclass(hint):
        return hint
    return next((found for part in typing.get_args(hint) if (found := _entry(part)) is not None), None)


def _maker(message: Any) -> Maker:
    entries = _nested(message)
    names, makers = frozenset(entries), {name: _maker(entry) for name, entry in entries.items() if entry is not None}

    def make(body: Mapping[str, Any]) -> Any:
        if not names.issuperset(body):
            body = {name: value for name, value in body.items() if name in names}
        if not makers:
            return message(**body)
        made = {name: _converted(makers[name], value) for name, value in body.items() if name in makers and value is not None}
        return message(**{**body, **made})

    return make


def _body_maker_of(message: Any) -> BodyMaker:
    return _body_maker((name, None if entry is None else _body_maker_of(entry)) for name, entry in _nested(message).items())


def _body_maker(columns: Iterable[tuple[str, BodyMaker | None]]) -> BodyMaker:
    columns = tuple(columns)

    def plain(made: Any) -> dict[str, Any]:
        body = {}
        for name, plain_entry in columns:
            value = getattr(made, name)
            body[name] = value if plain_entry is None or value is None else _converted(plain_entry, value)
        return body

    return plain


def _converted(convert: Callable[[Any], Any], value: Any) -> Any:
    """Convert the entries of an array, or a single struct."""
    return tuple(map(convert, value)) if isinstance(value, tuple | list) else convert(value)


_REQUEST_CLASSES: Final[dict[Api, Any]] = {message.api: message for message in typing.get_args(ClassicRequest)}
_RESPONSE_CLASSES: Final[dict[Api, Any]] = {message.api: message for message in typing.get_args(ClassicResponse)}
_REQUESTS: Final[dict[Api, Maker]] = {api: _maker(message) for api, message in _REQUEST_CLASSES.items()}
_RESPONSES: Final[dict[Api, Maker]] = {api: _maker(message) for api, message in _RESPONSE_CLASSES.items()}
_BODY_MAKERS: Final[dict[type, BodyMaker]] = {
    message: _body_maker_of(message) for message in (*_REQUEST_CLASSES.values(), *_RESPONSE_CLASSES.values())
}  # fmt: skip
GROUP_APIS: Final[AbstractSet[Api]] = _REQUESTS.keys()
"""The APIs with typed messages, including temporarily registered ones."""


def add_messages(classes: Iterable[MessagePair]) -> None:
    """Register message classes for their APIs. They replace earlier ones."""
    for request, response in classes:
        _REQUEST_CLASSES[request.api], _RESPONSE_CLASSES[response.api] = request, response
        _REQUESTS[request.api], _RESPONSES[response.api] = _maker(request), _maker(response)
        _BODY_MAKERS.update((message, _body_maker_of(message)) for message in (request, response))


@contextmanager
def registered_messages(classes: Iterable[MessagePair]) -> Iterator[None]:
    """Register message classes for their APIs, for the duration of the context. They replace earlier ones."""
    tables: tuple[dict[Any, Any], ...] = (_REQUEST_CLASSES, _RESPONSE_CLASSES, _REQUESTS, _RESPONSES, _BODY_MAKERS)
    before = [dict(table) for table in tables]
    add_messages(classes)
    try:
        yield
    finally:
        for table, entries in zip(tables, before, strict=True):
            table.clear()
            table.update(entries)
