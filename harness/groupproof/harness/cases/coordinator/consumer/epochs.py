"""Joining and epochs: members, their epochs, and the results of lost answers and returns (CGM-01 to CGM-28, CGI-01 to CGI-16)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import STATES, consumer_case, hand_over, ordered, pair, shared
from groupproof.harness.cases.coordinator.coordinator_case_builders import in_group
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import acknowledge, beat, describe, full, join, leave, settled
from groupproof.harness.model.script import Ref

__all__ = ["CASES"]

_GREATEST: Final = 2**31 - 1
_KEPT: Final = [("t", 0), ("t", 1)]
_BEFORE: Final = Ref("a", "member_epoch", -1)

_JOINS: Final = (
    consumer_case(
        "join/first-member",
        "makes the group and the member in one round trip, and gives it everything",
        ("CGM-01", "CGM-02", "CGM-03", "CGM-04", "CGM-05", "CGM-08"),
        join("a", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "join/second-member",
        "gives a second member the epoch at once, and no partition that the first still has",
        ("CGM-02", "CGM-08", "CGR-10", "CGR-38"),
        pair(),
        describe("z", code=0),
    ),
    consumer_case(
        "join/third-while-first-revokes",
        "lets a third member in while the first still has to revoke",
        ("CGR-38", "CGM-08", "CGR-14"),
        ordered(),
        join("c", code=0),
        beat("a", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "join/two-topics",
        "gives the only member all partitions of two topics",
        ("CGM-03", "CGA-04"),
        join("a", names=("t", "u"), code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "join/into-empty-group",
        "counts the epoch of an Empty group on when it is joined again",
        ("CGM-34", "CGM-35"),
        join("a"),
        leave("a"),
        describe("z", code=0),
        join("b", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "join/same-id-into-empty-group",
        "takes a member that has left for a new one",
        ("CGM-35", "CGM-31"),
        join("a"),
        leave("a"),
        join("a", code=0),
        beat("a", code=0),
    ),
    consumer_case(
        "join/two-groups",
        "keeps two groups with members of the same ids apart",
        ("CGI-01", "CGM-55"),
        join("a", code=0),
        in_group("h", join("a", names=("u",), epoch=0, code=0)),
        join("b", code=0),
        in_group("h", describe("z", code=0)),
        describe("z", code=0),
    ),
    *(
        consumer_case(
            f"join/member-of-{count}",
            f"lets {count} members in, one after the other, and shares out what there is",
            ("CGM-08", "CGI-11", "CGI-13", "CGR-35"),
            *(join(name) for name in names),
            settled(*names, rounds=4),
            describe("z", code=0),
        )
        for count, names in ((3, "abc"), (4, "abcd"), (5, "abcde"))
    ),
)

_BEATS: Final = (
    consumer_case(
        "epoch/partial-heartbeat",
        "answers a heartbeat that says nothing with the same epoch and no assignment",
        ("CGM-25", "CGM-28"),
        join("a"),
        beat("a", code=0),
        beat("a", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "epoch/full-heartbeat",
        "answers a heartbeat that says everything with the whole assignment",
        ("CGM-26", "CGM-28"),
        join("a"),
        full("a", code=0),
        full("a", code=0),
        describe("z", code=0),
    ),
    *(
        consumer_case(
            f"epoch/{name}",
            f"answers a heartbeat {words} without an assignment, as none changed",
            ("CGM-27",),
            join("a"),
            beat("a", **fields, code=0),
            describe("z", code=0),
        )
        for name, words, fields in (
            ("owned-alone", "with owned partitions alone", {"owned": "own"}),
            ("without-owned", "with a timeout and names, but no partitions", {"timeout": 60_000, "names": ("t",)}),
            ("without-timeout", "with names and partitions, but no timeout", {"names": ("t",), "owned": "own"}),
            ("without-names", "with a timeout and partitions, but no names", {"timeout": 60_000, "owned": "own"}),
        )
    ),
    *(
        consumer_case(
            f"epoch/{name}",
            f"fences a heartbeat {words} with 110, and leaves the member as it was",
            (requirement, "CGI-15"),
            shared(),
            beat("a", epoch=epoch, code=110),
            full("a", epoch=epoch, code=110),
            beat("a", code=0),
            describe("z", code=0),
        )
        for name, words, epoch, requirement in (
            ("one-above", "of the next epoch", Ref("a", "member_epoch", 1), "CGM-09"),
            ("far-above", "of the greatest epoch that there is", _GREATEST, "CGM-09"),
        )
    ),
    *(
        consumer_case(
            f"epoch/one-above-while-{state}",
            f"fences a heartbeat of the next epoch with 110 while the group {STATES[state].words}",
            ("CGM-09",),
            STATES[state].steps,
            beat("a", epoch=Ref("a", "member_epoch", 1), owned="own", code=110),
            describe("z", code=0),
        )
        for state in ("assigning", "reconciling", "stable")
    ),
)

_LOST_ANSWERS: Final = (
    consumer_case(
        "epoch/two-below",
        "fences a heartbeat of an epoch before the previous one with 110, whatever it owns",
        ("CGM-16", "CGI-15"),
        shared(),
        leave("b"),
        beat("a"),
        beat("a", epoch=Ref("a", "member_epoch", -2), code=110),
        beat("a", epoch=Ref("a", "member_epoch", -2), owned=(), code=110),
        beat("a", code=0),
    ),
    consumer_case(
        "epoch/previous-with-owned",
        "takes a heartbeat of the previous epoch that owns no more than it was assigned, and answers with the epoch of now",
        ("CGM-10", "CGM-11", "CGM-13"),
        hand_over(),
        beat("a", epoch=_BEFORE, owned=_KEPT, code=0),
        beat("a", code=0),
    ),
    consumer_case(
        "epoch/previous-with-part-of-owned",
        "takes a heartbeat of the previous epoch that owns less than it was assigned",
        ("CGM-10", "CGM-11"),
        hand_over(),
        beat("a", epoch=_BEFORE, owned=_KEPT[:1], code=0),
    ),
    consumer_case(
        "epoch/previous-with-nothing-owned",
        "takes a heartbeat of the previous epoch that owns nothing",
        ("CGM-10", "CGM-11"),
        hand_over(),
        beat("a", epoch=_BEFORE, owned=(), code=0),
    ),
    consumer_case(
        "epoch/previous-in-full",
        "answers a full heartbeat of the previous epoch with the whole assignment",
        ("CGM-12",),
        hand_over(),
        full("a", epoch=_BEFORE, owned=_KEPT, code=0),
    ),
    consumer_case(
        "epoch/previous-without-owned",
        "fences a heartbeat of the previous epoch that says nothing of its partitions with 110",
        ("CGM-14",),
        hand_over(),
        beat("a", epoch=_BEFORE, code=110),
        beat("a", code=0),
    ),
    consumer_case(
        "epoch/previous-with-too-much",
        "fences a heartbeat of the previous epoch that owns more than it was assigned with 110",
        ("CGM-15",),
        hand_over(),
        beat("a", epoch=_BEFORE, owned=[("t", 0), ("t", 1), ("t", 2)], code=110),
        beat("a", epoch=_BEFORE, owned=[("t", 0), ("t", 1), ("t", 2), ("t", 3)], code=110),
        beat("a", code=0),
    ),
    consumer_case(
        "epoch/previous-with-unknown-topic",
        "fences a heartbeat of the previous epoch that owns a partition of an unknown topic with 110",
        ("CGM-15",),
        hand_over(),
        beat("a", epoch=_BEFORE, owned=[("nowhere", 0)], code=110),
    ),
    consumer_case(
        "epoch/waiting-member-repeats",
        "answers a member that waits for partitions, and has lost an answer, with what it may have",
        ("CGM-10", "CGM-12", "CGR-11"),
        hand_over(),
        full("b", owned=(), code=0),
        full("b", code=0),
    ),
)

_RETURNS: Final = (
    consumer_case(
        "epoch/returns-at-first-epoch",
        "lets a member join again that is at its first epoch",
        ("CGM-18", "CGM-20", "CGM-21"),
        join("a"),
        join("a", code=0),
        beat("a", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "epoch/returns-later",
        "lets a member join again whose epoch has moved on, since 4.2; before, it is fenced until its session ends",
        ("CGM-17", "CGM-19", "CGM-20", "CGM-21"),
        shared(),
        join("a", code=110),
        describe("z", code=0),
        beat("b", code=0),
    ),
    consumer_case(
        "epoch/returns-with-another-subscription",
        "counts the epoch up for a member that joins again with other topics, since 4.2",
        ("CGM-17", "CGM-22"),
        shared(),
        join("a", names=("t", "u"), code=110),
        describe("z", code=0),
    ),
    consumer_case(
        "epoch/return-acknowledges",
        "takes a join again while a revocation is pending for its acknowledgement, since 4.2",
        ("CGM-17", "CGM-23"),
        ordered(),
        join("a", code=110),
        beat("b", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "epoch/returns-as-waiting-member",
        "lets a member join again that waits for partitions",
        ("CGM-18", "CGR-09"),
        pair(),
        join("b", code=0),
        beat("a", code=0),
        acknowledge("a", code=0),
        beat("b", code=0),
    ),
    consumer_case(
        "epoch/returns-as-static",
        "takes a member for a static one that joins again with an instance id",
        ("CGM-24",),
        join("a"),
        join("a", instance="i1", code=0),
        describe("z", code=0),
        beat("a", instance="i1", code=0),
    ),
    consumer_case(
        "epoch/returns-after-leaving",
        "takes a member that left, and joins again, for a new one",
        ("CGM-29", "CGM-31", "CGM-08"),
        shared(),
        leave("a"),
        beat("a", code=25),
        join("a", code=0),
        settled("b", "a"),
        describe("z", code=0),
    ),
    consumer_case(
        "epoch/instance-that-nobody-holds",
        "answers a member that claims an instance id which nobody holds with 25",
        ("CGM-54",),
        join("a"),
        beat("a", instance="i9", code=25),
        beat("a", code=0),
    ),
)


def _returns_to_states() -> Iterator[Case]:
    """Yield a member's second join, in each state of its group."""
    for state in ("assigning", "reconciling"):
        yield consumer_case(
            f"epoch/returns-while-{state}",
            f"answers a member that joins again while the group {STATES[state].words}, since 4.2 with its assignment",
            ("CGM-17", "CGM-19", "CGM-20"),
            STATES[state].steps,
            join("a", code=110),
            describe("z", code=0),
        )


CASES: Final[tuple[Case, ...]] = (*_JOINS, *_BEATS, *_LOST_ANSWERS, *_RETURNS, *_returns_to_states())
