"""Writes answers that differ in one field, such as a generation's to its members: the common bytes are written once."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.codec import Shape, Writer, uvarint
from groupproof.protocol.wire.codec_source import writer_of

if TYPE_CHECKING:
    from groupproof.protocol.wire.codec import Column

__all__ = ["AnswerTemplate", "template_of"]

_OWN: Final = {Api.JOIN_GROUP: "member_id", Api.SYNC_GROUP: "assignment"}
"""The field of an answer that differs between the members of a generation."""

_LENGTH_AND_CORRELATION: Final = struct.Struct(">ii")
_CORRELATION_BYTES: Final = 4
_LONGEST: Final = 2**15 - 1
"""The codec refuses longer texts, with a message."""


def template_of(api: Api, shape: Shape, no_tags: bytes) -> AnswerTemplate | None:
    """Return the template of answers of `shape`, None where they have no such field. `no_tags` ends the header."""
    name = _OWN.get(api)
    own = next((column for column in shape.columns if column.name == name), None)
    return None if own is None or own.name not in _fields(shape) else AnswerTemplate(shape, own, no_tags)


class _Common(NamedTuple):
    """The common parts of answers with the same other fields (`say`): the bytes before and after the one field, and their size."""

    say: Any
    head: bytes
    tail: bytes
    size: int


class AnswerTemplate:
    """Writes one version of an answer. The last common parts are stored as one object, so that several threads may write."""

    __slots__ = ("_before", "_behind", "_common", "_is_text", "_length", "_no_tags", "_others", "_own")

    def __init__(self, shape: Shape, own: Column, no_tags: bytes) -> None:
        at = shape.columns.index(own)
        self._before = _part(replace(shape, columns=shape.columns[:at], is_flexible=False))
        self._behind = _part(replace(shape, columns=shape.columns[at + 1 :]))
        self._length: Callable[[int], bytes] = _compact if own.is_flexible else struct.Struct(">h" if own.kind == "string" else ">i").pack
        self._own, self._is_text = attrgetter(own.name), own.kind == "string"
        self._others = attrgetter(*(name for name in _fields(shape) if name != own.name))
        self._no_tags = no_tags
        self._common: _Common | None = None

    def written(self, message: Any, correlation: int) -> bytes | None:
        """Return the answer with its length prefix; None where it does not fit the template or cannot be written."""
        common = self._common
        try:
            if common is None or common.say != self._others(message):
                common = self._common = self._written_once(message)
            own = self._own(message)
            if self._is_text:
                own = own.encode()
            size = len(own)
            if size > _LONGEST:
                return None
            length = self._length(size)
            return b"".join((_LENGTH_AND_CORRELATION.pack(common.size + len(length) + size, correlation), common.head, length, own, common.tail))
        except (ValueError, TypeError, AttributeError, struct.error):
            return None

    def _written_once(self, message: Any) -> _Common:
        head, tail = bytearray(self._no_tags), bytearray()
        self._before(head, message)
        self._behind(tail, message)
        return _Common(self._others(message), bytes(head), bytes(tail), _CORRELATION_BYTES + len(head) + len(tail))


def _part(shape: Shape) -> Writer:
    return writer_of(shape) if shape.columns or shape.is_flexible else lambda out, value: None


def _fields(shape: Shape) -> tuple[str, ...]:
    assert shape.message is not None, f"{shape.title} has no message class"
    return tuple(field.name for field in fields(shape.message))


def _compact(size: int) -> bytes:
    return bytes((size + 1,)) if size < 127 else uvarint(size + 1)
