"""Bytes come out in their order whatever the network did to the segments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groupproof.harness.running.importing.tcp_streams import BYTES_AHEAD_MAX, HalfStream

TEXT = bytes(range(200))


@given(
    start=st.sampled_from([0, 1_000, (1 << 32) - 100, (1 << 32) - 1]),
    pieces=st.lists(st.tuples(st.integers(0, 199), st.integers(1, 60)), max_size=30),
    seed=st.randoms(use_true_random=False),
)
def test_shuffled_repeated_and_overlapping_segments_give_the_text_once(start: int, pieces: list[tuple[int, int]], seed: object) -> None:
    whole = [(at, 20) for at in range(0, 200, 20)]
    segments = [(at, TEXT[at : at + size]) for at, size in whole + pieces]
    seed.shuffle(segments)  # type: ignore[attr-defined]  # hypothesis's Random, under its own type

    stream = HalfStream()
    stream.start(start)
    got = b"".join(stream.feed((start + 1 + at) % (1 << 32), data) for at, data in segments)

    assert (got, stream.lost) == (TEXT, 0)


def test_without_a_beginning_the_first_segment_is_where_it_begins() -> None:
    stream = HalfStream()

    assert stream.feed(500, b"middle") + stream.feed(490, b"what came before") + stream.feed(506, b" end") == b"middle end"


def test_what_the_capture_lost_is_given_up_when_too_much_waits_behind_it() -> None:
    stream = HalfStream()
    stream.start(0)
    chunk = bytes(1 << 20)
    got = [stream.feed(101 + number * len(chunk), chunk) for number in range(BYTES_AHEAD_MAX // len(chunk) + 1)]

    assert got[:-1] == [b""] * (len(got) - 1)
    assert (len(got[-1]), stream.lost) == (BYTES_AHEAD_MAX + len(chunk), 100)
