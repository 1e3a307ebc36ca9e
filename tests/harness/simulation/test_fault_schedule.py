"""Schedules: JSON both ways, in the order of their times, shortened by leaving out."""

from __future__ import annotations

import json

import pytest

from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault

CRASH = ScheduledFault(at_ms=20, kind="crash", who=("m1", "m2"), for_ms=5)
GROW = ScheduledFault(at_ms=10, kind="grow", how={"partitions": 2})


def test_a_schedule_comes_back_from_json_as_it_was_in_the_order_of_its_times() -> None:
    written = json.loads(json.dumps(Schedule(faults=(CRASH, GROW)).to_json()))

    assert Schedule.from_json(written).faults == (GROW, CRASH)


def test_what_is_left_out_is_gone_and_the_rest_stays_in_its_order() -> None:
    schedule = Schedule(faults=(GROW, CRASH, GROW))

    assert schedule.without({0}).faults == (CRASH, GROW)
    assert len(schedule.without({0, 1, 2})) == 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "list of happenings"),
        ([1], "list of happenings"),
        ([{"kind": "crash"}], "no happening"),
        ([{"at_ms": 1, "kind": "crash", "until": 2}], "'until'"),
        ([{"at_ms": 1, "kind": "crash", "how": 3}], "no happening"),
    ],
)
def test_what_is_no_schedule_is_refused_with_what_was_found(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Schedule.from_json(value)
