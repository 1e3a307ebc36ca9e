"""TCP out of every link type that a host has; anything else is left alone."""

from __future__ import annotations

import pytest
from tests.harness.running.importing.frames import BROKER, CLIENT, ethernet, tcp

from groupproof.harness.running.importing.capture_file import Packet
from groupproof.harness.running.importing.segments import segment_of

PACKET = tcp(CLIENT, BROKER, 7, b"data")


@pytest.mark.parametrize(
    ("link", "data"),
    [
        (1, ethernet(PACKET)), (1, ethernet(PACKET, tags=2)), (0, b"\x02\x00\x00\x00" + PACKET), (101, PACKET), (12, PACKET),
        (113, bytes(14) + b"\x08\x00" + PACKET), (276, b"\x08\x00" + bytes(18) + PACKET),
    ],
)  # fmt: skip
def test_a_segment_is_found_behind_every_link(link: int, data: bytes) -> None:
    segment = segment_of(Packet(at_ms=1.0, link=link, data=data))

    assert segment is not None
    assert (segment.source, segment.target, segment.number, segment.data) == (CLIENT, BROKER, 7, b"data")
    assert (segment.is_syn, segment.is_over) == (False, False)


def test_ipv6_is_read_too_and_ethernet_s_padding_is_not_data() -> None:
    six = tcp(("::1", 40_000), ("::2", 9_092), 9, b"x", flags=0x11)
    found = segment_of(Packet(at_ms=1.0, link=1, data=ethernet(six) + bytes(20)))

    assert found is not None
    assert (found.source, found.data, found.is_over) == (("::1", 40_000), b"x", True)


@pytest.mark.parametrize(
    ("link", "data"),
    [
        (1, b""), (1, ethernet(PACKET)[:30]), (1, bytes(12) + b"\x08\x06" + bytes(40)), (101, PACKET[:9] + b"\x11" + PACKET[10:]),
        (101, PACKET[:6] + b"\x20\x00" + PACKET[8:]), (147, PACKET), (101, b"\x55" + PACKET[1:]),
    ],
    ids=["nothing", "cut", "arp", "udp", "fragment", "unknown-link", "no-ip"],
)  # fmt: skip
def test_what_is_no_tcp_is_none(link: int, data: bytes) -> None:
    assert segment_of(Packet(at_ms=1.0, link=link, data=data)) is None
