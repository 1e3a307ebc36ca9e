from __future__ import annotations

from groupproof.harness.oracle.tolerance import Tolerance


def test_late_is_half_a_second_or_a_tenth_of_the_wait() -> None:
    assert [Tolerance().allowance_ms(waited) for waited in (0, 3_000, 10_000)] == [500, 500, 1_000]
