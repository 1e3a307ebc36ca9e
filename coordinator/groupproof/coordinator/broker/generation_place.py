"""Finds the generation's place in a request. Except for it, a member's SyncGroups are the same in every generation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.codec import ENTRIES_MAX, Column, Reader, Shape
from groupproof.protocol.wire.codec_source import reader_of
from groupproof.protocol.wire.kafka_shapes import has_flexible_header, shape_of

__all__ = ["generation_at"]

_HEADER_BYTES: Final = 8  # API key, version and correlation id
_CLIENT_ID: Final = Column(name="client id", kind="string", is_nullable=True)


def generation_at(payload: bytes, api: Api, version: int) -> int:
    """Return the offset of the generation in a readable request without its length prefix."""
    at, left = _HEADER_BYTES, [ENTRIES_MAX]
    for read in _readers(api, version):
        _, at = read(payload, at, left)
    return at


@cache
def _readers(api: Api, version: int) -> tuple[Reader, Reader]:
    """Return the readers of the header and of the fields before the generation."""
    shape = shape_of(api, version, "request")
    at = [column.name for column in shape.columns].index("generation_id")
    header = Shape(title="header", is_flexible=has_flexible_header(api, version, "request"), columns=(_CLIENT_ID,))
    return reader_of(header), reader_of(replace(shape, columns=shape.columns[:at], absent={}, is_flexible=False))
