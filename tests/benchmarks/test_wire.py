"""The wire's benchmark, untimed: both sides write the same bytes of every message that is timed."""

from __future__ import annotations

import pytest
from tests.benchmarks import wire
from tests.benchmarks.wire import CASES, compare


def test_every_message_that_is_timed_has_the_bytes_that_kio_gives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_ROUNDS", 1)
    monkeypatch.setattr(wire, "_ROUND_S", 1e-6)
    compared = [compare(*case) for case in CASES]

    assert len({result.name for result in compared}) == len(CASES)
    assert all(result.size > 0 for result in compared)
