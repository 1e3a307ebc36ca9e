"""A capture of a real broker's traffic becomes the trace that a tap would have written; what can't be read does no harm."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.judging.diagnosis.provocations import EXPECTED
from tests.harness.judging.diagnosis.recordings import causes
from tests.harness.running.importing.frames import BROKER, CLIENT, ethernet, pcap, pcapng, tcp

from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of
from groupproof.harness.running.importing.imported_event import ImportedEvent, merged
from groupproof.harness.running.importing.packet_trace import read_capture
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import frame, write_request, write_response

REAL = Path(__file__).parent / "captured/kafka-4.1.0.pcap"
PORTS = (44109, 41205)

BEAT = frame(write_request(Api.HEARTBEAT, 3, 5, "m0", {"group_id": "g", "member_id": "a-1", "generation_id": 2}))
ANSWER = frame(write_response(Api.HEARTBEAT, 3, 5, {"error_code": 27}))


def _read(packets: list[bytes], port: int = 9_092) -> list[ImportedEvent]:
    return list(read_capture(pcap((float(ms), ethernet(data)) for ms, data in enumerate(packets)), ports=(port,)))


def test_a_real_capture_tells_the_rebalances_and_their_causes() -> None:
    trace = merged([read_capture(REAL.read_bytes(), ports=PORTS)], run="capture")
    by_name = causes(rebalances_of(trace))

    assert by_name == {group: list(EXPECTED[group]) for group in ("leader-rejoined", "closed")}
    assert {obs.node for obs in trace if obs.api == "SyncGroup"} <= {0, 1}, "brokers are told apart by what FindCoordinator said"


def test_requests_and_answers_carry_the_columns_of_any_trace() -> None:
    request, answer = _read([tcp(CLIENT, BROKER, 100, BEAT), tcp(BROKER, CLIENT, 900, ANSWER)])

    assert (request.kind, request.at_ms, request.columns["member"], request.columns["generation"]) == ("request", 0.0, "a-1", 2)
    assert (answer.kind, answer.columns["error"], answer.columns["client"], answer.columns["correlation"]) == ("response", 27, "m0", 5)


def test_frames_that_are_cut_into_segments_in_any_order_are_whole_again() -> None:
    parts = [tcp(CLIENT, BROKER, 100 + at, BEAT[at : at + 10]) for at in range(0, len(BEAT), 10)]
    entries = _read([tcp(CLIENT, BROKER, 99, flags=2), parts[1], parts[0], *parts[2:], parts[1]])

    assert [result.kind for result in entries] == ["event", "request"]


def test_a_connection_seen_from_its_middle_is_read_from_the_first_whole_request() -> None:
    rest = b"\xff\xff the end of something"
    entries = _read([tcp(CLIENT, BROKER, 100, rest), tcp(CLIENT, BROKER, 100 + len(rest), BEAT)])

    assert [result.columns["api"] for result in entries] == ["Heartbeat"]


def test_the_beginning_and_the_end_of_a_connection_are_reported_once() -> None:
    entries = _read(
        [tcp(CLIENT, BROKER, 1, flags=2), tcp(BROKER, CLIENT, 1, flags=0x12), tcp(CLIENT, BROKER, 2, flags=0x11), tcp(BROKER, CLIENT, 2, flags=0x11)]
    )

    assert [result.columns["body"]["name"] for result in entries] == ["connected", "closed"]


@pytest.mark.parametrize(("flags", "by"), [((0x11, 0x11), "client"), ((0x10, 0x11), "broker"), ((0x10, 0x14), "broker")])
def test_the_side_that_ends_a_connection_first_is_reported(flags: tuple[int, int], by: str) -> None:
    (closed,) = _read([tcp(CLIENT, BROKER, 2, flags=flags[0]), tcp(BROKER, CLIENT, 2, flags=flags[1])])

    assert closed.columns["body"]["by"] == by


def test_other_ports_are_not_read() -> None:
    assert _read([tcp(CLIENT, BROKER, 100, BEAT)], port=9_093) == []


@pytest.mark.parametrize("noise", [b"\x16\x03\x01\x02\x00\x01\x00\x01", b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 64, BEAT[:20] + b"\xff" * 400])
def test_what_is_no_kafka_does_no_harm(noise: bytes) -> None:
    assert [result for result in _read([tcp(CLIENT, BROKER, 100, noise)] * 3) if result.kind != "request"] == []


def test_pcapng_is_the_same_to_it() -> None:
    (request,) = read_capture(pcapng([(5.0, ethernet(tcp(CLIENT, BROKER, 100, BEAT)))]), ports=(9_092,))

    assert (request.at_ms, request.columns["api"]) == (5.0, "Heartbeat")
