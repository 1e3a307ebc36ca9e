"""How long partitions are without an owner, and what is read again, by hand."""

from __future__ import annotations

from groupproof.harness.simulation.rehearsal.work_meter import WorkMeter

A, B = ("t", 0), ("t", 1)


def _meter() -> WorkMeter:
    meter = WorkMeter(2, "t")
    meter.owns("m0", frozenset({A, B}), 1_000)
    meter.begin(5_000)
    return meter


def test_what_came_before_the_beginning_costs_nothing() -> None:
    cost = _meter().cost(9_000, 0)

    assert (cost.unowned_worst_ms, cost.unowned_ms, cost.reread) == (0, 0, 0)


def test_a_partition_has_no_owner_from_the_last_that_gave_it_up_to_the_next() -> None:
    meter = _meter()
    meter.owns("m0", frozenset({A}), 6_000)
    meter.owns("m1", frozenset({B}), 8_500)
    meter.owns("m0", frozenset(), 9_000)

    cost = meter.cost(10_000, 3)
    assert (cost.unowned_worst_ms, cost.unowned_ms, cost.rebalances) == (2_500, 3_500, 3)
    assert not meter.is_whole


def test_of_two_owners_the_last_counts() -> None:
    meter = _meter()
    meter.owns("m1", frozenset({A}), 6_000)
    meter.owns("m0", frozenset(), 7_000)
    meter.owns("m1", frozenset({A, B}), 7_400)

    assert meter.cost(8_000, 0).unowned_ms == 400
    assert meter.is_whole


def test_records_below_the_newest_that_was_read_are_read_again() -> None:
    meter = _meter()
    meter.reads(A, 0, 100)
    meter.reads(A, 60, 130)
    meter.reads(B, 0, 10)

    assert meter.cost(8_000, 0).reread == 40
