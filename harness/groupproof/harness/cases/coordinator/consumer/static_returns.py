"""Static members that return or are replaced: who may take an instance's place, and until when (CGS-18 to CGS-32)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import GONE_BY, SMALL, after_half, consumer_case
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import acknowledge, away, beat, commit, describe, join, leave, settled
from groupproof.harness.model.script import ScriptStep

__all__ = ["CASES"]

_ONE: Final = (join("s", instance="i1"),)
_KEPT: Final = (*_ONE, away("s", "i1"))
_REPLACED: Final = (*_KEPT, join("r", instance="i1"))
_SHARED: Final = (
    *_ONE, join("b"), beat("s", instance="i1"), acknowledge("s", instance="i1"), beat("b"),
)  # fmt: skip

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
    ),
    consumer_case(
        "static/own-id-returns-with-other-topics",
        "counts the epoch up for a member that comes back with other topics",
        ("CGS-20", "CGS-21"),
        _KEPT,
        join("s", instance="i1", names=("t", "u"), code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "static/replaced-member-beats",
        "fences the old member id with its instance with 82, and does not know it without",
        ("CGS-22", "CGS-23"),
        _REPLACED,
        beat("s", instance="i1", code=82),
        beat("s", code=25),
        beat("r", instance="i1", code=0),
    ),
    consumer_case(
        "static/replaced-member-leaves",
        "fences the leave of the old member id with its instance with 82",
        ("CGS-24",),
        _REPLACED,
        leave("s", instance="i1", code=82),
        away("s", "i1", code=82),
        leave("s", code=25),
        describe("z", code=0),
    ),
    consumer_case(
        "static/replaced-member-commits",
        "refuses the commit of the old member id with 25",
        ("CGS-23", "CGO-10"),
        _REPLACED,
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
        after_half(away("s", "i1", code=0)),
        after_half(describe("z", code=0)),
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
        after_half(away("s", "i1", code=0)),
        join("r", instance="i1", code=0),
        after_half(beat("r", instance="i1", code=0)),
        settings=SMALL,
    ),
    consumer_case(
        "static/full-group-new-id",
        "lets a new member id take the place of its instance in a full group, since 4.4; before, it is refused with 81",
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
    """Yield cases on the answers to an impostor while the instance's place is held, kept, or taken over."""
    states: dict[str, tuple[str, tuple[ScriptStep, ...], int]] = {
        "held": ("is held", _ONE, 111), "waiting": ("waits", _KEPT, 0), "taken": ("has been taken", _REPLACED, 111),
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


CASES: Final[tuple[Case, ...]] = (*_RETURNS, *_fenced_while(), *_TIMES)
