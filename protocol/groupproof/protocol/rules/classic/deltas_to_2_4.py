"""The changes of the releases up to 2.4: static and pending members, the newcomers' timer, the order of checks. Read at the release tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.protocol.rules.cells import Cell, EventKind
from groupproof.protocol.rules.classic.classic_states import COMPLETING, DEAD, EMPTY, LIVE, PREPARING, STABLE
from groupproof.protocol.rules.classic.classic_terms import NO_GROUP, ClassicEvent, Effect, Guard, Row
from groupproof.protocol.rules.classic.shared_rows import GROUP_ID, NOT_ACTIVE, SESSION_BOUNDS
from groupproof.protocol.rules.deltas import Change, Delta, gone
from groupproof.protocol.vocabulary import ErrorCode, GroupState

__all__ = ["DELTAS_TO_2_4", "FIRST_ORDER"]

UNKNOWN_MEMBER: Final = ErrorCode.UNKNOWN_MEMBER_ID
REBALANCE_IN_PROGRESS: Final = ErrorCode.REBALANCE_IN_PROGRESS

_NOT_LOADED = Row(
    "not-coordinator", Guard.NOT_LOADED_HERE, ErrorCode.NOT_COORDINATOR, "FIND-08",
    note="a partition counted as led once it was loaded: the answers for a loading one (14, Heartbeat 0) never came (pull request 4788)",
)  # fmt: skip

# Before 2.0 (JOIN-29); only JoinGroup asked for a group id.
FIRST_ORDER: Final[Mapping[EventKind, Cell]] = {
    ClassicEvent.JOIN_GROUP: (NOT_ACTIVE, GROUP_ID, _NOT_LOADED, SESSION_BOUNDS),
    **dict.fromkeys(
        (ClassicEvent.SYNC_GROUP, ClassicEvent.HEARTBEAT, ClassicEvent.LEAVE_GROUP, ClassicEvent.OFFSET_COMMIT, ClassicEvent.OFFSET_FETCH),
        (NOT_ACTIVE, _NOT_LOADED),
    ),
}


def _dead(kind: ClassicEvent, requirement: str) -> Change:
    return Change(kind=kind, states=(DEAD,), rows=(Row("dead", Guard.ALWAYS, UNKNOWN_MEMBER, requirement),))


_NEWCOMERS_TIMED = Delta(
    since=(2, 4, 1),
    change="the 5 minutes of a newcomer hold by JoinGroup v3 and older too (KAFKA-9232); its session no longer runs from the answer to its JoinGroup",
    effects={Effect.ANSWER_JOINS_SPARING_NEWCOMERS: (Effect.ANSWER_JOINS,)},
    part="KAFKA-9232",
    mends="NEWM-02",
)

_COMMITS_CHECK_MEMBERS = Delta(
    since=(2, 4),
    change="OffsetCommit in CompletingRebalance checks member and generation before it answers 27 (KAFKA-8487)",
    was=(
        Change(kind=ClassicEvent.OFFSET_COMMIT, states=(COMPLETING,), rows=(
            Row("fenced", Guard.FENCED, ErrorCode.FENCED_INSTANCE_ID, "STATIC-10"),
            Row("rebalancing", Guard.ALWAYS, REBALANCE_IN_PROGRESS, "COMMIT-04"),
        )),
    ),
    part="KAFKA-8487",
    mends="COMMIT-51",
)  # fmt: skip

_LEAVES_NAME_INSTANCES = Delta(
    since=(2, 4),
    change="LeaveGroup v3 names instances (KIP-345); JoinGroup v6",
    was=(
        *gone(ClassicEvent.LEAVE_ENTRY, (EMPTY, *LIVE), "pending-with-instance"),
        *gone(ClassicEvent.LEAVE_ENTRY, LIVE, "instance-removed", "fenced"),
        *gone(ClassicEvent.JOIN_GROUP, (EMPTY, *LIVE), "pending-with-instance-unsaid"),
    ),
)

_STATIC = Delta(
    since=(2, 3),
    change="static members and 82 (KIP-345); 15 from a Dead group (KAFKA-8386); Heartbeat in CompletingRebalance checks the generation",
    was=(
        *gone(ClassicEvent.JOIN_GROUP, LIVE, "instance-returns", "instance-comes", "unknown-instance", "fenced"),
        *gone(ClassicEvent.JOIN_GROUP, (EMPTY, *LIVE), "pending-with-instance"),
        *(change for kind in (ClassicEvent.SYNC_GROUP, ClassicEvent.HEARTBEAT, ClassicEvent.OFFSET_COMMIT) for change in gone(kind, LIVE, "fenced")),
        *gone(ClassicEvent.JOIN_DEADLINE, (PREPARING,), "only-absent-static"),
        _dead(ClassicEvent.JOIN_GROUP, "TR-140"), _dead(ClassicEvent.SYNC_GROUP, "TR-141"), _dead(ClassicEvent.HEARTBEAT, "HB-02"), _dead(ClassicEvent.LEAVE_GROUP, "TR-143"),
        _dead(ClassicEvent.OFFSET_COMMIT, "COMMIT-01"),
        *gone(ClassicEvent.HEARTBEAT, (COMPLETING,), "other-generation"),
        Change(kind=ClassicEvent.HEARTBEAT, states=(COMPLETING,), name="completing", rows=(Row("completing", Guard.ALWAYS, REBALANCE_IN_PROGRESS, "HB-05"),)),
    ),
    effects={Effect.FORGET_INSTANCE: ()},
)  # fmt: skip

_UNFIT = Row("protocols-unfit", Guard.PROTOCOLS_UNFIT, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "TR-140")
_NO_PENDING = "no id is pending before 2.2 (KIP-394)"

_PENDING = Delta(
    since=(2, 2),
    change="79 and pending ids (KIP-394), group.max.size and 81 (KIP-389); an error answer to JoinGroup carries generation -1, not 0",
    was=(
        *gone(ClassicEvent.JOIN_GROUP, LIVE, "group-full"),
        *gone(ClassicEvent.JOIN_GROUP, (NO_GROUP, EMPTY, *LIVE), "member-id-needed"),
        *gone(ClassicEvent.JOIN_GROUP, (EMPTY, *LIVE), "pending-joins"),
        Change(kind=ClassicEvent.JOIN_GROUP, states=(DEAD,), name="dead", rows=(_UNFIT,), keeps=True),
        *gone(ClassicEvent.LEAVE_ENTRY, (EMPTY, *LIVE), "pending-leaves"),
        Change(kind=ClassicEvent.LEFT, states=(EMPTY,)),
        *gone(ClassicEvent.LEFT, (COMPLETING, STABLE), "only-pending"),
        *gone(ClassicEvent.SESSION_END, LIVE, "pending-ends"),
        Change(kind=ClassicEvent.SESSION_END, states=(EMPTY,)),
        *gone(ClassicEvent.LOADED, (STABLE,), "loaded-oversized"),
    ),
    fields={"join_error_generation": 0},
    unreachable={(ClassicEvent.LEFT, EMPTY): _NO_PENDING, (ClassicEvent.SESSION_END, EMPTY): _NO_PENDING},
)  # fmt: skip

_NEWCOMERS = Delta(
    since=(2, 1, 1),
    change="a newcomer's first JoinGroup is parked for 5 minutes at most, and a parked JoinGroup of a removed member is answered 25 (KAFKA-7610)",
    was=gone(ClassicEvent.SESSION_END, (PREPARING,), "newcomer-waited-too-long"),
    effects={Effect.START_NEWCOMER_TIMER: (), Effect.TELL_REMOVED: ()},
    part="KAFKA-7610",
    mends="NEWM-02",
)

_DROP = (Effect.DROP_EVICTED,)
_FAILED = "removing an evicted member on heartbeat expiration"
_AWAIT = (Effect.AWAIT_JOINS,)


def _evicted_row(effects: tuple[Effect, ...], then: GroupState | None, after: tuple[Effect, ...]) -> tuple[Row, ...]:
    return (Row("evicted-before", Guard.STRANGER, None, "DJOIN-19", effects=effects, then=then, after=after, because=_FAILED if then else ""),)


_EVICTED = Delta(
    since=(2, 0, 1),
    change="who is evicted at the end of a join phase takes its session timer along: it starts no further rebalance (KAFKA-7196)",
    was=(
        Change(kind=ClassicEvent.SESSION_END, states=(EMPTY,), rows=(Row("evicted-before", Guard.ALWAYS, None, "DJOIN-19", effects=_DROP),)),
        Change(kind=ClassicEvent.SESSION_END, states=(PREPARING,), name="parked", rows=_evicted_row(_DROP, None, (Effect.CHECK_ABSENCE,)), keeps=True),
        Change(kind=ClassicEvent.SESSION_END, states=(COMPLETING,), name="parked", rows=_evicted_row((*_DROP, Effect.ABORT_SYNCS), PREPARING, _AWAIT), keeps=True),
        Change(kind=ClassicEvent.SESSION_END, states=(STABLE,), name="session-ends", rows=_evicted_row(_DROP, PREPARING, _AWAIT), keeps=True),
    ),
    effects={Effect.END_UNJOINED_TIMERS: ()},
    part="KAFKA-7196",
    mends="DJOIN-19",
)  # fmt: skip

DELTAS_TO_2_4: Final[tuple[Delta, ...]] = (
    _NEWCOMERS_TIMED,
    _COMMITS_CHECK_MEMBERS,
    _LEAVES_NAME_INSTANCES,
    _STATIC,
    _PENDING,
    _NEWCOMERS,
    _EVICTED,
    Delta(
        since=(2, 0),
        change="the group id is checked first and by every membership request, and loading before leadership (pull requests 4788, 4851)",
        before_group=FIRST_ORDER,
    ),
)
