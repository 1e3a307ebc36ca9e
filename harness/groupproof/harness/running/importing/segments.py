"""Reads TCP segments from packets, over IPv4 and IPv6, for the link types of brokers' hosts. Pure; None for other or incomplete packets."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass
from typing import Final

from groupproof.harness.running.importing.capture_file import Packet

__all__ = ["Segment", "segment_of"]

End = tuple[str, int]

_ETHERNET, _LINUX_SLL, _LINUX_SLL2 = 1, 113, 276
_LOOPBACKS: Final = frozenset({0, 108})
_RAW: Final = frozenset({12, 14, 101, 228, 229})
_VLAN: Final = frozenset({0x8100, 0x88A8, 0x9100})
_IPV4, _IPV6, _TCP = 0x0800, 0x86DD, 6
_SKIPPED: Final = frozenset({0, 43, 60})


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One TCP segment: `number` is its sequence number."""

    at_ms: float
    source: End
    target: End
    number: int
    is_syn: bool
    is_over: bool
    data: bytes


def segment_of(packet: Packet) -> Segment | None:
    """Return the TCP segment in a packet."""
    try:
        at = _network(packet.link, packet.data)
        return None if at is None else _of_ip(packet.at_ms, packet.data[at:])
    except (struct.error, IndexError, ValueError):
        return None


def _network(link: int, data: bytes) -> int | None:
    """Return the position of the IP header."""
    if link == _ETHERNET:
        return _past_ethernet(data)
    if link == _LINUX_SLL:
        return 16 if _type(data, 14) in (_IPV4, _IPV6) else None
    if link == _LINUX_SLL2:
        return 20 if _type(data, 0) in (_IPV4, _IPV6) else None
    return 4 if link in _LOOPBACKS else 0 if link in _RAW else None


def _past_ethernet(data: bytes) -> int | None:
    at = 12
    while (kind := _type(data, at)) in _VLAN:
        at += 4
    return at + 2 if kind in (_IPV4, _IPV6) else None


def _type(data: bytes, at: int) -> int:
    return int(struct.unpack_from(">H", data, at)[0])


def _of_ip(at_ms: float, data: bytes) -> Segment | None:
    if data[0] >> 4 == 4:
        length = struct.unpack_from(">H", data, 2)[0] or len(data)  # 0 where the network card segments by itself
        is_fragment = _type(data, 6) & 0x3FFF
        if data[9] != _TCP or is_fragment:
            return None
        return _of_tcp(at_ms, str(ipaddress.IPv4Address(data[12:16])), str(ipaddress.IPv4Address(data[16:20])), data[(data[0] & 15) * 4 : length])
    if data[0] >> 4 != 6:
        return None
    length = struct.unpack_from(">H", data, 4)[0]
    following, at = data[6], 40
    while following in _SKIPPED:
        following, at = data[at], at + (data[at + 1] + 1) * 8
    if following != _TCP:
        return None
    end = 40 + length if length else len(data)
    return _of_tcp(at_ms, str(ipaddress.IPv6Address(data[8:24])), str(ipaddress.IPv6Address(data[24:40])), data[at:end])


def _of_tcp(at_ms: float, source: str, target: str, data: bytes) -> Segment:
    from_port, to_port, number, _, offset, flags = struct.unpack_from(">HHIIBB", data, 0)
    return Segment(
        at_ms=at_ms, source=(source, from_port), target=(target, to_port), number=number, is_syn=bool(flags & 2), is_over=bool(flags & 5),
        data=data[(offset >> 4) * 4 :],
    )  # fmt: skip
