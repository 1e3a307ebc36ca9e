"""Streams: by name, from one seed, each for itself."""

from __future__ import annotations

import pytest

from groupproof.harness.simulation.random_streams import Streams


def test_a_stream_is_its_seed_and_its_name_and_nothing_else() -> None:
    drawn = Streams(1).named("network", 3).random()

    assert Streams(1).named("network", 3).random() == drawn
    assert Streams(2).named("network", 3).random() != drawn
    assert Streams(1).named("network", 4).random() != drawn


def test_what_one_stream_draws_moves_no_other() -> None:
    streams = Streams(1)
    first = [streams.named("a").random() for _ in range(2)]
    streams.named("b").random()

    assert first == [streams.named("a").random()] * 2


def test_a_seed_means_the_same_in_every_release() -> None:
    assert Streams(7).named("faults").getrandbits(32) == 2_903_613_335


def test_a_later_draw_is_the_same_and_without_a_draw_no_generator_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = Streams(1)
    at_once = streams.named("member", "m1")
    draw = streams.drawing("member", "m1")

    assert [draw() for _ in range(3)] == [at_once.random() for _ in range(3)]
    monkeypatch.setattr(streams, "named", lambda *_: pytest.fail("a generator was made"))
    streams.drawing("member", "m2")
