from __future__ import annotations

import pytest
from tests.stateful.plans import within_seconds

from groupproof.harness.running.simulations.engines import ENGINES, broken, simulated
from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault

LEAVES = Schedule(faults=(ScheduledFault(at_ms=1_500, kind="leave", who=("m0",), for_ms=1_300, how={}),))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_carries_a_schedule_out_and_its_trace_is_judged_alike(engine: str) -> None:
    def broken_by(**variants: str) -> set[str]:
        simulation = within_seconds(**variants)
        return set(broken(simulation, LEAVES, ENGINES[engine](simulation, LEAVES)))

    assert broken_by() == set()
    assert broken_by(member_variant="heartbeats-after-leave") == {"CLIENT-11"}
    found = broken_by(coordinator_variant="assignments-stay")
    assert found
    assert found <= ({"TR-082", "TR-116"} if engine == "sockets" else {"TR-082"}), "over sockets a follower may sync after the leader"


def test_the_oracle_says_nothing_where_more_happened_than_the_rules_of_a_group_know() -> None:
    simulation = within_seconds(coordinator_variant="assignments-stay")
    moves = Schedule(faults=(*LEAVES.faults, ScheduledFault(at_ms=2_900, kind="grow", how={"partitions": 0})))
    beyond = Schedule(faults=(*LEAVES.faults, ScheduledFault(at_ms=2_900, kind="repeat", who=("m1",), for_ms=1)))

    assert set(broken(simulation, moves, simulated(simulation, moves))) == {"TR-082"}
    assert broken(simulation, beyond, simulated(simulation, beyond)) == {}
