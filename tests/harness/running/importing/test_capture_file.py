"""Both containers, in either byte order and at every resolution; a broken one is named."""

from __future__ import annotations

import struct

import pytest
from tests.harness.running.importing.frames import pcap, pcapng

from groupproof.harness.running.importing.capture_file import CAPTURE_MAGIC, CaptureError, packets_of

PACKETS = [(1_700_000_000_123.0, b"one"), (1_700_000_000_124.5, b"two, and longer")]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanos", [False, True])
def test_pcap_is_read_in_either_order_and_resolution(order: str, nanos: bool) -> None:
    file = pcap(PACKETS, link=101, order=order, nanos=nanos)

    assert file[:4] in CAPTURE_MAGIC
    assert [(packet.at_ms, packet.data, packet.link) for packet in packets_of(file)] == [(ms, data, 101) for ms, data in PACKETS]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("ticks", [6, 9])
def test_pcapng_is_read_in_either_order_and_resolution(order: str, ticks: int) -> None:
    file = pcapng(PACKETS, order=order, ticks_per_s=ticks)

    assert file[:4] in CAPTURE_MAGIC
    assert [(packet.at_ms, packet.data) for packet in packets_of(file)] == PACKETS


@pytest.mark.parametrize("make", [pcap, pcapng])
def test_a_capture_that_was_killed_keeps_its_whole_packets(make: object) -> None:
    file = pcap(PACKETS) if make is pcap else pcapng(PACKETS)

    assert [packet.data for packet in packets_of(file[:-3])] == [b"one"]


def test_blocks_of_other_kinds_are_passed_over() -> None:
    file = pcapng(PACKETS[:1])

    assert len(list(packets_of(file + struct.pack("<IIII", 5, 16, 0, 16) + file))) == 2


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (b"", "neither pcap's nor pcapng's"), (b"hello, world", "neither pcap's nor pcapng's"), (b"\xd4\xc3\xb2\xa1\x00", "header is cut off"),
        (pcapng([])[:28] + struct.pack("<IIII", 6, 7, 0, 7), "claims a length of 7"),
        (pcapng([])[:28] + struct.pack("<IIIIIIII", 6, 32, 0, 0, 0, 0, 0, 32), "names an interface that was not described"),
        (b"\x0a\x0d\x0d\x0a" + struct.pack("<IIIII", 20, 0, 0, 0, 20), "has no byte order"),
    ],
)  # fmt: skip
def test_what_is_no_capture_is_named(file: bytes, why: str) -> None:
    with pytest.raises(CaptureError, match=why):
        list(packets_of(file))
