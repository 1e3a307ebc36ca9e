from __future__ import annotations

from groupproof.chaos.scenarios.scenario import DURATIONS, Duration, RunMode


def test_a_duration_differs_by_run_mode() -> None:
    duration = Duration(virtual_ms=300_000, wire_ms=7_000)

    assert (duration.in_mode(RunMode.VIRTUAL), duration.in_mode(RunMode.WIRE)) == (300_000, 7_000)


def test_what_outlasts_a_session_does_so_in_each_run_mode() -> None:
    for mode in RunMode:
        assert DURATIONS["past-session"].in_mode(mode) > DURATIONS["session"].in_mode(mode) > 3 * DURATIONS["beat"].in_mode(mode)
