"""Packets made by hand: TCP segments in Ethernet and IPv4 or IPv6, in a pcap or a pcapng file."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable

__all__ = ["BROKER", "CLIENT", "ethernet", "pcap", "pcapng", "tcp"]

CLIENT = ("10.0.0.1", 40_000)
BROKER = ("10.0.0.2", 9_092)


def tcp(source: tuple[str, int], target: tuple[str, int], number: int, data: bytes = b"", *, flags: int = 0x10) -> bytes:
    """Return an IP packet with a segment."""
    segment = struct.pack(">HHIIBBHHH", source[1], target[1], number % (1 << 32), 0, 5 << 4, flags, 0xFFFF, 0, 0) + data
    addresses = [ipaddress.ip_address(partition[0]) for partition in (source, target)]
    packed = b"".join(address.packed for address in addresses)
    if addresses[0].version == 6:
        return struct.pack(">IHBB", 6 << 28, len(segment), 6, 64) + packed + segment
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0x4000, 64, 6, 0) + packed + segment


def ethernet(packet: bytes, *, tags: int = 0) -> bytes:
    kind = 0x86DD if packet[0] >> 4 == 6 else 0x0800
    return bytes(12) + b"\x81\x00\x00\x01" * tags + struct.pack(">H", kind) + packet


def pcap(packets: Iterable[tuple[float, bytes]], *, link: int = 1, order: str = "<", nanos: bool = False) -> bytes:
    """Return a capture of packets with their times in milliseconds."""
    magic = 0xA1B23C4D if nanos else 0xA1B2C3D4
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65_535, link)]
    for ms, data in packets:
        seconds, rest = divmod(ms, 1_000)
        parts.append(struct.pack(f"{order}IIII", int(seconds), round(rest * (1e6 if nanos else 1e3)), len(data), len(data)) + data)
    return b"".join(parts)


def pcapng(packets: Iterable[tuple[float, bytes]], *, link: int = 1, order: str = "<", ticks_per_s: int = 6) -> bytes:
    section = _block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))
    options = struct.pack(f"{order}HHBxxx", 9, 1, ticks_per_s) + struct.pack(f"{order}HH", 0, 0)
    interface = _block(order, 1, struct.pack(f"{order}HHI", link, 0, 0) + options)
    parts = [section, interface]
    for ms, data in packets:
        ticks = round(ms * 10**ticks_per_s / 1_000)
        padded = data + bytes(-len(data) % 4)
        parts.append(_block(order, 6, struct.pack(f"{order}IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data)) + padded))
    return b"".join(parts)


def _block(order: str, kind: int, body: bytes) -> bytes:
    size = struct.pack(f"{order}I", len(body) + 12)
    return struct.pack(f"{order}I", kind) + size + body + size
