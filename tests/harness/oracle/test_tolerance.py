from __future__ import annotations

from groupproof.harness.oracle.tolerance import Tolerance


def test_late_is_half_a_second_or_a_tenth_of_the_wait() -> None:
    assert [Tolerance().allowance_ms(waited) for waited in (0, 3_000, 10_000)] == [500, 500, 1_000]


def test_towards_a_broker_on_a_machine_that_lagged_timers_may_be_later() -> None:
    wider = Tolerance().widened(100)

    assert wider.allowance_ms(0) == Tolerance().allowance_ms(0) + 400
    assert wider.late_timer_ms == Tolerance().late_timer_ms + 400
    assert wider.reorder_ms == Tolerance().reorder_ms
