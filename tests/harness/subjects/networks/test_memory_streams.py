from __future__ import annotations

import trio
import trio.testing

from groupproof.harness.subjects.networks import memory_streams


def test_they_are_trio_s_own() -> None:
    assert memory_streams.MockClock is trio.testing.MockClock
    assert memory_streams.memory_stream_pair is trio.testing.memory_stream_pair
