from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.protocol.wire.framing import FRAME_BYTES_MAX, Framer, FrameTooLong, FramingError, NegativeLength, frame


@given(st.lists(st.binary(max_size=20)), st.lists(st.integers(0, 60)))
def test_frames_come_out_whole_however_the_stream_is_cut(payloads: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(frame, payloads))
    framer, found, at = Framer(), [], 0
    for cut in [*sorted(cuts), len(stream)]:
        found += framer.feed(stream[at:cut])
        at = max(at, cut)

    assert found == payloads
    assert framer.pending == 0


def test_an_incomplete_frame_is_kept_until_its_rest_comes() -> None:
    framer = Framer()

    assert framer.feed(frame(b"whole") + b"\0\0\0\x04cu") == [b"whole"]
    assert framer.pending == 6
    assert framer.feed(b"t!") == [b"cut!"]


@pytest.mark.parametrize("length", [b"\xff\xff\xff\xff", b"\x80\0\0\0"])
def test_a_negative_length_ends_the_stream(length: bytes) -> None:
    with pytest.raises(NegativeLength, match=r"a frame of -\d+ bytes was announced; first bytes " + length.hex()):
        Framer().feed(length + b"rest")


def test_a_frame_above_the_bound_is_refused_when_its_length_is_known() -> None:
    framer = Framer(10)

    assert framer.feed(frame(b"x" * 10)) == [b"x" * 10]
    with pytest.raises(FrameTooLong, match="a frame of 11 bytes was announced, the bound is 10"):
        framer.feed(b"\0\0\0\x0b")


def test_two_gibibytes_are_refused_without_being_held() -> None:
    tracemalloc.start()
    with pytest.raises(FramingError, match=f"2147483647 bytes was announced, the bound is {FRAME_BYTES_MAX}"):
        Framer().feed(b"\x7f\xff\xff\xff" + bytes(1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 20_000


def test_a_frame_may_be_empty() -> None:
    assert Framer().feed(frame(b"") + frame(b"")) == [b"", b""]
