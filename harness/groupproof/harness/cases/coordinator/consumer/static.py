"""Static members: a place that waits for its instance, and who may take it (CGS-01 to CGS-35)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import GONE_BY, HALF, SMALL, consumer_case
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import acknowledge, away, beat, commit, delete_groups, describe, fetch, full, join, leave, settled
from groupproof.harness.model.script import ScriptStep

__all__ = ["CASES"]

_ONE: Final = (join("s", instance="i1"),)
_KEPT: Final = (*_ONE, away("s", "i1"))
_TAKEN: Final = (*_KEPT, join("r", instance="i1"))
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
        "refuses the join of the holder itself with 111, as every release does (apache/kafka#23542)",
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
        "knows the old instance of a member that has changed it no more (since 4.4)",
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

_RETURNS: Final = (
    consumer_case(
        "static/new-id-takes-the-slot",
        "gives the place of an instance to a new member id in one answer, with its partitions and at the same group epoch",
        ("CGS-18", "CGS-19", "CGS-35"),
        _KEPT,
        join("r", instance="i1", code=0),
        describe("z", code=0),
        beat("r", instance="i1", code=0),
    ),
    consumer_case(
        "static/own-id-takes-the-slot",
        "gives the place of an instance back to its own member id",
        ("CGS-21", "CGS-35"),
        _KEPT,
        join("s", instance="i1", code=0),
        describe("z", code=0),
        beat("s", instance="i1", code=0),
    ),
    consumer_case(
        "static/takes-the-slot-with-other-topics",
        "counts the epoch up for a member that takes a place with other topics",
        ("CGS-20",),
        _KEPT,
        join("r", instance="i1", names=("u",), code=0),
        describe("z", code=0),
        settled("r"),
        topics={"t": 4, "u": 3},
    ),
    consumer_case(
        "static/own-id-returns-with-other-topics",
        "counts the epoch up for a member that comes back with other topics",
        ("CGS-20", "CGS-21"),
        _KEPT,
        join("s", instance="i1", names=("t", "u"), code=0),
        describe("z", code=0),
        topics={"t": 4, "u": 3},
    ),
    consumer_case(
        "static/replaced-member-beats",
        "fences the old member id with its instance with 82, and does not know it without",
        ("CGS-22", "CGS-23"),
        _TAKEN,
        beat("s", instance="i1", code=82),
        beat("s", code=25),
        beat("r", instance="i1", code=0),
    ),
    consumer_case(
        "static/replaced-member-leaves",
        "fences the leave of the old member id with its instance with 82",
        ("CGS-24",),
        _TAKEN,
        leave("s", instance="i1", code=82),
        away("s", "i1", code=82),
        leave("s", code=25),
        describe("z", code=0),
    ),
    consumer_case(
        "static/replaced-member-commits",
        "refuses the commit of the old member id with 25",
        ("CGS-23", "CGO-10"),
        _TAKEN,
        commit("s", code=25),
        commit("r", code=0),
    ),
    consumer_case(
        "static/away-and-back-again",
        "gives a place back as often as it is left",
        ("CGS-18", "CGS-21", "CGS-19"),
        _KEPT,
        join("s", instance="i1", code=0),
        away("s", "i1", code=0),
        join("r", instance="i1", code=0),
        away("r", "i1", code=0),
        join("q", instance="i1", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "static/away-while-others-come",
        "leads a member that comes back to the newest target",
        ("CGS-18", "CGS-25", "CGR-01"),
        _KEPT,
        join("b"),
        join("s", instance="i1", code=0),
        acknowledge("s", instance="i1", code=0),
        beat("b", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "static/one-of-two-goes-away",
        "keeps what a member has that goes away from a group of two",
        ("CGS-12", "CGS-18", "CGS-25"),
        _SHARED,
        away("s", "i1", code=0),
        beat("b", code=0),
        join("r", instance="i1", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "static/returns-in-the-middle-of-its-revocation",
        "frees what a member was to revoke when it goes away, and gives its successor the rest",
        ("CGR-21", "CGS-18"),
        _ONE,
        join("b"),
        beat("s", instance="i1", code=0),
        away("s", "i1", code=0),
        join("r", instance="i1", code=0),
        beat("b", code=0),
        describe("z", code=0),
    ),
)

_TIMES: Final = (
    consumer_case(
        "static/slot-ends-with-the-session",
        "gives up a place that waits when the session ends, counted from the last heartbeat",
        ("CGS-26", "CGS-27"),
        _ONE,
        HALF,
        away("s", "i1", code=0),
        HALF,
        describe("z", code=0),
        join("r", instance="i1", code=0),
        settings=SMALL,
    ),
    consumer_case(
        "static/session-of-a-silent-member",
        "removes a static member that falls silent as any other",
        ("CGM-40", "CGS-02"),
        _ONE,
        GONE_BY,
        beat("s", instance="i1", code=25),
        join("r", instance="i1", code=0),
        settings=SMALL,
    ),
    consumer_case(
        "static/successor-has-a-session-of-its-own",
        "counts the session of a member that takes a place from its join",
        ("CGS-18", "CGM-41"),
        _ONE,
        HALF,
        away("s", "i1", code=0),
        join("r", instance="i1", code=0),
        HALF,
        beat("r", instance="i1", code=0),
        settings=SMALL,
    ),
    consumer_case(
        "static/full-group-new-id",
        "lets a new member id take the place of its instance in a full group (since 4.4; before, it is refused with 81)",
        ("CGS-31", "CGS-32"),
        _ONE,
        join("b"),
        join("c"),
        away("s", "i1", code=0),
        join("r", instance="i1", code=81),
        describe("z", code=0),
        settings=SMALL,
    ),
    consumer_case(
        "static/full-group-own-id",
        "lets a static member come back to a full group with its own id",
        ("CGS-21", "CGS-31"),
        _ONE,
        join("b"),
        join("c"),
        away("s", "i1", code=0),
        join("s", instance="i1", code=0),
        describe("z", code=0),
        settings=SMALL,
    ),
)


def _fenced_while() -> Iterator[Case]:
    """Yield what an impostor is answered while the instance's place is held, waits, or has a new holder."""
    states: dict[str, tuple[str, tuple[ScriptStep, ...], int]] = {
        "held": ("is held", _ONE, 111), "waiting": ("waits", _KEPT, 0), "taken": ("has been taken", _TAKEN, 111),
    }  # fmt: skip
    for name, (words, steps, code) in states.items():
        yield consumer_case(
            f"static/impostor-while-{name}",
            f"knows who may have the place of an instance while it {words}",
            ("CGS-02", "CGS-08", "CGS-09") if code else ("CGS-08", "CGS-09", "CGS-18"),
            steps,
            beat("x", epoch=2, instance="i1", code=82),
            leave("x", instance="i1", code=82),
            join("x", instance="i1", code=code),
            describe("z", code=0),
        )


CASES: Final[tuple[Case, ...]] = (*_HOLDERS, *_SLOTS, *_RETURNS, *_fenced_while(), *_TIMES)
