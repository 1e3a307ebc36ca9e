from __future__ import annotations

import random
import tracemalloc

import pytest
from tests.harness.judging.checkers.fleets import long_stream, planted_fleet

from groupproof.harness.judging.checkers.fleet import Fleet, InOrder, touches_all
from groupproof.protocol.trace import Observation, Trace

ROWS = 3_000
ROWS_OF_A_FLEET = 100_000
BYTES_MAX = 400_000


def broken(trace: Trace) -> dict[str, list[str]]:
    """Return the laws that each group broke."""
    fleet = Fleet()
    for obs in trace:
        fleet.feed(obs)
    return {group.group: [law.examples[0].requirement for law in group.invariants] for group in fleet.results()}


def test_each_group_is_checked_against_the_invariants_separately() -> None:
    found = broken(planted_fleet())

    assert found == {group: [group.partition(" ")[0]] if not group.startswith("kept") else [] for group in found}
    assert len(found) == 11


def test_a_fault_touches_every_group_of_its_run_and_a_link_those_that_were_spoken_of_on_it() -> None:
    fleet = Fleet()
    for obs in planted_fleet():
        fleet.feed(obs)
    fault = Observation(seq=10**6, at_ns=10**12, kind="fault", run="r", fault="f", detail="delivered")

    assert touches_all(fault)
    assert len(fleet._touched(fault)) == 11
    assert len(fleet._touched(Observation(seq=10**6, at_ns=0, kind="event", run="r", who="link", connection=1, body={"name": "stalled"}))) == 1
    assert fleet._touched(Observation(seq=10**6, at_ns=0, kind="event", run="other", who="link", connection=1, body={"name": "stalled"})) == []


def test_a_stream_is_put_in_order_as_far_as_the_window_reaches() -> None:
    trace = planted_fleet()
    shuffled = [obs for at in range(0, len(trace), 16) for obs in random.Random(at).sample(trace[at : at + 16], len(trace[at : at + 16]))]
    order = InOrder(rows=32)

    assert list(order.sorted(shuffled)) == trace
    assert order.displaced > 0
    assert order.late == 0


def test_what_comes_too_late_is_left_out_and_counted() -> None:
    trace = planted_fleet()
    order = InOrder(rows=4)

    assert list(order.sorted([*trace[1:], trace[0]])) == trace[1:]
    assert (order.displaced, order.late) == (1, 1)


@pytest.mark.parametrize("rows", [ROWS, pytest.param(ROWS_OF_A_FLEET, marks=pytest.mark.soak)])
def test_memory_does_not_grow_with_the_rows(rows: int) -> None:
    fleet, order = Fleet(), InOrder(rows=200)
    tracemalloc.start()
    try:
        for number, obs in enumerate(order.sorted(long_stream(rows))):
            fleet.feed(obs)
            if number == rows // 2:
                early, _ = tracemalloc.get_traced_memory()
        late, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    (group,) = fleet.results()
    assert (group.members, group.invariants) == ((), ())
    assert group.requests > rows / 3
    assert late - early < BYTES_MAX
