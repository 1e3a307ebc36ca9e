from __future__ import annotations

import pytest
from tests.stateful.plans import within_seconds

from groupproof.harness.simulator.engines import ENGINES, broken
from groupproof.harness.simulator.schedule import Happening, Schedule

LEAVES = Schedule(happenings=(Happening(at_ms=1_500, kind="leave", who=("m0",), for_ms=1_300, how={}),))


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_carries_a_schedule_out_and_its_trace_is_judged_alike(engine: str) -> None:
    well = ENGINES[engine](within_seconds(), LEAVES)
    ill = ENGINES[engine](within_seconds(member_variant="heartbeats-after-leave"), LEAVES)

    assert broken(well) == {}
    assert set(broken(ill)) == {"CLIENT-11"}
