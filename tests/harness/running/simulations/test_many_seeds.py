"""Many seeds: the same outcomes, in the order of the seeds, in one process or in several."""

from __future__ import annotations

import pytest
from tests.harness.simulation.runs import short

from groupproof.harness.running.simulations.many_seeds import outcomes


@pytest.mark.slow
def test_several_processes_find_what_one_does_in_the_order_of_the_seeds() -> None:
    alone = list(outcomes(short(duration_ms=10_000), range(3, 7), jobs=1))
    together = list(outcomes(short(duration_ms=10_000), range(3, 7), jobs=2))

    assert [outcome.simulation.seed for outcome in together] == [3, 4, 5, 6]
    assert [outcome.trace_hash for outcome in together] == [outcome.trace_hash for outcome in alone]
    assert all(outcome.transitions == () for outcome in together)
