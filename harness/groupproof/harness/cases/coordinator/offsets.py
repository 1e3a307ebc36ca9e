"""OffsetCommit and OffsetFetch: in each state, in each version, with and without a membership (COMMIT-01 to COMMIT-51, FETCH-01 to FETCH-06)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from groupproof.harness.cases.coordinator.coordinator_case_builders import (
    NOBODY,
    SMALL,
    Steps,
    all_joined,
    case,
    emptied,
    gathered,
    in_group,
    passing,
    preparing,
    rejoined,
)
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import Group, Ref
from groupproof.harness.model.script_builders import beat, commit, describe, fetch, join, leave, stable, sync
from groupproof.harness.model.verdicts import Level

__all__ = ["CASES"]

_METADATA_MAX: Final = 4_096
_TWO: Final = {("t", 0): 5, ("t", 1): 6}


def _simple(member: str, offsets: Mapping[tuple[str, int], int] | None = None, **overrides: Any) -> Any:
    """Return a commit without a membership: generation -1, no member id."""
    return commit(member, offsets, **{"generation_id": -1, "member_id": "", **overrides})


_SIMPLE = (
    case(
        "commit/simple",
        "takes a commit without a membership to a group that does not exist, and makes it one of offsets alone",
        ("COMMIT-10", "COMMIT-02", "TR-006", "TR-029"),
        _simple("a", {("t", 0): 42}, code=0),
        fetch("a", code=0),
        _simple("a", {("t", 0): 7}, code=0),
        fetch("a", code=0),
    ),
    case(
        "commit/simple-with-an-id",
        "takes a commit of generation -1 to a group without members, whoever it says it is from",
        ("COMMIT-02", "TR-029"),
        _simple("a", code=0),
        _simple("a", {("t", 0): 9}, member_id=NOBODY, code=0),
        fetch("a", code=0),
        required=False,
    ),
    case(
        "commit/simple-with-an-instance",
        "takes a commit of generation -1 to a group without members that names an instance",
        ("COMMIT-02", "TR-029"),
        _simple("a", code=0),
        _simple("a", {("t", 0): 9}, instance="i", code=0),
        fetch("a", code=0),
        required=False,
    ),
    *(
        case(
            f"commit/simple-to-{state}",
            f"refuses a commit without a membership with 25 while the group {words}",
            ("COMMIT-11", requirement),
            steps,
            _simple("x", code=25),
            fetch("x", code=0),
        )
        for state, words, requirement, steps in (
            ("preparing", "waits for joins", "TR-065", preparing("a", "b")),
            ("completing", "waits for the leader's assignment", "TR-096", gathered("a", "b")),
            ("stable", "is Stable", "TR-124", stable("a", "b")),
        )
    ),
    case(
        "commit/simple-after-empty",
        "takes a commit without a membership once the members have left, and keeps theirs",
        ("COMMIT-02", "COMMIT-23", "TR-029", "TR-031"),
        stable("a"),
        commit("a", {("t", 0): 11}, code=0),
        leave("a", code=0),
        _simple("x", {("t", 1): 12}, code=0),
        fetch("x", {"t": (0, 1)}, code=0),
    ),
    case(
        "commit/before-members-come",
        "keeps what was committed without a membership for the members that come later",
        ("TR-020", "COMMIT-23", "FETCH-04"),
        _simple("x", {("t", 0): 42}, code=0),
        stable("a"),
        fetch("a", code=0),
    ),
    case(
        "commit/empty-group-id",
        "keeps offsets also for the group whose name is empty, from 2.0 on",
        ("COMMIT-02",),
        _simple("a", group_id="", code=0),
        fetch("a", group_id="", code=0),
        required=False,
    ),
)

_REFUSALS = (
    case(
        "commit/no-group-v8",
        "refuses a commit of a generation to a group that does not exist with 22 up to OffsetCommit v8",
        ("COMMIT-10", "TR-007"),
        commit("a", version=8, generation_id=1, member_id=NOBODY, code=22),
    ),
    case(
        "commit/no-group-v2",
        "refuses a commit of a generation to a group that does not exist with 22",
        ("COMMIT-10", "TR-007"),
        commit("a", version=2, generation_id=1, member_id=NOBODY, code=22),
    ),
    case(
        "commit/no-group-v9",
        "refuses a commit of a generation to a group that does not exist with 69 from OffsetCommit v9 on",
        ("TR-007", "ERR-18"),
        commit("a", version=9, generation_id=1, member_id=NOBODY, code=69),
    ),
    case(
        "commit/empty-group",
        "refuses a commit of a generation to an Empty group with 25",
        ("TR-030", "COMMIT-05"),
        emptied(),
        commit("a", code=25),
        level=Level.SHOULD,  # 22 is also true, and leads to the same join
    ),
    *(
        case(
            f"commit/{name}-{state}",
            f"refuses a commit {words_of} with {code} while the group {words}",
            (requirement, *cites),
            steps,
            commit("b", _TWO, **fields, code=code),
        )
        for state, words, requirement, steps in (
            ("preparing", "waits for joins", "TR-065", preparing("a", "b")),
            ("completing", "waits for the leader's assignment", "TR-096", gathered("a", "b")),
            ("stable", "is Stable", "TR-124", stable("a", "b")),
        )
        for name, words_of, code, cites, fields in (
            ("stranger", "of a stranger", 25, ("COMMIT-05", "COMMIT-12", "COMMIT-51"), {"member_id": NOBODY}),
            ("later-generation", "of a generation to come", 22, ("COMMIT-06", "COMMIT-12"), {"generation_id": Ref("b", "generation", 1)}),
            ("earlier-generation", "of a generation that is past", 22, ("COMMIT-06",), {"generation_id": Ref("b", "generation", -1)}),
        )
    ),
    case(
        "commit/completing",
        "refuses a member's commit between join and sync with 27, in each partition",
        ("COMMIT-21", "TR-096", "COMMIT-12", "COMMIT-51"),
        gathered("a", "b"),
        commit("b", _TWO, code=27),
        fetch("b", {"t": (0, 1)}, code=0),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, code=0),
        commit("b", _TWO, code=0),
    ),
    case(
        "commit/metadata-too-long",
        "refuses with 12 the one partition whose metadata is longer than offset.metadata.max.bytes",
        ("COMMIT-28", "ERR-04", "TIMER-16"),
        stable("a"),
        commit("a", {("t", 0): 5}, metadata="m" * _METADATA_MAX, code=0),
        commit("a", {("t", 1): 6}, metadata="m" * (_METADATA_MAX + 1), code=12),
        fetch("a", {"t": (0, 1)}, code=0),
    ),
    case(
        "commit/unknown-topic",
        "refuses with 3 the partitions of a topic that does not exist, and takes the others",
        ("ERR-02", "COMMIT-22"),
        stable("a"),
        commit("a", {("t", 0): 5, ("no-such-topic", 0): 1}, code=3),
        fetch("a", code=0),
    ),
    case(
        "commit/unknown-partition",
        "refuses with 3 a partition that its topic does not have",
        ("ERR-02",),
        stable("a"),
        commit("a", {("t", 7): 5}, code=3),
    ),
)

_COURSE = (
    case(
        "commit/stable",
        "keeps what members commit, for everybody who asks",
        ("COMMIT-22", "TR-123", "TR-125", "FETCH-04", "FETCH-05"),
        stable("a", "b"),
        commit("a", {("t", 0): 5}, metadata="mine", code=0),
        commit("b", {("t", 1): 0}, code=0),
        fetch("x", {"t": (0, 1)}, code=0),
    ),
    case(
        "commit/of-foreign-partitions",
        "takes a member's commit for a partition that is another's",
        ("COMMIT-27",),
        stable("a", "b"),
        commit("a", {("t", 1): 5}, code=0),
        fetch("b", {"t": (1,)}, code=0),
    ),
    case(
        "commit/lower-offset",
        "takes a lower offset than before: the newest commit counts",
        ("COMMIT-22",),
        stable("a"),
        commit("a", {("t", 0): 50}, code=0),
        commit("a", {("t", 0): 3}, code=0),
        fetch("a", code=0),
    ),
    case(
        "commit/begins-no-rebalance",
        "begins no rebalance for a commit, and no new generation",
        ("COMMIT-30",),
        stable("a", "b"),
        *(commit("a", {("t", 0): offset}, code=0) for offset in range(1, 6)),
        beat("b", code=0),
        beat("a", code=0),
    ),
    case(
        "commit/null-metadata",
        "takes a commit without metadata",
        ("COMMIT-22",),
        stable("a"),
        commit("a", {("t", 0): 5}, metadata=None, code=0),
        fetch("a", code=0),
    ),
    case(
        "fetch/no-group",
        "answers a fetch for a group that does not exist with -1 and no error",
        ("FETCH-05", "TR-008"),
        fetch("x", {"t": (0, 1)}, code=0),
        beat("x", member_id=NOBODY, generation_id=1, code=25),
    ),
    case(
        "fetch/everything-of-no-group",
        "answers a fetch of everything of a group that does not exist with nothing",
        ("FETCH-05", "TR-008"),
        fetch("x", everything=True, version=2, code=0),
    ),
    case(
        "fetch/never-committed",
        "answers -1 for a partition that nobody committed, and for one that does not exist",
        ("FETCH-05",),
        stable("a"),
        commit("a", {("t", 0): 5}, code=0),
        fetch("a", {"t": (0, 1, 9), "no-such-topic": (0,)}, code=0),
    ),
    case(
        "fetch/everything",
        "answers a fetch of everything with all that was committed",
        ("FETCH-04", "TR-125"),
        stable("a"),
        commit("a", _TWO, code=0),
        fetch("a", everything=True, code=0),
    ),
    case(
        "fetch/in-every-state",
        "answers fetches in every state of the group",
        ("FETCH-01", "FETCH-02", "FETCH-03", "FETCH-04", "TR-031", "TR-066", "TR-097"),
        stable("a", "b"),
        commit("a", _TWO, code=0),
        join("a", is_parked=True),
        fetch("x", {"t": (0, 1)}, code=0),
        all_joined("b", "a"),
        fetch("x", {"t": (0, 1)}, code=0),
        leave("a", code=0),
        leave("b", code=0),
        fetch("x", {"t": (0, 1)}, code=0),
    ),
    case(
        "commit/isolated",
        "keeps the offsets of each group to itself",
        ("TRIG-12", "INV-10"),
        _simple("a", {("t", 0): 5}, code=0),
        in_group("other", _simple("a", {("t", 0): 6}, code=0)),
        fetch("a", code=0),
        fetch("a", group_id=Group("other"), code=0),
        fetch("a", group_id=Group("third"), code=0),
    ),
    case(
        "commit/survives-rebalances",
        "keeps offsets across rebalances and the end of the members",
        ("COMMIT-23", "FETCH-01"),
        stable("a"),
        commit("a", {("t", 0): 5}, code=0),
        rejoined("a"),
        leave("a", code=0),
        stable("b"),
        fetch("b", code=0),
    ),
    case(
        "commit/expires-unless-subscribed",
        "forgets offsets of topics to which no member of a live group subscribes, and keeps the others",
        ("COMMIT-24", "TIMER-13"),
        _simple("x", {("u", 0): 6}, code=0),
        stable("a", session_timeout_ms=200_000),
        commit("a", {("t", 0): 5}, code=0),
        passing(76_000),
        fetch("a", {"t": (0,), "u": (0,)}, code=0),
        beat("a", code=0),
        settings=SMALL,
        topics={"t": 2, "u": 1},
        required=False,
    ),
    case(
        "commit/expires",
        "forgets the offsets of a group that has been Empty for offsets.retention.minutes, and then the group",
        ("COMMIT-24", "TR-032", "TR-033", "TIMER-13", "TIMER-14"),
        stable("a"),
        commit("a", {("t", 0): 5}, code=0),
        leave("a", code=0),
        passing(40_000),
        fetch("a", code=0),
        passing(36_000),
        fetch("a", code=0),
        describe("a", code=69),
        settings=SMALL,
        required=False,
    ),
    case(
        "commit/without-members-expires",
        "forgets offsets that nobody's member committed offsets.retention.minutes after their own commit",
        ("COMMIT-24", "COMMIT-26"),
        commit("x", {("t", 0): 5}, generation_id=-1, member_id="", code=0),
        passing(40_000),
        commit("x", {("t", 1): 6}, generation_id=-1, member_id="", code=0),
        passing(36_000),
        fetch("x", {"t": (0, 1)}, code=0),
        settings=SMALL,
        required=False,
    ),
)


def _versioned(version: int) -> tuple[Steps, ...]:
    """Return the steps for one version of OffsetCommit. Version 0, from the time of ZooKeeper, stores offsets elsewhere, as OffsetFetch v0 does."""
    return (
        stable("a"),
        commit("a", {("t", 0): 5}, metadata="m", version=version, code=0),
        fetch("a", code=0),
        commit("a", version=version, generation_id=77, code=22),
        commit("a", version=version, member_id=NOBODY, code=25),
    )


_VERSIONS = (
    *(
        case(
            f"commit/v{version}",
            f"takes commits by OffsetCommit v{version}, and refuses other generations and strangers by it",
            ("TR-123", "TR-124", "COMMIT-05", "COMMIT-06"),
            *_versioned(version),
            required=version >= 2,
        )
        for version in range(1, 10)
    ),
    *(
        case(
            f"fetch/v{version}",
            f"answers OffsetFetch v{version} with what was committed, and -1 where nothing was",
            ("FETCH-04", "FETCH-05", "TR-125"),
            stable("a"),
            commit("a", {("t", 0): 5}, metadata="m", code=0),
            fetch("a", {"t": (0, 1)}, version=version, code=0),
            *((fetch("a", everything=True, version=version, code=0),) if version >= 2 else ()),
        )
        for version in range(1, 10)
    ),
)

CASES: tuple[Case, ...] = (*_SIMPLE, *_REFUSALS, *_COURSE, *_VERSIONS)
