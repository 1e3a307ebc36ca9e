"""The classic group in the newest release (Apache Kafka 4.1, the Java coordinator): an answer for every event in every state.

A cell is an ordered list of rows. The first row whose guard holds is the rule. A cell ends in an unconditional row, or is in `UNREACHABLE` with the
reason. `releases.py` has the rules of older brokers. Where a measured broker contradicts the catalogue, the row follows the broker, and its note says
so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from groupproof.protocol.rules.cells import Cell, Cells, EventKind, Place
from groupproof.protocol.rules.classic.admin_table import ADMIN, ADMIN_BEFORE_GROUP, UNREACHABLE_ADMIN
from groupproof.protocol.rules.classic.classic_states import COMPLETING, DEAD, EMPTY, PREPARING, STABLE
from groupproof.protocol.rules.classic.classic_terms import NO_GROUP, ClassicEvent, Effect, Form, Guard, Row, State
from groupproof.protocol.rules.classic.offsets_table import OFFSETS, OFFSETS_BEFORE_GROUP, UNREACHABLE_OFFSETS
from groupproof.protocol.rules.classic.shared_rows import (
    GROUP_ID,
    LED_ELSEWHERE,
    LED_ELSEWHERE_BLANK,
    LOADING,
    LOADING_BLANK,
    NOT_ACTIVE,
    SESSION_BOUNDS,
    UNNAMED,
)
from groupproof.protocol.rules.classic.timers_table import CONSEQUENCES, TIMERS, UNREACHABLE_TIMERS
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["BEFORE_GROUP", "TABLE", "UNREACHABLE"]

NONE: Final = ErrorCode.NONE
LOAD_IN_PROGRESS: Final = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
NOT_AVAILABLE: Final = ErrorCode.COORDINATOR_NOT_AVAILABLE
NOT_COORDINATOR: Final = ErrorCode.NOT_COORDINATOR
ILLEGAL_GENERATION: Final = ErrorCode.ILLEGAL_GENERATION
INCONSISTENT_PROTOCOL: Final = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
INVALID_GROUP_ID: Final = ErrorCode.INVALID_GROUP_ID
UNKNOWN_MEMBER: Final = ErrorCode.UNKNOWN_MEMBER_ID
REBALANCE_IN_PROGRESS: Final = ErrorCode.REBALANCE_IN_PROGRESS
FENCED: Final = ErrorCode.FENCED_INSTANCE_ID

MEASURED: Final = "measured on 4.1.0"
READ: Final = "read in GroupMetadataManager 4.1"


_UNNAMED = (Effect.BLANK_MEMBER_ID,)

# Checked before the group is looked up. When none holds, the group's state decides.
BEFORE_GROUP: Final[Mapping[EventKind, Cell]] = {
    ClassicEvent.JOIN_GROUP: (NOT_ACTIVE, GROUP_ID, SESSION_BOUNDS, LOADING_BLANK, LED_ELSEWHERE_BLANK),
    ClassicEvent.SYNC_GROUP: (
        UNNAMED, NOT_ACTIVE, GROUP_ID,
        Row("loading", Guard.LOADING, LOAD_IN_PROGRESS, "SYNC-22", note=f"{READ}: the Java coordinator lost the 27 of 2.0 to 4.0"),
        LED_ELSEWHERE,
    ),
    ClassicEvent.HEARTBEAT: (NOT_ACTIVE, GROUP_ID, Row("loading", Guard.LOADING, NONE, "FIND-10"), LED_ELSEWHERE),
    ClassicEvent.LEAVE_GROUP: (NOT_ACTIVE, GROUP_ID, LOADING, LED_ELSEWHERE),
    ClassicEvent.OFFSET_COMMIT: (NOT_ACTIVE, LOADING, LED_ELSEWHERE),  # the empty group id is allowed
    ClassicEvent.OFFSET_FETCH: (NOT_ACTIVE, LOADING, LED_ELSEWHERE),
    **OFFSETS_BEFORE_GROUP,
    **ADMIN_BEFORE_GROUP,
}  # fmt: skip


def _identity(stranger: str) -> tuple[Row, ...]:
    """Return Kafka's `validateMember`. `stranger` is the requirement of its last check."""
    return (
        Row("unknown-instance", Guard.INSTANCE_UNKNOWN, UNKNOWN_MEMBER, "STATIC-11", note="3.0: on every API, not on JoinGroup alone"),
        Row("fenced", Guard.FENCED, FENCED, "STATIC-10"),
        Row("stranger", Guard.STRANGER, UNKNOWN_MEMBER, stranger),
    )


def _membership(requirement: str) -> tuple[Row, ...]:
    """Return the checks of the member and of the generation."""
    return (*_identity(requirement), Row("other-generation", Guard.OTHER_GENERATION, ILLEGAL_GENERATION, requirement))


# JoinGroup -----------------------------------------------------------------------------------------------------------------------

_JOINING = "adding new member"
_FULL = Row("group-full", Guard.GROUP_IS_FULL, ErrorCode.GROUP_MAX_SIZE_REACHED, "JOIN-56", effects=(Effect.REJECT,))
_WITH_INSTANCE = Row(
    "pending-with-instance",
    Guard.PENDING_WITH_INSTANCE,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    "PEND-12",
    effects=(Effect.BLANK_MEMBER_ID,),
    note=f"{READ}: an IllegalStateException",
)


def _unfit(requirement: str) -> Row:
    return Row("protocols-unfit", Guard.PROTOCOLS_UNFIT, INCONSISTENT_PROTOCOL, requirement)


def _id_needed(requirement: str, *effects: Effect) -> Row:
    error = ErrorCode.MEMBER_ID_REQUIRED
    return Row("member-id-needed", Guard.MEMBER_ID_NEEDED, error, requirement, effects=(*effects, Effect.GIVE_MEMBER_ID))


def _newcomers(requirement: str, id_needed: str, effects: tuple[Effect, ...], after: tuple[Effect, ...], pending: str = "") -> tuple[Row, ...]:
    """Return the rows that admit a member: a new static one, a dynamic one, one with a pending id. They begin a rebalance or extend one."""
    then = None if effects == () else PREPARING
    doing = (*_ADMIT, *effects)
    return (
        Row("instance-comes", Guard.INSTANCE_COMES, None, requirement, effects=doing, then=then, after=after, because=_JOINING),
        _id_needed(id_needed),
        Row("newcomer", Guard.NO_MEMBER_ID, None, requirement, effects=doing, then=then, after=after, because=_JOINING),
        _WITH_INSTANCE,
        Row("pending-joins", Guard.PENDING, None, pending or requirement, effects=doing, then=then, after=after, because=_JOINING),
    )


_ADMIT = (Effect.ADMIT, Effect.START_NEWCOMER_TIMER)
_REPLACE = (Effect.REPLACE_INSTANCE, Effect.END_NEWCOMER, Effect.TAKE_TIMEOUTS)
_UPDATE = (Effect.UPDATE, Effect.TAKE_TIMEOUTS)
_ABORT = (Effect.ABORT_SYNCS,)
_END_SYNC = (Effect.END_SYNC_DEADLINE,)
_AWAIT = (Effect.AWAIT_JOINS,)
_REJOIN = (*_UPDATE, Effect.END_SYNC_DEADLINE)
_FIRST_JOIN = (Effect.CREATE_GROUP, Effect.STORE_GROUP, *_ADMIT)
_REPLACED = "KAFKA-9801 (2.5)"
_SELECTED = "KAFKA-10284 (2.6.1, 2.7): the group is stored; a rebalance only if the protocol with most votes changes"

_JOIN: Final[Mapping[State, tuple[Row, ...]]] = {
    NO_GROUP: (
        Row("stranger", Guard.HAS_MEMBER_ID, UNKNOWN_MEMBER, "TR-002"),
        replace(_unfit("JOIN-10"), effects=(Effect.CREATE_GROUP, Effect.STORE_GROUP), note=f"{READ}: the group stays, Empty"),
        Row("not-appended", Guard.NOT_APPENDED, Form.NOT_APPENDED, "TR-001", note=f"{READ}: a new group is written down before anyone is answered"),
        _id_needed("TR-003", Effect.CREATE_GROUP, Effect.STORE_GROUP),
        Row(
            "first-member", Guard.ALWAYS, None, "TR-001",
            effects=_FIRST_JOIN, then=PREPARING, after=(Effect.START_INITIAL_DELAY,), because=_JOINING,
        ),
    ),
    EMPTY: (
        _unfit("TR-025"),
        _id_needed("TR-022"),
        Row("newcomer", Guard.NO_MEMBER_ID, None, "TR-020",
            effects=_ADMIT, then=PREPARING, after=(Effect.START_INITIAL_DELAY,), because=_JOINING),
        _WITH_INSTANCE,
        Row("pending-joins", Guard.PENDING, None, "TR-023",
            effects=_ADMIT, then=PREPARING, after=(Effect.START_INITIAL_DELAY,), because=_JOINING),
        Row("stranger", Guard.ALWAYS, UNKNOWN_MEMBER, "TR-024"),
    ),
    PREPARING: (
        _FULL,
        _unfit("TR-043"),
        Row("instance-returns", Guard.INSTANCE_NAMED, None, "TR-044",
            effects=(*_REPLACE, Effect.PARK_JOIN), after=(Effect.CHECK_JOINS,)),
        *_newcomers("TR-040", "TR-045", (), (Effect.CHECK_JOINS,)),
        *_identity("TR-042"),
        Row("member-joins", Guard.ALWAYS, None, "TR-041", effects=_UPDATE, after=(Effect.CHECK_JOINS,)),
    ),
    COMPLETING: (
        _FULL,
        _unfit("JOIN-09"),
        Row("instance-returns", Guard.INSTANCE_NAMED, None, "TR-089",
            effects=(*_REPLACE, Effect.PARK_JOIN, Effect.ABORT_SYNCS),
            then=PREPARING, after=_AWAIT, because="static member returned with a new id", note=_REPLACED),
        *_newcomers("TR-088", "PEND-01", _ABORT, _AWAIT),
        *_identity("JOIN-11"),
        Row("joins-again-unchanged", Guard.METADATA_SAME, Form.CURRENT_GENERATION, "TR-086"),
        Row("metadata-changed", Guard.ALWAYS, None, "TR-087", effects=(*_UPDATE, Effect.ABORT_SYNCS),
            then=PREPARING, after=_AWAIT, because="updating metadata of member"),
    ),
    STABLE: (
        _FULL,
        _unfit("TR-114"),
        Row("not-appended", Guard.INSTANCE_RETURNS_NOT_APPENDED, Form.OLD_LEADER_NOT_APPENDED, "TR-115", note=f"nothing is changed; {_SELECTED}"),
        Row("instance-returns-skipping", Guard.INSTANCE_RETURNS_SKIPPING, Form.SKIP_ASSIGNMENT, "TR-115",
            effects=(*_REPLACE, Effect.STORE_GROUP), note=f"KIP-814 (3.2); {_SELECTED}"),
        Row("instance-returns", Guard.INSTANCE_RETURNS_UNCHANGED, Form.OLD_LEADER, "TR-115",
            effects=(*_REPLACE, Effect.STORE_GROUP), note=_SELECTED),
        Row("instance-returns-changed", Guard.INSTANCE_NAMED, None, "TR-115",
            effects=(*_REPLACE, Effect.PARK_JOIN, Effect.END_SYNC_DEADLINE),
            then=PREPARING, after=_AWAIT, because="static member changed the group's protocol", note=_SELECTED),
        *_newcomers("TR-110", "PEND-01", _END_SYNC, _AWAIT),
        *_identity("TR-114"),
        Row("leader-rejoins", Guard.LEADER, None, "TR-111", effects=_REJOIN, then=PREPARING, after=_AWAIT, because="leader rejoined"),
        Row("joins-again-unchanged", Guard.METADATA_SAME, Form.CURRENT_GENERATION, "TR-113"),
        Row("metadata-changed", Guard.ALWAYS, None, "TR-112", effects=_REJOIN, then=PREPARING, after=_AWAIT, because="updating metadata of member"),
    ),
    DEAD: (Row("dead", Guard.ALWAYS, NOT_AVAILABLE, "TR-140"),),
}  # fmt: skip

# SyncGroup -----------------------------------------------------------------------------------------------------------------------


def _syncing(requirement: str) -> tuple[Row, ...]:
    return (*_membership(requirement), Row("protocol-differs", Guard.PROTOCOL_DIFFERS, INCONSISTENT_PROTOCOL, "SYNC-51", note="KIP-559"))


_SYNC: Final[Mapping[State, tuple[Row, ...]]] = {
    NO_GROUP: (Row("stranger", Guard.ALWAYS, UNKNOWN_MEMBER, "TR-004"),),
    EMPTY: (Row("stranger", Guard.ALWAYS, UNKNOWN_MEMBER, "TR-026"),),
    PREPARING: (*_syncing("TR-055"), Row("rebalancing", Guard.ALWAYS, REBALANCE_IN_PROGRESS, "TR-054")),
    COMPLETING: (
        *_syncing("TR-085"),
        Row("leader-syncs", Guard.LEADER, None, "TR-081", effects=(Effect.PARK_SYNC, Effect.MARK_SYNCED), after=(Effect.STORE_ASSIGNMENT,)),
        Row("follower-syncs", Guard.ALWAYS, None, "TR-080", effects=(Effect.PARK_SYNC, Effect.MARK_SYNCED)),
    ),
    STABLE: (
        *_syncing("TR-117"),
        Row("syncs-again", Guard.ALWAYS, Form.OWN_ASSIGNMENT, "TR-116", effects=(Effect.MARK_SYNCED,),
            note=f"{MEASURED}: the session is not refreshed (SYNC-14 is the older rule)"),
    ),
    DEAD: (Row("dead", Guard.ALWAYS, NOT_AVAILABLE, "TR-141"),),
}  # fmt: skip

# Heartbeat -----------------------------------------------------------------------------------------------------------------------

_HEARTBEAT: Final[Mapping[State, tuple[Row, ...]]] = {
    NO_GROUP: (Row("stranger", Guard.ALWAYS, UNKNOWN_MEMBER, "TR-004"),),
    EMPTY: (Row("stranger", Guard.ALWAYS, UNKNOWN_MEMBER, "TR-027"),),
    PREPARING: (
        *_membership("TR-057"),
        Row("rebalancing", Guard.ALWAYS, REBALANCE_IN_PROGRESS, "TR-056", effects=(Effect.REFRESH_SESSION,)),
    ),
    COMPLETING: (
        *_membership("TR-091"),
        Row("completing", Guard.ALWAYS, NONE, "TR-090", effects=(Effect.REFRESH_SESSION,),
            note=f"KAFKA-10134 (2.6.1, 2.7); {MEASURED}: 0, session refreshed (HB-06, HB-52 are the older rule)"),
    ),
    STABLE: (*_membership("TR-119"), Row("alive", Guard.ALWAYS, NONE, "TR-118", effects=(Effect.REFRESH_SESSION,))),
    DEAD: (Row("dead", Guard.ALWAYS, NOT_AVAILABLE, "TR-142"),),
}  # fmt: skip

# LeaveGroup ----------------------------------------------------------------------------------------------------------------------

_EACH_ENTRY = Row("each-entry", Guard.ALWAYS, Form.EACH_ENTRY, "LEAVE-51", effects=(Effect.LEAVE_EACH,))

_LEAVE: Final[Mapping[State, tuple[Row, ...]]] = {
    NO_GROUP: (Row("each-entry", Guard.ALWAYS, Form.EACH_ENTRY, "TR-005", effects=(Effect.LEAVE_EACH,)),),
    **dict.fromkeys((EMPTY, PREPARING, COMPLETING, STABLE), (_EACH_ENTRY,)),
    DEAD: (Row("dead", Guard.ALWAYS, NOT_AVAILABLE, "TR-143"),),
}


_REMOVE = (Effect.TELL_REMOVED, Effect.REMOVE)


def _leaving(requirement: str) -> tuple[Row, ...]:
    return (
        Row("instance-removed", Guard.INSTANCE_NAMED, NONE, "LEAVE-53", effects=_REMOVE),
        Row("nobody-named", Guard.NO_MEMBER_ID, UNKNOWN_MEMBER, "LEAVE-51"),
        Row("pending-leaves", Guard.PENDING, NONE, "PEND-07", effects=(Effect.DROP_PENDING,)),
        *_identity("LEAVE-51"),
        Row("member-leaves", Guard.ALWAYS, NONE, requirement, effects=_REMOVE),
    )


_LEAVE_ENTRY: Final[Mapping[State, tuple[Row, ...]]] = {
    NO_GROUP: (Row("stranger", Guard.ALWAYS, UNKNOWN_MEMBER, "TR-005"),),
    EMPTY: (
        Row("pending-leaves", Guard.PENDING, NONE, "TR-028", effects=(Effect.DROP_PENDING,)),
        Row("stranger", Guard.ALWAYS, UNKNOWN_MEMBER, "TR-028"),
    ),
    PREPARING: _leaving("TR-061"),
    COMPLETING: _leaving("TR-094"),
    STABLE: _leaving("TR-122"),
}

_LEFT_BECAUSE = "explicit LeaveGroup request"
_LEFT: Final[Mapping[State, tuple[Row, ...]]] = {
    EMPTY: (Row("empty", Guard.ALWAYS, None, "LEAVE-05"),),
    PREPARING: (Row("preparing", Guard.ALWAYS, None, "LEAVE-04", after=(Effect.CHECK_JOINS,)),),
    COMPLETING: (
        Row("completing", Guard.ALWAYS, None, "LEAVE-06", effects=_ABORT, then=PREPARING, after=_AWAIT, because=_LEFT_BECAUSE),
    ),
    STABLE: (
        Row("stable", Guard.ALWAYS, None, "LEAVE-03", effects=_END_SYNC, then=PREPARING, after=_AWAIT, because=_LEFT_BECAUSE,
            note=f"{MEASURED}: also when only a pending id left"),
    ),
}  # fmt: skip

# OffsetCommit and OffsetFetch ------------------------------------------------------------------------------------------------------


def _committing(requirement: str) -> tuple[Row, ...]:
    return (Row("names-nobody", Guard.NAMES_NOBODY, UNKNOWN_MEMBER, "COMMIT-11"), *_membership(requirement))


_COMMIT: Final[Mapping[State, tuple[Row, ...]]] = {
    NO_GROUP: (
        Row("first-commit", Guard.GENERATION_NEGATIVE, Form.COMMITTED, "TR-006", effects=(Effect.CREATE_GROUP, Effect.STORE_OFFSETS)),
        Row("no-group", Guard.VERSION_9, ErrorCode.GROUP_ID_NOT_FOUND, "TR-007", note="KIP-848: 69 from OffsetCommit v9"),
        Row("other-generation", Guard.ALWAYS, ILLEGAL_GENERATION, "TR-007"),
    ),
    EMPTY: (
        Row("no-membership", Guard.GENERATION_NEGATIVE, Form.COMMITTED, "TR-029", effects=(Effect.STORE_OFFSETS,)),
        Row("stranger", Guard.ALWAYS, UNKNOWN_MEMBER, "TR-030"),
    ),
    PREPARING: (
        *_committing("TR-065"),
        Row("commits", Guard.ALWAYS, Form.COMMITTED, "TR-064", effects=(Effect.REFRESH_SESSION, Effect.STORE_OFFSETS)),
    ),
    COMPLETING: (*_committing("TR-096"), Row("rebalancing", Guard.ALWAYS, REBALANCE_IN_PROGRESS, "TR-096")),
    STABLE: (
        *_committing("TR-124"),
        Row("commits", Guard.ALWAYS, Form.COMMITTED, "TR-123", effects=(Effect.REFRESH_SESSION, Effect.STORE_OFFSETS)),
    ),
    DEAD: (Row("dead", Guard.ALWAYS, NOT_AVAILABLE, "TR-144"),),
}

_FETCH: Final[Mapping[State, tuple[Row, ...]]] = {
    NO_GROUP: (Row("no-group", Guard.ALWAYS, Form.NO_OFFSETS, "TR-008"),),
    EMPTY: (Row("fetches", Guard.ALWAYS, Form.STORED_OFFSETS, "TR-031"),),
    PREPARING: (Row("fetches", Guard.ALWAYS, Form.STORED_OFFSETS, "TR-066"),),
    COMPLETING: (Row("fetches", Guard.ALWAYS, Form.STORED_OFFSETS, "TR-097"),),
    STABLE: (Row("fetches", Guard.ALWAYS, Form.STORED_OFFSETS, "TR-125"),),
    DEAD: (Row("dead", Guard.ALWAYS, Form.NO_OFFSETS, "TR-145"),),
}

TABLE: Final[Cells] = {
    ClassicEvent.JOIN_GROUP: _JOIN,
    ClassicEvent.SYNC_GROUP: _SYNC,
    ClassicEvent.HEARTBEAT: _HEARTBEAT,
    ClassicEvent.LEAVE_GROUP: _LEAVE,
    ClassicEvent.LEAVE_ENTRY: _LEAVE_ENTRY,
    ClassicEvent.LEFT: _LEFT,
    ClassicEvent.OFFSET_COMMIT: _COMMIT,
    ClassicEvent.OFFSET_FETCH: _FETCH,
    **OFFSETS,
    **ADMIN,
    **TIMERS,
    **CONSEQUENCES,
}

UNREACHABLE: Final[Mapping[Place, str]] = {
    (ClassicEvent.LEAVE_ENTRY, DEAD): "a Dead group answers the whole LeaveGroup",
    (ClassicEvent.LEFT, NO_GROUP): "where there is no group nobody was removed",
    (ClassicEvent.LEFT, DEAD): "a Dead group answers the whole LeaveGroup",
    **UNREACHABLE_OFFSETS,
    **UNREACHABLE_ADMIN,
    **UNREACHABLE_TIMERS,
}
