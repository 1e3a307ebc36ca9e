"""The changes of the releases since 2.5: the Java coordinator, timeouts, instances and the sync deadline. Read at the release tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.protocol.rules.cells import Cell, EventKind
from groupproof.protocol.rules.classic.classic_states import COMPLETING, EMPTY, LIVE, PREPARING, STABLE
from groupproof.protocol.rules.classic.classic_terms import NO_GROUP, ClassicEvent, Effect, Form, Guard, Row
from groupproof.protocol.rules.classic.shared_rows import GROUP_ID, LED_ELSEWHERE, NOT_ACTIVE, SESSION_BOUNDS, UNNAMED
from groupproof.protocol.rules.deltas import Change, CoordinatorKind, Delta, gone
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["DELTAS_SINCE_2_5", "SCALA_ORDER"]


def _loading(answer: ErrorCode, requirement: str = "FIND-10", note: str = "") -> Row:
    return Row("loading", Guard.LOADING, answer, requirement, note=note)


# `validateGroupStatus` of the Scala coordinator, from 2.0 on (JOIN-55). The offset APIs allow the empty group id.
SCALA_ORDER: Final[Mapping[EventKind, Cell]] = {
    ClassicEvent.JOIN_GROUP: (GROUP_ID, NOT_ACTIVE, _loading(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), LED_ELSEWHERE, SESSION_BOUNDS),
    ClassicEvent.SYNC_GROUP: (
        UNNAMED,
        GROUP_ID,
        NOT_ACTIVE,
        _loading(ErrorCode.REBALANCE_IN_PROGRESS, "SYNC-22", "older clients do not expect 14"),
        LED_ELSEWHERE,
    ),
    ClassicEvent.HEARTBEAT: (GROUP_ID, NOT_ACTIVE, _loading(ErrorCode.NONE), LED_ELSEWHERE),
    ClassicEvent.LEAVE_GROUP: (GROUP_ID, NOT_ACTIVE, _loading(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), LED_ELSEWHERE),
}

_FULL = Row("group-full", Guard.GROUP_IS_FULL, ErrorCode.GROUP_MAX_SIZE_REACHED, "JOIN-56", effects=(Effect.REJECT,), after=(Effect.CHECK_JOINS,))
_PENDING_LEFT = Row("only-pending", Guard.ONLY_PENDING_LEFT, None, "PEND-07")
_INITIAL_DELAY = Row("initial-delay", Guard.INITIAL_DELAY_RUNS, None, "IDJ-02")

_UNSAID = Row(
    "pending-with-instance-unsaid", Guard.PENDING_WITH_INSTANCE_UNSAID, None, "PEND-12",
    note="JoinGroupRequest.getErrorResponse of 2.4 knows v0 to v5: the exception's own answer fails, and none is sent",
)  # fmt: skip

_JAVA = Delta(
    since=(4, 0),
    line=CoordinatorKind.SCALA,
    change="the coordinator in Java: its order of checks, 14 to a SyncGroup while loading, 69 to OffsetCommit v9 of a missing group (KIP-848), "
    "a rebalance also when only a pending id leaves, an initial delay that newcomers extend at any generation and that ends with the last "
    "absentee, no refreshed session by a SyncGroup in Stable, a record of a new group",
    was=(
        *gone(ClassicEvent.OFFSET_COMMIT, (NO_GROUP,), "no-group"),
        Change(kind=ClassicEvent.LEFT, states=(STABLE,), name="stable", rows=(_PENDING_LEFT,), keeps=True),
        Change(kind=ClassicEvent.LEFT, states=(COMPLETING,), name="completing", rows=(_PENDING_LEFT,), keeps=True),
        Change(kind=ClassicEvent.ABSENCE_CHECK, states=(PREPARING,), name="joins-missing", rows=(_INITIAL_DELAY,), keeps=True),
        Change(kind=ClassicEvent.SYNC_GROUP, states=(STABLE,), name="syncs-again", rows=(
            Row("syncs-again", Guard.ALWAYS, Form.OWN_ASSIGNMENT, "TR-116", effects=(Effect.MARK_SYNCED, Effect.REFRESH_SESSION)),
        )),
        Change(kind=ClassicEvent.JOIN_GROUP, states=(NO_GROUP,), effects={Effect.STORE_GROUP: ()}),
        *gone(ClassicEvent.INITIAL_DELAY_END, (PREPARING,), "only-absent-static"),
        Change(kind=ClassicEvent.JOIN_GROUP, states=(PREPARING,), name="group-full", rows=(_FULL,)),
    ),
    guards={Guard.NEWCOMER_AND_TIME_LEFT: Guard.NEWCOMER_AT_FIRST_AND_TIME_LEFT},
    before_group=SCALA_ORDER,
)  # fmt: skip

_LEAVES = Delta(
    since=(4, 0),
    line=CoordinatorKind.SCALA,
    change="the coordinator in Java: one rebalance for all who leave together",
    effects={Effect.LEAVE_EACH: (Effect.LEAVE_ONE_BY_ONE,)},
    part="leaves one by one",
)

_RETURNED_NEWCOMERS = Delta(
    since=(4, 0),
    line=CoordinatorKind.SCALA,
    change="the coordinator in Java: a returned instance that is no newcomer",
    effects={Effect.END_NEWCOMER: ()},
    part="returned newcomers",
)

_EMPTY_COMMITS = Delta(
    since=(3, 3),
    change="a commit without a generation to an Empty group may name a member or an instance (`validateOffsetCommit`; 3.0 to 3.2 looked for both)",
    was=(
        Change(kind=ClassicEvent.OFFSET_COMMIT, states=(EMPTY,), name="no-membership", rows=(
            Row("no-membership", Guard.NAMES_NOBODY, Form.COMMITTED, "TR-029", effects=(Effect.STORE_OFFSETS,)),
        )),
        Change(kind=ClassicEvent.OFFSET_COMMIT, states=(NO_GROUP,), name="first-commit", rows=(
            Row("first-commit", Guard.NAMES_NOBODY, Form.COMMITTED, "TR-006", effects=(Effect.CREATE_GROUP, Effect.STORE_OFFSETS)),
            Row("stranger", Guard.GENERATION_NEGATIVE, ErrorCode.UNKNOWN_MEMBER_ID, "TR-030", effects=(Effect.CREATE_GROUP,),
                note="the group is made before the request is checked"),
        )),
    ),
)  # fmt: skip

# Before 3.0, where only live groups check the member.
_ANY_EMPTY_COMMITS = (
    Change(kind=ClassicEvent.OFFSET_COMMIT, states=(EMPTY,), name="no-membership", rows=(
        Row("no-membership", Guard.GENERATION_NEGATIVE, Form.COMMITTED, "TR-029", effects=(Effect.STORE_OFFSETS,)),
    )),
    *gone(ClassicEvent.OFFSET_COMMIT, (NO_GROUP,), "stranger"),
    Change(kind=ClassicEvent.OFFSET_COMMIT, states=(NO_GROUP,), name="first-commit", rows=(
        Row("first-commit", Guard.GENERATION_NEGATIVE, Form.COMMITTED, "TR-006", effects=(Effect.CREATE_GROUP, Effect.STORE_OFFSETS)),
    )),
)  # fmt: skip

_FENCED_LEAVES = Row("fenced", Guard.FENCED, ErrorCode.FENCED_INSTANCE_ID, "STATIC-10")
_PENDING_LEAVES = Row("pending-leaves", Guard.PENDING, ErrorCode.NONE, "PEND-07", effects=(Effect.DROP_PENDING,))
_PENDING_FAILS = Row(
    "pending-with-instance", Guard.PENDING_WITH_INSTANCE, ErrorCode.UNKNOWN_SERVER_ERROR, "PEND-12",
    note="handleLeaveGroup throws: -1 for the whole LeaveGroup; who was named before has left, the rest are not looked at",
)  # fmt: skip

_INSTANCES = Delta(
    since=(3, 0),
    change="a pending id leaves whatever instance it names, which was -1 before (pull request 9958); a commit without a generation to an Empty group must name nobody",
    was=(
        *_ANY_EMPTY_COMMITS,
        *gone(ClassicEvent.LEAVE_ENTRY, LIVE, "fenced"),
        Change(kind=ClassicEvent.LEAVE_ENTRY, states=LIVE, name="pending-leaves", rows=(_FENCED_LEAVES, _PENDING_FAILS, _PENDING_LEAVES)),
        Change(kind=ClassicEvent.LEAVE_ENTRY, states=(EMPTY,), name="pending-leaves", rows=(_PENDING_FAILS,), keeps=True),
    ),
)  # fmt: skip

_UNKNOWN_INSTANCES = Delta(
    since=(3, 0),
    change="an unknown group instance id is 25 on Heartbeat, SyncGroup, OffsetCommit and LeaveGroup too (pull request 9958)",
    was=tuple(
        change
        for kind in (ClassicEvent.HEARTBEAT, ClassicEvent.SYNC_GROUP, ClassicEvent.OFFSET_COMMIT, ClassicEvent.LEAVE_ENTRY)
        for change in gone(kind, LIVE, "unknown-instance")
    ),
    part="pull request 9958",
    mends="STATIC-11",
)

_PENDING_REFUSED = Delta(
    since=(3, 0),
    change="a pending id that is turned away from a full group is forgotten (GroupMetadata.remove), where the phase waited for it before",
    effects={Effect.REJECT: (Effect.REJECT_MEMBER,)},
    part="refused pending ids",
    mends="JOIN-56",
)

_SYNC_DEADLINE = Delta(
    since=(2, 8, 1),
    change="the wait for SyncGroup is bounded (KAFKA-12890)",
    was=(Change(kind=ClassicEvent.SYNC_DEADLINE, states=(COMPLETING, STABLE)),),
    effects={Effect.START_SYNC_DEADLINE: (), Effect.MARK_SYNCED: (), Effect.END_SYNC_DEADLINE: ()},
    unreachable=dict.fromkeys(
        ((ClassicEvent.SYNC_DEADLINE, COMPLETING), (ClassicEvent.SYNC_DEADLINE, STABLE)), "the wait for SyncGroup has no end of its own (SYNC-16)"
    ),
    part="KAFKA-12890",
    mends="SYNC-16",
)

_RETURNS = Row("instance-returns", Guard.INSTANCE_NAMED, Form.OLD_LEADER, "TR-115", effects=(Effect.REPLACE_INSTANCE,))

_SUBSCRIPTIONS = tuple(
    change
    for kind in (ClassicEvent.INITIAL_DELAY_END, ClassicEvent.JOIN_DEADLINE, ClassicEvent.JOIN_CHECK, ClassicEvent.ABSENCE_CHECK)
    for change in gone(kind, (PREPARING,), "subscription-breaks")
)

DELTAS_SINCE_2_5: Final[tuple[Delta, ...]] = (
    _JAVA,
    _LEAVES,
    _RETURNED_NEWCOMERS,
    Delta(
        since=(3, 3, 2),
        change="a member that joins again gives new timeouts (KAFKA-14009)",
        effects={Effect.TAKE_TIMEOUTS: ()},
        part="KAFKA-14009",
        mends="HB-11",
    ),
    Delta(
        since=(3, 3, 2),
        change="leaders by JoinGroup v4 and older can be told of static members (KAFKA-14422)",
        fields={"join_lists_instances_since": 5},
    ),
    _EMPTY_COMMITS,
    Delta(
        since=(3, 2),
        change="a leader that is static and returns skips the assignment: JoinGroup v9 (KIP-814)",
        was=gone(ClassicEvent.JOIN_GROUP, (STABLE,), "instance-returns-skipping"),
    ),
    _INSTANCES,
    _UNKNOWN_INSTANCES,
    _PENDING_REFUSED,
    _SYNC_DEADLINE,
    Delta(
        since=(2, 8),
        change="a full group turns an instance away without forgetting whose it is (GroupMetadata.remove)",
        effects={Effect.REJECT_MEMBER: (Effect.REJECT_MEMBER, Effect.FORGET_INSTANCE)},
        part="refused instances",
        mends="JOIN-56",
    ),
    Delta(
        since=(2, 7),
        change="subscriptions are read by generated code, which fails on lengths without sense (KAFKA-10497)",
        was=_SUBSCRIPTIONS,
        part="KAFKA-10497",
    ),
    Delta(
        since=(2, 6, 1),
        change="a Heartbeat in CompletingRebalance is answered 0 and refreshes the session (KAFKA-10134)",
        was=(
            Change(kind=ClassicEvent.HEARTBEAT, states=(COMPLETING,), name="completing", rows=(
                Row("completing", Guard.ALWAYS, ErrorCode.REBALANCE_IN_PROGRESS, "HB-52"),
            )),
        ),
        part="KAFKA-10134",
        mends="TR-090",
    ),
    Delta(
        since=(2, 6, 1),
        change="a returned instance is stored, and starts a rebalance if it changes the protocol with most votes (KAFKA-10284)",
        was=(
            Change(kind=ClassicEvent.JOIN_GROUP, states=(STABLE,), name="instance-returns", rows=(_RETURNS,)),
            *gone(ClassicEvent.JOIN_GROUP, (STABLE,), "instance-returns-changed"),
        ),
        part="KAFKA-10284",
        mends="TR-115",
    ),
    Delta(
        since=(2, 6),
        change="while a group prepares it is full by those who joined (KAFKA-9885)",
        guards={Guard.GROUP_IS_FULL: Guard.GROUP_IS_FULL_BY_SIZE},
        part="KAFKA-9885",
        mends="JOIN-56",
    ),
    Delta(
        since=(2, 5),
        change="an instance that returns in CompletingRebalance starts a rebalance (KAFKA-9801)",
        was=(
            Change(kind=ClassicEvent.JOIN_GROUP, states=(COMPLETING,), name="instance-returns", rows=(
                Row("instance-returns", Guard.INSTANCE_NAMED, Form.OLD_LEADER, "TR-089", effects=(Effect.REPLACE_INSTANCE,)),
            )),
        ),
        part="KAFKA-9801",
        mends="STATIC-07",
    ),
    Delta(
        since=(2, 5),
        change="a newcomer's session runs from the answer to its JoinGroup, not from that to its SyncGroup, and from a Heartbeat while that is parked, "
        "which kept it alive for good before (MemberMetadata.shouldKeepAlive; KAFKA-9752)",
        effects={
            Effect.ANSWER_JOINS: (Effect.ANSWER_JOINS_SPARING_NEWCOMERS,),
            Effect.REFRESH_SESSION: (Effect.REFRESH_SESSION_SPARING_NEWCOMERS,),
        },
        part="KAFKA-9752",
        mends="NEWM-04",
    ),
    Delta(
        since=(2, 5),
        change="protocol type and name in SyncGroup v5 (KIP-559); JoinGroup v6 can be answered with an error of the server",
        was=(
            *gone(ClassicEvent.SYNC_GROUP, LIVE, "protocol-differs"),
            Change(kind=ClassicEvent.JOIN_GROUP, states=(EMPTY, *LIVE), name="pending-with-instance", rows=(_UNSAID,), keeps=True),
        ),
        fields={"join_lists_instances_since": 0},
        before_group={ClassicEvent.SYNC_GROUP: tuple(row for row in SCALA_ORDER[ClassicEvent.SYNC_GROUP] if row is not UNNAMED)},
    ),
)  # fmt: skip
