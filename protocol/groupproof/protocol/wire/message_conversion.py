"""Typed messages out of plain bodies and back: the classes of `messages.py` by the names of their fields."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire import messages
from groupproof.protocol.wire.messages import GroupRequest, GroupResponse

__all__ = ["GROUP_APIS", "body_of", "request_of", "response_of"]


def request_of(api: Api, body: Mapping[str, Any]) -> GroupRequest:
    """Return the typed request of a body; fields it lacks hold the message's default. Raises `ValueError` for an API without one."""
    if api not in _REQUESTS:
        raise ValueError(f"{api.title} has no typed message; its body is a plain dictionary")
    made: GroupRequest = _REQUESTS[api](body)
    return made


def response_of(api: Api, body: Mapping[str, Any]) -> GroupResponse:
    """Return the typed response of a body; fields it lacks hold the message's default. Raises `ValueError` for an API without one."""
    if api not in _RESPONSES:
        raise ValueError(f"{api.title} has no typed message; its body is a plain dictionary")
    made: GroupResponse = _RESPONSES[api](body)
    return made


def body_of(message: GroupRequest | GroupResponse) -> dict[str, Any]:
    """Return the message as a plain body."""
    return _PLAINERS[type(message)](message)


Maker = Callable[[Mapping[str, Any]], Any]
Plainer = Callable[[Any], dict[str, Any]]


def _nested(message: Any) -> dict[str, Any]:
    """Return each field's name with the message class of its entries, None for a plain value."""
    hints = typing.get_type_hints(message, vars(messages))
    return {each.name: _entry(hints[each.name]) for each in fields(message)}


def _entry(hint: Any) -> Any:
    """Find the message class within `tuple[X, ...]` or `tuple[X, ...] | None`."""
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
        made = {name: tuple(map(makers[name], value)) for name, value in body.items() if name in makers and value is not None}
        return message(**{**body, **made})

    return make


def _plainer(message: Any) -> Plainer:
    columns = tuple((name, None if entry is None else _plainer(entry)) for name, entry in _nested(message).items())

    def plain(made: Any) -> dict[str, Any]:
        body = {}
        for name, plain_entry in columns:
            value = getattr(made, name)
            body[name] = value if plain_entry is None or value is None else tuple(plain_entry(entry) for entry in value)
        return body

    return plain


_REQUESTS: Final[dict[Api, Maker]] = {message.api: _maker(message) for message in typing.get_args(GroupRequest)}
_RESPONSES: Final[dict[Api, Maker]] = {message.api: _maker(message) for message in typing.get_args(GroupResponse)}
_PLAINERS: Final[dict[type, Plainer]] = {message: _plainer(message) for message in (*typing.get_args(GroupRequest), *typing.get_args(GroupResponse))}
GROUP_APIS: Final[frozenset[Api]] = frozenset(_REQUESTS)
"""The APIs that have typed messages."""
