from __future__ import annotations

from groupproof.chaos.scenarios.scenario import DURATIONS, Duration, Ground


def test_a_duration_is_another_one_on_each_ground() -> None:
    duration = Duration(virtual_ms=300_000, wire_ms=7_000)

    assert (duration.on(Ground.VIRTUAL), duration.on(Ground.WIRE)) == (300_000, 7_000)


def test_what_outlasts_a_session_does_so_on_each_ground() -> None:
    for ground in Ground:
        assert DURATIONS["past-session"].on(ground) > DURATIONS["session"].on(ground) > 3 * DURATIONS["beat"].on(ground)
