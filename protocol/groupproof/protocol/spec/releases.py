"""What older releases did otherwise, as cumulative deltas from the newest backward.

A delta names the release that brought today's rule (`since`) and says what held before it (`was`). The table of release R is the newest
table with every delta applied whose `since` is newer than R, newest first; so a delta is written against the table of its own `since`,
and a stale one fails where it is applied. Checked against the Scala coordinator at the tags 1.1.0, 2.4.0 and against
`GroupCoordinator.scala`'s history; the cells are those of "Error tables per API and state" in the catalogue's sources.

Profiles older than 4.1 hold the deltas of Heartbeat, OffsetCommit and the checks before the group; their other cells are still 4.1's
(`COVERED`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from groupproof.protocol.spec.terms import Guard, On, Row, State
from groupproof.protocol.vocabulary import ErrorCode, GroupState

__all__ = ["COVERED", "DELTAS", "NEWEST_FIELDS", "RELEASES", "Change", "Delta"]

Release = tuple[int, ...]

# Every profile and the release whose table it has.
RELEASES: Final[Mapping[str, Release]] = {"kafka-1.1": (1, 1), "kafka-2.4": (2, 4), "kafka-4.1": (4, 1)}

# The inputs whose cells a profile holds as its release has them.
COVERED: Final[Mapping[str, frozenset[On]]] = {
    "kafka-1.1": frozenset({On.HEARTBEAT, On.OFFSET_COMMIT, On.OFFSET_FETCH}),
    "kafka-2.4": frozenset({On.HEARTBEAT, On.OFFSET_COMMIT, On.OFFSET_FETCH}),
    "kafka-4.1": frozenset(On),
}

# Fields of answers that differ by release.
NEWEST_FIELDS: Final[Mapping[str, int]] = {"join_error_generation": -1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """In the cells of `on` and `states`, `rows` stood in place of the row called `name`; with `name` None, of the whole cell.

    With `keeps` they stood before that row, which was there too.
    """

    on: On
    states: tuple[State, ...]
    name: str | None
    rows: tuple[Row, ...] = ()
    keeps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """What held before release `since`, and what came with it (`what`, with its KIP or issue)."""

    since: Release
    what: str
    was: tuple[Change, ...] = ()
    before_group: Mapping[On, tuple[Row, ...]] = field(default_factory=dict)
    fields: Mapping[str, int] = field(default_factory=dict)


PREPARING: Final = GroupState.PREPARING_REBALANCE
COMPLETING: Final = GroupState.COMPLETING_REBALANCE
STABLE: Final = GroupState.STABLE
LIVE: Final = (PREPARING, COMPLETING, STABLE)

UNKNOWN_MEMBER: Final = ErrorCode.UNKNOWN_MEMBER_ID
REBALANCE_IN_PROGRESS: Final = ErrorCode.REBALANCE_IN_PROGRESS

_NOT_ACTIVE = Row("not-active", Guard.NOT_ACTIVE, ErrorCode.COORDINATOR_NOT_AVAILABLE, "FIND-09")
_GROUP_ID = Row("group-id-empty", Guard.GROUP_ID_EMPTY, ErrorCode.INVALID_GROUP_ID, "JOIN-28")
_LED_ELSEWHERE = Row("not-coordinator", Guard.NOT_LED_HERE, ErrorCode.NOT_COORDINATOR, "FIND-08")
_LOADING = Row("loading", Guard.LOADING, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "FIND-10")
_LOADING_IGNORED = Row("loading", Guard.LOADING, ErrorCode.NONE, "FIND-10")
_LOADING_REJOIN = Row("loading", Guard.LOADING, REBALANCE_IN_PROGRESS, "SYNC-22", note="older clients do not expect 14")
_SESSION_BOUNDS = Row("session-timeout", Guard.SESSION_TIMEOUT_OUT_OF_BOUNDS, ErrorCode.INVALID_SESSION_TIMEOUT, "JOIN-27")

_SCALA_ORDER: Final[Mapping[On, tuple[Row, ...]]] = {
    On.JOIN_GROUP: (_GROUP_ID, _NOT_ACTIVE, _LOADING, _LED_ELSEWHERE, _SESSION_BOUNDS),
    On.SYNC_GROUP: (_GROUP_ID, _NOT_ACTIVE, _LOADING_REJOIN, _LED_ELSEWHERE),
    On.HEARTBEAT: (_GROUP_ID, _NOT_ACTIVE, _LOADING_IGNORED, _LED_ELSEWHERE),
    On.LEAVE_GROUP: (_GROUP_ID, _NOT_ACTIVE, _LOADING, _LED_ELSEWHERE),
}

_FIRST_ORDER: Final[Mapping[On, tuple[Row, ...]]] = {
    On.JOIN_GROUP: (_NOT_ACTIVE, _GROUP_ID, _LED_ELSEWHERE, _LOADING, _SESSION_BOUNDS),
    On.SYNC_GROUP: (_NOT_ACTIVE, _LED_ELSEWHERE),
    On.HEARTBEAT: (_NOT_ACTIVE, _LED_ELSEWHERE, _LOADING_IGNORED),
    On.LEAVE_GROUP: (_NOT_ACTIVE, _LED_ELSEWHERE, _LOADING),
    On.OFFSET_COMMIT: (_NOT_ACTIVE, _LED_ELSEWHERE, _LOADING),
    On.OFFSET_FETCH: (_NOT_ACTIVE, _LED_ELSEWHERE, _LOADING),
}


def _dead(requirement: str) -> tuple[Row, ...]:
    return (Row("dead", Guard.ALWAYS, UNKNOWN_MEMBER, requirement),)


_PENDING_LEFT = (Row("only-pending", Guard.ONLY_PENDING_LEFT, None, "PEND-07"),)

# Newest first.
DELTAS: Final[tuple[Delta, ...]] = (
    Delta(
        since=(4, 0),
        what="the coordinator in Java: its order of checks, 14 to a SyncGroup while loading, 69 to OffsetCommit v9 of a missing group (KIP-848), a rebalance also when only a pending id leaves",
        was=(
            Change(on=On.OFFSET_COMMIT, states=(None,), name="no-group"),
            Change(on=On.LEFT, states=(STABLE,), name="stable", rows=_PENDING_LEFT, keeps=True),
            Change(on=On.LEFT, states=(COMPLETING,), name="completing", rows=_PENDING_LEFT, keeps=True),
        ),
        before_group=_SCALA_ORDER,
    ),
    Delta(
        since=(3, 0),
        what="an unknown group instance id is 25 on Heartbeat, SyncGroup and OffsetCommit too (pull request 9958)",
        was=tuple(
            Change(on=on, states=LIVE, name="unknown-instance") for on in (On.HEARTBEAT, On.SYNC_GROUP, On.OFFSET_COMMIT)
        ),
    ),
    Delta(
        since=(2, 6, 1),
        what="a Heartbeat in CompletingRebalance is answered 0 and refreshes the session (KAFKA-10134)",
        was=(
            Change(
                on=On.HEARTBEAT, states=(COMPLETING,), name="completing",
                rows=(Row("completing", Guard.ALWAYS, REBALANCE_IN_PROGRESS, "HB-52"),),
            ),
        ),
    ),
    Delta(
        since=(2, 4),
        what="OffsetCommit in CompletingRebalance checks member and generation before it answers 27 (KAFKA-8487)",
        was=(
            Change(
                on=On.OFFSET_COMMIT, states=(COMPLETING,), name=None,
                rows=(
                    Row("fenced", Guard.FENCED, ErrorCode.FENCED_INSTANCE_ID, "STATIC-10"),
                    Row("rebalancing", Guard.ALWAYS, REBALANCE_IN_PROGRESS, "COMMIT-04"),
                ),
            ),
        ),
    ),
    Delta(
        since=(2, 3),
        what="static members and 82 (KIP-345); 15 from a Dead group (KAFKA-8386); Heartbeat in CompletingRebalance checks the generation",
        was=(
            Change(on=On.HEARTBEAT, states=LIVE, name="fenced"),
            Change(on=On.OFFSET_COMMIT, states=LIVE, name="fenced"),
            Change(on=On.HEARTBEAT, states=(GroupState.DEAD,), name=None, rows=_dead("HB-02")),
            Change(on=On.OFFSET_COMMIT, states=(GroupState.DEAD,), name=None, rows=_dead("COMMIT-01")),
            Change(on=On.HEARTBEAT, states=(COMPLETING,), name="other-generation"),
            Change(
                on=On.HEARTBEAT, states=(COMPLETING,), name="completing",
                rows=(Row("completing", Guard.ALWAYS, REBALANCE_IN_PROGRESS, "HB-05"),),
            ),
        ),
    ),
    Delta(since=(2, 2), what="an error answer to JoinGroup carries generation -1, not 0", fields={"join_error_generation": 0}),
    Delta(since=(2, 0), what="the group id is checked first, and loading before leadership (pull requests 4788, 4851)", before_group=_FIRST_ORDER),
)  # fmt: skip

assert all(newer.since > older.since for newer, older in pairwise(DELTAS)), "deltas stand newest first"
