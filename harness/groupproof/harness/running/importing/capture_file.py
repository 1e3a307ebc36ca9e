"""Reads packets from a capture file: pcap, in either byte order, with micro- or nanoseconds, and pcapng (`draft-ietf-opsawg-pcapng`). Pure.

Both containers are a header and length-prefixed records; a library would be more than they need.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["CAPTURE_MAGIC", "CaptureError", "Packet", "packets_of"]

_PCAP: Final = {
    b"\xd4\xc3\xb2\xa1": ("<", 1e3), b"\xa1\xb2\xc3\xd4": (">", 1e3), b"\x4d\x3c\xb2\xa1": ("<", 1e6), b"\xa1\xb2\x3c\x4d": (">", 1e6),
}  # fmt: skip
_PCAPNG: Final = b"\x0a\x0d\x0d\x0a"
CAPTURE_MAGIC: Final = frozenset({*_PCAP, _PCAPNG})
"""The first bytes of a capture file."""

_SECTION, _INTERFACE, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 3, 6
_RESOLUTION, _OFFSET = 9, 14


class CaptureError(Exception):
    """The file is no capture, or is broken; `str()` names the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """One frame of the wire: `link` is the link type (1 is Ethernet), `at_ms` counts from 1970."""

    at_ms: float
    link: int
    data: bytes


def packets_of(data: bytes) -> Iterator[Packet]:
    """Yield the packets of a file; raise `CaptureError`. An incomplete last record, as in a capture that was killed, is left out."""
    if data[:4] in _PCAP:
        yield from _pcap(data)
    elif data[:4] == _PCAPNG:
        yield from _pcapng(data)
    else:
        raise CaptureError("it begins with neither pcap's nor pcapng's magic number")


def _pcap(data: bytes) -> Iterator[Packet]:
    order, per_ms = _PCAP[data[:4]]
    if len(data) < 24:
        raise CaptureError("its header is cut off")
    link = struct.unpack_from(f"{order}I", data, 20)[0] & 0x0FFFFFFF
    at = 24
    while at + 16 <= len(data):
        seconds, fraction, size, _ = struct.unpack_from(f"{order}IIII", data, at)
        if at + 16 + size > len(data):
            return
        yield Packet(at_ms=seconds * 1e3 + fraction / per_ms, link=link, data=data[at + 16 : at + 16 + size])
        at += 16 + size


def _pcapng(data: bytes) -> Iterator[Packet]:
    order, at = "<", 0
    interfaces: list[tuple[int, float, int]] = []
    while at + 12 <= len(data):
        kind = struct.unpack_from(f"{order}I", data, at)[0]
        if data[at : at + 4] == _PCAPNG:
            order, kind, interfaces = _order(data, at), _SECTION, []
        size = struct.unpack_from(f"{order}I", data, at + 4)[0]
        if size < 12 or size % 4:
            raise CaptureError(f"the block at byte {at} claims a length of {size}")
        if at + size > len(data):
            return
        body = data[at + 8 : at + size - 4]
        if kind == _INTERFACE:
            interfaces.append(_interface(body, order))
        elif kind in (_ENHANCED, _SIMPLE):
            yield _packet(body, kind, order, interfaces, at)
        at += size


def _order(data: bytes, at: int) -> str:
    magic = data[at + 8 : at + 12]
    if magic not in (b"\x4d\x3c\x2b\x1a", b"\x1a\x2b\x3c\x4d"):
        raise CaptureError(f"the section at byte {at} has no byte order")
    return "<" if magic[0] == 0x4D else ">"


def _interface(body: bytes, order: str) -> tuple[int, float, int]:
    """Return an interface's link type, its ticks per millisecond, and its offset in seconds."""
    if len(body) < 8:
        raise CaptureError("an interface's description is cut off")
    link = struct.unpack_from(f"{order}H", body, 0)[0]
    per_ms, offset, at = 1e3, 0, 8
    while at + 4 <= len(body):
        code, size = struct.unpack_from(f"{order}HH", body, at)
        value = body[at + 4 : at + 4 + size]
        if code == _RESOLUTION and size == 1:
            per_ms = (2.0 ** (value[0] & 0x7F) if value[0] & 0x80 else 10.0 ** value[0]) / 1e3
        elif code == _OFFSET and size == 8:
            offset = struct.unpack(f"{order}q", value)[0]
        at += 4 + size + -size % 4
    return link, per_ms, offset


def _packet(body: bytes, kind: int, order: str, interfaces: list[tuple[int, float, int]], at: int) -> Packet:
    try:
        if kind == _SIMPLE:
            link, _, _ = interfaces[0]
            return Packet(at_ms=0.0, link=link, data=body[4:])
        number, high, low, size, _ = struct.unpack_from(f"{order}IIIII", body, 0)
        link, per_ms, offset = interfaces[number]
    except (IndexError, struct.error) as error:
        raise CaptureError(f"the packet at byte {at} names an interface that was not described") from error
    return Packet(at_ms=((high << 32) | low) / per_ms + offset * 1e3, link=link, data=body[20 : 20 + size])
