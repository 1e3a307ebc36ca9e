"""Offsets by topic id: OffsetCommit and OffsetFetch v10, since 4.2 (CGO-25 to CGO-27, CGO-38, CGO-39)."""

from __future__ import annotations

from typing import Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import consumer_case, shared
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import commit, commit_by_id, fetch, fetch_by_id, join, leave
from groupproof.harness.model.script import Ref

__all__ = ["CASES"]

_LATER: Final = Ref("a", "member_epoch", 1)
_NOWHERE: Final = "no-such-topic"

CASES: Final[tuple[Case, ...]] = (
    consumer_case(
        "commit/by-topic-id",
        "takes commits by topic id, and tells the offsets by either",
        ("CGO-25", "CGO-38"),
        join("a"),
        commit_by_id("a", {("t", 0): 5, ("t", 1): 6}),
        fetch("a", {"t": (0, 1)}, code=0),
        fetch_by_id("a", {"t": (0, 1, 2)}, code=0),
        commit("a", {("t", 1): 8}),
        fetch_by_id("a", {"t": (1,)}, code=0),
    ),
    consumer_case(
        "commit/by-two-topic-ids",
        "tells the topics of a commit by id apart",
        ("CGO-25", "CGO-38"),
        join("a", names=("t", "u")),
        commit_by_id("a", {("t", 0): 5, ("u", 0): 6}),
        fetch_by_id("a", {"t": (0,), "u": (0,)}, code=0),
        fetch("a", {"u": (0,)}, code=0),
    ),
    consumer_case(
        "commit/by-an-unknown-topic-id",
        "refuses a commit by an id that no topic has with 100, and takes what else it holds",
        ("CGO-26", "CGO-25"),
        join("a"),
        commit_by_id("a", {("t", 0): 5, (_NOWHERE, 0): 6}),
        fetch("a", code=0),
    ),
    consumer_case(
        "commit/by-an-unknown-topic-id-and-a-later-epoch",
        "refuses the partitions of an unknown id with 100, and those of a known one with 113, where the epoch is none of the member's",
        ("CGO-27", "CGO-26", "CGO-02"),
        join("a"),
        commit_by_id("a", {("t", 0): 5, (_NOWHERE, 0): 6}, epoch=_LATER),
        commit_by_id("a", {(_NOWHERE, 0): 6}, epoch=_LATER),
        fetch("a", code=0),
    ),
    consumer_case(
        "commit/by-topic-id-of-a-stranger",
        "refuses commits by topic id of strangers and of members that have left with 25",
        ("CGO-10", "CGO-17", "CGO-25"),
        shared(),
        commit_by_id("z", epoch=2),
        leave("b"),
        commit_by_id("b", epoch=2),
        fetch_by_id("a", code=0),
    ),
    consumer_case(
        "fetch/by-an-unknown-topic-id",
        "answers a fetch by an id that no topic has with 100 for its partitions, and the others with their offsets",
        ("CGO-39", "CGO-38"),
        join("a"),
        commit("a", {("t", 0): 5}),
        fetch_by_id("a", {"t": (0,), _NOWHERE: (0, 1)}, code=None),
        fetch_by_id("a", {_NOWHERE: (0,)}),
    ),
    consumer_case(
        "fetch/by-topic-id-and-another-epoch",
        "refuses a fetch by topic id with another epoch with 113",
        ("CGO-30", "CGO-38"),
        join("a"),
        fetch_by_id("a", epoch=_LATER),
        fetch_by_id("a", code=0),
    ),
)
