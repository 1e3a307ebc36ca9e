"""Commits and fetches of offsets with member epochs (CGO-01 to CGO-53)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import STATES, consumer_case, hand_over, ordered, shared
from groupproof.harness.cases.coordinator.coordinator_case_builders import offset_delete
from groupproof.harness.model import script_builders as classic
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import acknowledge, beat, commit, describe, fetch, join, leave
from groupproof.harness.model.script import Ref

__all__ = ["CASES"]

_ABOVE: Final = Ref("a", "member_epoch", 1)
_BELOW: Final = Ref("a", "member_epoch", -1)
_FAR_BELOW: Final = Ref("a", "member_epoch", -2)
_NONE: Final = -1
_LEFT: Final = (join("a"), commit("a"), leave("a"))

_COMMITS: Final = (
    consumer_case(
        "commit/current-epoch",
        "takes a commit of a member at its epoch, and gives it back",
        ("CGO-01", "CGO-29"),
        join("a"),
        commit("a", {("t", 0): 7, ("t", 3): 9}, code=0),
        fetch("a", {"t": (0, 1, 3)}, code=0),
    ),
    consumer_case(
        "commit/epoch-above",
        "refuses a commit of an epoch above the member's with 113, and keeps what was committed",
        ("CGO-02", "CGO-53"),
        join("a"),
        commit("a", {("t", 0): 7}, code=0),
        commit("a", {("t", 0): 8}, epoch=_ABOVE, code=113),
        fetch("a", code=0),
    ),
    consumer_case(
        "commit/no-epoch-of-a-member",
        "refuses a member's commit without an epoch with 113",
        ("CGO-16", "CGO-53"),
        join("a"),
        commit("a", epoch=_NONE, code=113),
        fetch("a", code=0),
    ),
    consumer_case(
        "commit/previous-epoch-kept-partition",
        "takes a commit of the previous epoch for a partition that the member kept, since 4.3; before, 113",
        ("CGO-03", "CGO-04"),
        hand_over(),
        commit("a", {("t", 0): 7}, epoch=_BELOW, code=113),
        fetch("a", code=0),
    ),
    consumer_case(
        "commit/previous-epoch-given-away",
        "refuses a commit of the previous epoch for a partition that the member gave away with 113",
        ("CGO-06", "CGO-03"),
        shared(),
        commit("a", {("t", 2): 7}, epoch=_BELOW, code=113),
        fetch("b", {"t": (2,)}, code=0),
    ),
    consumer_case(
        "commit/previous-epoch-of-a-newer-partition",
        "refuses a commit of an epoch before the partition was assigned with 113",
        ("CGO-05", "CGO-03"),
        join("a"),
        beat("a", names=("t", "u"), owned="own"),
        commit("a", {("u", 0): 7}, epoch=_BELOW, code=113),
        fetch("a", {"u": (0,)}, code=0),
    ),
    consumer_case(
        "commit/previous-epoch-of-both",
        "refuses all of a commit of the previous epoch where that is too old for one of its partitions",
        ("CGO-09", "CGO-03"),
        join("a"),
        beat("a", names=("t", "u"), owned="own"),
        commit("a", {("t", 0): 7, ("u", 0): 8}, epoch=_BELOW, code=113),
        fetch("a", {"t": (0,), "u": (0,)}, code=0),
    ),
    consumer_case(
        "commit/before-the-first-epoch",
        "refuses a commit of an epoch before the member came with 113",
        ("CGO-05", "CGO-03"),
        hand_over(),
        commit("a", {("t", 0): 7}, epoch=_FAR_BELOW, code=113),
        fetch("a", code=0),
    ),
    consumer_case(
        "commit/under-revocation",
        "takes a commit for a partition that the member is to revoke",
        ("CGO-07",),
        ordered(),
        commit("a", {("t", 2): 7, ("t", 0): 8}, code=0),
        acknowledge("a", code=0),
        beat("b", code=0),
        fetch("b", {"t": (0, 2)}, code=0),
    ),
    consumer_case(
        "commit/not-assigned",
        "takes a commit of the current epoch for any partition that there is",
        ("CGO-08",),
        shared(),
        commit("a", {("t", 2): 7, ("u", 0): 8}, code=0),
        fetch("a", {"t": (2,), "u": (0,)}, code=0),
    ),
    consumer_case(
        "commit/unknown-member", "refuses the commit of a stranger with 25", ("CGO-10",), join("a"), commit("z", epoch=2, code=25), fetch("a", code=0)
    ),
    consumer_case(
        "commit/old-version-of-a-member",
        "refuses a commit in version 8 of a member with 35",
        ("CGO-11",),
        join("a"),
        commit("a", version=8, code=35),
        fetch("a", code=0),
    ),
    consumer_case(
        "commit/old-version-of-a-stranger",
        "refuses a commit in version 8 of a stranger with 25",
        ("CGO-12", "CGO-10"),
        join("a"),
        commit("z", epoch=1, version=8, code=25),
    ),
    consumer_case(
        "commit/nobody-to-a-group-with-members",
        "refuses a commit of nobody with 25 while there are members",
        ("CGO-13",),
        join("a"),
        commit("z", member_id="", epoch=_NONE, code=25),
    ),
    consumer_case(
        "commit/nobody-to-an-empty-group",
        "takes a commit of nobody while the group is Empty",
        ("CGO-14",),
        _LEFT,
        commit("z", {("t", 0): 5}, member_id="", epoch=_NONE, code=0),
        fetch("z", member_id=None, epoch=_NONE, code=0),
    ),
    consumer_case(
        "commit/departed-member-without-epoch",
        "takes a commit without an epoch of whomever while the group is Empty",
        ("CGO-15",),
        _LEFT,
        commit("a", {("t", 0): 5}, epoch=_NONE, code=0),
        fetch("z", member_id=None, epoch=_NONE, code=0),
    ),
    consumer_case(
        "commit/departed-member",
        "refuses the commit of a member that has left with 25",
        ("CGO-17",),
        _LEFT,
        commit("a", {("t", 0): 5}, code=25),
        fetch("a", code=25),
        fetch("z", member_id=None, epoch=_NONE, code=0),
    ),
    consumer_case(
        "commit/no-group-with-epoch",
        "refuses a commit with an epoch to a group that does not exist with 69, in version 8 with 22",
        ("CGO-18", "CGO-19"),
        commit("a", epoch=1, code=69),
        commit("a", epoch=1, version=8, code=22),
        describe("z", code=69),
    ),
    consumer_case(
        "commit/no-group",
        "keeps offsets of nobody in a group without members, which consumers then may join",
        ("CGO-20", "CGO-21"),
        commit("z", {("t", 0): 5}, member_id="", epoch=_NONE, code=0),
        fetch("z", member_id=None, epoch=_NONE, code=0),
        join("a", code=0),
        fetch("a", code=0),
    ),
    consumer_case(
        "commit/wrong-instance",
        "looks at no instance id in a commit",
        ("CGO-22",),
        join("a", instance="i1"),
        commit("a", instance="i9", code=0),
        commit("a", code=0),
    ),
    consumer_case(
        "commit/unknown-topic",
        "refuses a partition that there is not with 3, and takes the others",
        ("CGO-23",),
        join("a"),
        commit("a", {("t", 0): 5, ("nowhere", 0): 6, ("t", 44): 7}, code=None),
        fetch("a", code=0),
    ),
    consumer_case(
        "commit/long-metadata",
        "refuses metadata that are too long with 12",
        ("CGO-24", "CGO-53"),
        join("a"),
        commit("a", metadata="x" * 5_000, code=12),
        fetch("a", code=0),
    ),
    consumer_case(
        "commit/after-an-acknowledgement",
        "takes the next epoch for the member's from the answer on that gives it",
        ("CGI-16", "CGO-01", "CGO-07"),
        ordered(),
        commit("a", {("t", 3): 7}, code=0),
        acknowledge("a", code=0),
        commit("a", {("t", 0): 8}, code=0),
        fetch("a", {"t": (0, 3)}, code=0),
    ),
    consumer_case(
        "commit/waiting-member",
        "takes the commit of a member that has nothing yet",
        ("CGO-01", "CGO-08"),
        ordered(),
        commit("b", code=0),
        fetch("b", code=0),
    ),
)

_FETCHES: Final = (
    consumer_case(
        "fetch/epoch-above",
        "refuses a fetch of an epoch above the member's with 113",
        ("CGO-30",),
        join("a"),
        commit("a"),
        fetch("a", epoch=_ABOVE, code=113),
    ),
    consumer_case(
        "fetch/epoch-below",
        "refuses a fetch of the previous epoch with 113, in every release",
        ("CGO-30",),
        hand_over(),
        fetch("a", epoch=_BELOW, code=113),
        fetch("a", epoch=_BELOW, everything=True, code=113),
        fetch("a", everything=True, code=0),
    ),
    consumer_case("fetch/unknown-member", "refuses the fetch of a stranger with 25", ("CGO-31",), join("a"), fetch("z", epoch=1, code=25)),
    consumer_case(
        "fetch/nobody",
        "answers a fetch of nobody",
        ("CGO-32", "CGO-37"),
        join("a"),
        commit("a"),
        fetch("z", member_id=None, epoch=_NONE, code=0),
        fetch("z", member_id=None, epoch=_NONE, everything=True, code=0),
        classic.fetch("z", version=8, code=0),
    ),
    consumer_case(
        "fetch/empty-member-id",
        "takes an empty member id for a member's, and refuses it with 25",
        ("CGO-33",),
        join("a"),
        fetch("z", member_id="", epoch=_NONE, code=25),
    ),
    consumer_case(
        "fetch/epoch-without-member", "refuses a fetch with an epoch of nobody", ("CGO-34",), join("a"), fetch("z", member_id=None, epoch=3, code=-1)
    ),
    consumer_case(
        "fetch/no-epoch-of-a-member", "refuses a member's fetch without an epoch with 113", ("CGO-35",), join("a"), fetch("a", epoch=_NONE, code=113)
    ),
    consumer_case(
        "fetch/no-group",
        "answers a fetch of a group that does not exist with no offsets",
        ("CGO-36",),
        fetch("z", member_id=None, epoch=_NONE, code=0),
        fetch("a", epoch=1, code=0),
    ),
    consumer_case(
        "fetch/never-committed",
        "answers offset -1 for a partition that was never committed",
        ("CGO-40",),
        join("a"),
        fetch("a", {"t": (0, 1, 2, 3)}, code=0),
    ),
    consumer_case(
        "fetch/everything",
        "answers all that was committed",
        ("CGO-29", "CGO-32"),
        join("a", names=("t", "u")),
        commit("a", {("t", 0): 5, ("u", 2): 6}),
        fetch("a", everything=True, code=0),
    ),
    consumer_case(
        "fetch/empty-group",
        "refuses a fetch of a departed member with 25, and answers one of nobody",
        ("CGO-31", "CGO-32"),
        _LEFT,
        fetch("a", code=25),
        fetch("z", member_id=None, epoch=_NONE, code=0),
    ),
)

_DELETIONS: Final = (
    consumer_case(
        "offset-delete/subscribed-topic",
        "refuses to delete offsets of a topic that a member subscribes to with 86",
        ("CGO-49", "CGO-50"),
        join("a"),
        commit("a", {("t", 0): 5, ("u", 0): 6}),
        offset_delete("z", {"t": (0,), "u": (0,)}),
        fetch("a", {"t": (0,), "u": (0,)}, code=0),
    ),
    consumer_case(
        "offset-delete/empty-group",
        "deletes offsets of an Empty group",
        ("CGO-51",),
        _LEFT,
        offset_delete("z", {"t": (0,)}, code=0),
        fetch("z", member_id=None, epoch=_NONE, code=0),
    ),
    consumer_case(
        "offset-delete/topic-dropped",
        "deletes offsets of a topic that nobody subscribes to any more",
        ("CGO-50",),
        join("a", names=("t", "u")),
        commit("a", {("u", 0): 6}),
        beat("a", names=("t",), owned=[("t", index) for index in range(4)]),
        offset_delete("z", {"u": (0,)}, code=0),
        fetch("a", {"u": (0,)}, code=0),
    ),
    consumer_case(
        "offset-delete/no-group",
        "deletes no offsets of a group of consumers that does not exist: 69",
        ("CGO-52",),
        offset_delete("z", {"t": (0,)}, code=69),
    ),
)


def _in_states() -> Iterator[Case]:
    """Yield commits and fetches of members and of unknown members in each state of a group."""
    asked: tuple[tuple[str, str, str, Any, int], ...] = (
        ("commit", "current-epoch-while", "CGO-01", lambda: commit("a", code=0), 0),
        ("commit", "epoch-above-while", "CGO-02", lambda: commit("a", epoch=_ABOVE, code=113), 113),
        ("commit", "stranger-while", "CGO-10", lambda: commit("z", epoch=1, code=25), 25),
        ("fetch", "current-epoch-while", "CGO-29", lambda: fetch("a", code=0), 0),
        ("fetch", "epoch-above-while", "CGO-30", lambda: fetch("a", epoch=_ABOVE, code=113), 113),
    )
    for area, name, requirement, step, code in asked:
        for state in ("assigning", "reconciling"):
            yield consumer_case(
                f"{area}/{name}-{state}",
                f"answers such a {area} with {code} while the group {STATES[state].words}",
                (requirement,),
                STATES[state].steps,
                step(),
            )


_IN_STATES: Final = tuple(
    consumer_case(
        f"offset-delete/while-{state}",
        f"deletes offsets of a topic that nobody subscribes to while the group is {state.title()}",
        ("CGO-50", "CGO-01"),
        *steps,
        commit("a", {("t", 0): 5, ("u", 0): 7}, code=0),
        fetch("z", {"t": (0,), "u": (0,)}, member_id=None, epoch=-1, code=0),
        offset_delete("z", {"u": (0,), "t": (0,)}),
        fetch("z", {"t": (0,), "u": (0,)}, member_id=None, epoch=-1, code=0),
    )
    for state, steps in (("assigning", (shared(), leave("b"))), ("reconciling", (ordered(),)))
)

CASES: Final[tuple[Case, ...]] = (*_COMMITS, *_FETCHES, *_in_states(), *_DELETIONS, *_IN_STATES)
