"""Static members: the holder of an instance id, and the place that is kept while it is away (CGS-01 to CGS-29)."""

from __future__ import annotations

from typing import Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import consumer_case
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import acknowledge, away, beat, commit, delete_groups, describe, fetch, full, join, leave

__all__ = ["CASES"]

_ONE: Final = (join("s", instance="i1"),)
_KEPT: Final = (*_ONE, away("s", "i1"))
_SHARED: Final = (
    *_ONE, join("b"), beat("s", instance="i1"), acknowledge("s", instance="i1"), beat("b"),
)  # fmt: skip

_HOLDERS: Final = (
    consumer_case(
        "static/joins",
        "takes a member with an instance id for a static one",
        ("CGS-01",),
        join("s", instance="i1", code=0),
        beat("s", instance="i1", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "static/instance-in-use",
        "refuses another member with an instance id that is in use with 111, and leaves the holder in peace",
        ("CGS-02",),
        _ONE,
        join("r", instance="i1", code=111),
        beat("s", instance="i1", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "static/holder-joins-again",
        "refuses the join of the holder itself with 111, as every release does, apache/kafka#23542",
        ("CGS-06", "CGS-07"),
        _ONE,
        join("s", instance="i1", code=111),
        beat("s", instance="i1", code=0),
    ),
    consumer_case(
        "static/holder-joins-again-later",
        "refuses the join of the holder itself with 111 when its epoch has moved on, too",
        ("CGS-06",),
        _SHARED,
        join("s", instance="i1", code=111),
        describe("z", code=0),
    ),
    consumer_case(
        "static/holder-joins-again-reconciling",
        "refuses the join of the holder itself with 111 while the group is reconciled, too",
        ("CGS-06",),
        _ONE,
        join("b"),
        join("s", instance="i1", code=111),
        describe("z", code=0),
    ),
    consumer_case(
        "static/holder-joins-again-assigning",
        "refuses the join of the holder itself with 111 while a target is due, too",
        ("CGS-06",),
        _SHARED,
        leave("b"),
        join("s", instance="i1", code=111),
        describe("z", code=0),
    ),
    consumer_case(
        "static/beats-with-anothers-instance",
        "fences a heartbeat with an instance id that another member holds with 82",
        ("CGS-08",),
        _SHARED,
        beat("b", instance="i1", code=82),
        beat("z", epoch=1, instance="i1", code=82),
        beat("s", instance="i1", code=0),
        beat("b", code=0),
    ),
    consumer_case(
        "static/leaves-with-anothers-instance",
        "fences a leave with an instance id that another member holds with 82, and removes nobody",
        ("CGS-09",),
        _ONE,
        away("z", "i1", code=82),
        leave("z", instance="i1", code=82),
        beat("s", instance="i1", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "static/unknown-instance",
        "answers a leave with an instance id that nobody holds with 25",
        ("CGS-10", "CGM-54"),
        _ONE,
        away("s", "i9", code=25),
        leave("s", instance="i9", code=25),
        beat("s", instance="i9", code=25),
        beat("s", instance="i1", code=0),
    ),
    consumer_case(
        "static/beats-without-its-instance",
        "takes a heartbeat of a static member that does not name its instance",
        ("CGS-30",),
        _ONE,
        beat("s", code=0),
        full("s", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "static/two-instances",
        "keeps two static members of one group apart",
        ("CGS-34",),
        _ONE,
        join("r", instance="i2", code=0),
        away("r", "i2", code=0),
        beat("s", instance="i1", code=0),
        join("q", instance="i2", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "static/changes-its-instance",
        "takes a member that joins with another instance id for the member of that instance",
        ("CGS-03",),
        _ONE,
        join("s", instance="i2", code=0),
        describe("z", code=0),
        beat("s", instance="i2", code=0),
    ),
    consumer_case(
        "static/changed-instance-is-forgotten",
        "knows the old instance of a member that has changed it no more, since 4.4",
        ("CGS-04", "CGS-05"),
        _ONE,
        join("s", instance="i2", code=0),
        beat("s", instance="i1", code=0),
    ),
)

_SLOTS: Final = (
    consumer_case(
        "static/goes-away",
        "keeps the place of a static member that goes away for a while, at the same group epoch",
        ("CGS-11", "CGS-12", "CGS-13", "CGS-14", "CGM-30"),
        _ONE,
        away("s", "i1", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "static/goes-away-twice",
        "takes a second leave for a while as it took the first",
        ("CGS-15",),
        _KEPT,
        away("s", "i1", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "static/beats-while-away",
        "fences the heartbeat of a static member that has gone away with 110",
        ("CGS-16",),
        _KEPT,
        beat("s", instance="i1", code=110),
        beat("s", code=110),
        describe("z", code=0),
    ),
    consumer_case(
        "static/commits-while-away",
        "refuses the commit of a static member that has gone away with 113",
        ("CGS-17",),
        _KEPT,
        commit("s", code=113),
        fetch("s", code=113),
    ),
    consumer_case(
        "static/slot-keeps-its-partitions",
        "gives nothing of a place that waits to others",
        ("CGS-25", "CGA-06"),
        _KEPT,
        join("b", code=0),
        beat("b", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "static/slot-is-a-member",
        "counts a place that waits for a member when the group is to be deleted",
        ("CGD-25",),
        _KEPT,
        delete_groups("z", code=68),
    ),
    consumer_case(
        "static/slot-is-freed-by-leaving",
        "gives up a place that waits when its member leaves for good",
        ("CGS-29",),
        _KEPT,
        leave("s", instance="i1", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "static/leaves-for-good",
        "removes a static member that leaves for good",
        ("CGS-28",),
        _ONE,
        leave("s", instance="i1", code=0),
        describe("z", code=0),
        join("r", instance="i1", code=0),
    ),
    consumer_case(
        "static/leaves-for-good-without-its-instance",
        "removes a static member that leaves for good and does not name its instance",
        ("CGS-28",),
        _ONE,
        leave("s", code=0),
        describe("z", code=0),
        join("r", instance="i1", code=0),
    ),
)

CASES: Final[tuple[Case, ...]] = (*_HOLDERS, *_SLOTS)
