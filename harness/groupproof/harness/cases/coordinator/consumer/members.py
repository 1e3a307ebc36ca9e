"""Leaving, and the maximum size of a group (CGM-29 to CGM-39)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import SMALL, STATES, after_half, consumer_case, hand_over, ordered, shared
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import acknowledge, away, beat, commit, delete_groups, describe, fetch, join, leave, settled

__all__ = ["CASES"]

_LEAVES: Final = (
    consumer_case(
        "leave/last-member",
        "has the group Empty, with its epoch, when the last member leaves",
        ("CGM-29", "CGM-30", "CGM-33", "CGM-34", "CGG-59"),
        join("a"),
        leave("a", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "leave/one-of-two",
        "counts the epoch up by one when a member leaves, and gives its partitions away",
        ("CGM-29", "CGM-33", "CGR-20"),
        shared(),
        leave("b", code=0),
        describe("z", code=0),
        beat("a", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "leave/twice",
        "answers the second leave of a member with 25",
        ("CGM-32", "CGM-31"),
        shared(),
        leave("b", code=0),
        leave("b", code=25),
        beat("b", code=25),
        beat("a", code=0),
    ),
    consumer_case(
        "leave/last-member-twice",
        "answers a second leave of the last member with 25",
        ("CGM-32", "CGM-34"),
        join("a"),
        leave("a", code=0),
        leave("a", code=25),
        describe("z", code=0),
    ),
    consumer_case(
        "leave/with-everything-else",
        "takes nothing over from a leave but that the member leaves",
        ("CGM-29", "CGM-33"),
        shared(),
        leave("b", names=("u",), owned="own", timeout=1_000, code=0),
        describe("z", code=0),
        settled("a"),
        topics={"t": 4},
    ),
    consumer_case(
        "leave/waiting-member",
        "lets a member leave that still waits for partitions",
        ("CGM-33", "CGR-14"),
        ordered(),
        leave("b", code=0),
        describe("z", code=0),
        acknowledge("a", code=0),
        beat("a", code=0),
    ),
    consumer_case(
        "leave/all-at-once",
        "counts each of several leaves",
        ("CGM-33", "CGI-14", "CGM-34"),
        shared(),
        leave("a", code=0),
        leave("b", code=0),
        describe("z", code=0),
        join("c", code=0),
    ),
    consumer_case(
        "leave/offsets-stay",
        "keeps the offsets of a group whose last member leaves",
        ("CGM-34",),
        join("a"),
        commit("a", code=0),
        leave("a", code=0),
        fetch("a", member_id=None, epoch=-1, code=0),
    ),
    consumer_case(
        "leave/at-any-epoch",
        "asks for no epoch of a member that leaves",
        ("CGM-29",),
        hand_over(),
        leave("b", code=0),
        leave("a", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "leave/empty-group-can-be-deleted",
        "lets a group be deleted that its last member has left",
        ("CGM-34", "CGD-26", "CGD-28"),
        join("a"),
        leave("a"),
        delete_groups("z", code=0),
        beat("a", epoch=2, code=69),
        join("a", code=0),
    ),
)

_FULL_GROUP: Final = (join("a"), join("b"), join("c"))

_SIZES: Final = (
    consumer_case(
        "size/one-too-many",
        "refuses a member beyond the largest size with 81, and leaves the others in peace",
        ("CGM-36", "CGM-39"),
        _FULL_GROUP,
        join("d", code=81),
        describe("z", code=0),
        beat("a", code=0),
        settled("a", "b", "c"),
        settings=SMALL,
    ),
    consumer_case(
        "size/strangers-heartbeat",
        "answers the heartbeat of a stranger to a full group with 81",
        ("CGM-37",),
        _FULL_GROUP,
        beat("z", epoch=3, code=81),
        beat("a", code=0),
        settings=SMALL,
    ),
    consumer_case(
        "size/strangers-leave",
        "answers the leave of a stranger to a full group with 25",
        ("CGM-38",),
        _FULL_GROUP,
        leave("z", code=25),
        away("z", "i9", code=25),
        settings=SMALL,
    ),
    consumer_case(
        "size/members-go-on",
        "takes joins and changes of members of a full group",
        ("CGM-39", "CGM-18"),
        _FULL_GROUP,
        beat("a", names=("t", "u"), code=0),
        join("c", code=0),
        describe("z", code=0),
        settings=SMALL,
    ),
    consumer_case(
        "size/leave-makes-room",
        "lets a member in for one that has left",
        ("CGM-36",),
        _FULL_GROUP,
        leave("b", code=0),
        join("d", code=0),
        settings=SMALL,
    ),
    consumer_case(
        "size/session-end-makes-room",
        "lets a member in for one whose session has ended",
        ("CGM-36", "CGM-40"),
        join("a"),
        join("b"),
        after_half(beat("a", code=0)),
        join("c", code=0),
        after_half(join("d", code=0)),
        settings=SMALL,
    ),
    consumer_case(
        "size/shape-first",
        "finds a malformed join before it looks at the size",
        ("CGH-26", "CGM-36"),
        _FULL_GROUP,
        join("d", timeout=-1, code=42),
        join("d", server_assignor="nobody", code=112),
        settings=SMALL,
    ),
    consumer_case(
        "size/before-the-regex",
        "looks at the size before it looks at a regular expression",
        ("CGH-26", "CGM-36"),
        _FULL_GROUP,
        join("d", regex="(", code=81),
        settings=SMALL,
    ),
)


def _leaves_in_states() -> Iterator[Case]:
    """Yield a member's leave, in each state of its group."""
    for state in ("assigning", "reconciling", "stable"):
        yield consumer_case(
            f"leave/while-{state}",
            f"removes a member at once that leaves while the group {STATES[state].words}",
            ("CGM-29", "CGM-33", "CGR-20"),
            STATES[state].steps,
            leave("a", code=0),
            describe("z", code=0),
            beat("a", code=25),
        )


CASES: Final[tuple[Case, ...]] = (*_LEAVES, *_leaves_in_states(), *_SIZES)
