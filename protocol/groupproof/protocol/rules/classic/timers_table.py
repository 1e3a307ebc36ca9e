"""The classic group's timers, and the events that follow from other events: the second half of the table in `group_table.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.protocol.rules.cells import Cells, Place
from groupproof.protocol.rules.classic.classic_states import COMPLETING, DEAD, EMPTY, PREPARING, STABLE
from groupproof.protocol.rules.classic.classic_terms import NO_GROUP, ClassicEvent, Effect, Guard, Row, State

__all__ = ["CONSEQUENCES", "TIMERS", "UNREACHABLE_TIMERS"]

_AWAIT = (Effect.AWAIT_JOINS,)
_REMOVE = (Effect.TELL_REMOVED, Effect.REMOVE)
_ANSWER = (Effect.ANSWER_JOINS, Effect.START_SYNC_DEADLINE)
_CHECK_ABSENCE = (Effect.CHECK_ABSENCE,)
_EVICT = (Effect.END_UNJOINED_TIMERS, Effect.EVICT_UNJOINED)
_COMPLETE = (*_EVICT, Effect.NEXT_GENERATION)
_COMPLETE_EMPTY = (*_EVICT, Effect.NEXT_GENERATION_EMPTY)
_MEASURED = "measured on 4.1.0"

_PENDING_ENDS = Row("pending-ends", Guard.PENDING, None, "PEND-04", effects=(Effect.DROP_PENDING,))
_BREAKS = Row(
    "subscription-breaks", Guard.SUBSCRIPTION_BREAKS, None, "TR-046",
    note=f"{_MEASURED}: a join never completes if the bytes of a `consumer` subscription cannot be read",
)  # fmt: skip

_SESSION_END: Final[Mapping[State, tuple[Row, ...]]] = {
    EMPTY: (Row("pending-ends", Guard.ALWAYS, None, "TR-036", effects=(Effect.DROP_PENDING,)),),
    PREPARING: (
        Row("pending-ends", Guard.PENDING, None, "TR-063", effects=(Effect.DROP_PENDING,), after=_CHECK_ABSENCE),
        Row("parked", Guard.SATISFIED, None, "TR-059"),
        Row("newcomer-waited-too-long", Guard.NEWCOMER_PARKED, None, "TR-060", effects=_REMOVE, after=_CHECK_ABSENCE),
        Row("session-ends", Guard.ALWAYS, None, "TR-058", effects=_REMOVE, after=_CHECK_ABSENCE),
    ),
    COMPLETING: (
        _PENDING_ENDS,
        Row("parked", Guard.SATISFIED, None, "TR-093"),
        Row("session-ends", Guard.ALWAYS, None, "TR-092", effects=(*_REMOVE, Effect.ABORT_SYNCS),
            then=PREPARING, after=_AWAIT, because="removing member on heartbeat expiration"),
    ),
    STABLE: (
        _PENDING_ENDS,
        Row("session-ends", Guard.ALWAYS, None, "TR-120", effects=(*_REMOVE, Effect.END_SYNC_DEADLINE),
            then=PREPARING, after=_AWAIT, because="removing member on heartbeat expiration"),
    ),
}  # fmt: skip

_INITIAL_DELAY_END: Final[Mapping[State, tuple[Row, ...]]] = {
    PREPARING: (
        Row("extended", Guard.NEWCOMER_AND_TIME_LEFT, None, "TR-051", effects=(Effect.EXTEND_INITIAL_DELAY,),
            note=f"{_MEASURED}: at any generation (IDJ-07, IDJ-08 are the 1.1 rule)"),
        _BREAKS,
        # The parked requests may be gone: a KIP-848 heartbeat has them answered 27 before it fails to convert the group (CGG-15).
        Row("only-absent-static", Guard.ONLY_ABSENT_STATIC, None, "TR-050", effects=(*_EVICT, Effect.REARM_JOIN_DEADLINE)),
        Row("ends-empty", Guard.NOBODY_JOINED, None, "TR-053", effects=_COMPLETE_EMPTY, then=EMPTY, after=(Effect.STORE_GROUP,)),
        Row("ends", Guard.ALWAYS, None, "TR-052", effects=_COMPLETE, then=COMPLETING, after=_ANSWER),
    ),
}  # fmt: skip

_JOIN_DEADLINE: Final[Mapping[State, tuple[Row, ...]]] = {
    PREPARING: (
        _BREAKS,
        Row("only-absent-static", Guard.ONLY_ABSENT_STATIC, None, "TR-050", effects=(*_EVICT, Effect.REARM_JOIN_DEADLINE)),
        Row("nobody-joined", Guard.NOBODY_JOINED, None, "TR-049", effects=_COMPLETE_EMPTY, then=EMPTY, after=(Effect.STORE_GROUP,)),
        Row("unjoined-evicted", Guard.ALWAYS, None, "TR-048", effects=_COMPLETE, then=COMPLETING, after=_ANSWER),
    ),
}

_UNSYNCED = "removing members on pending sync request expiration"
_SINCE_SYNC_DEADLINE = "KAFKA-12890 (2.8.1, 3.0): the wait for SyncGroup is bounded; SYNC-16 is the older rule"

_SYNC_DEADLINE: Final[Mapping[State, tuple[Row, ...]]] = {
    COMPLETING: (
        Row("unsynced-evicted", Guard.ALWAYS, None, "SYNC-16", effects=(Effect.EVICT_UNSYNCED, Effect.ABORT_SYNCS),
            then=PREPARING, after=_AWAIT, because=_UNSYNCED, note=_SINCE_SYNC_DEADLINE),
    ),
    STABLE: (
        Row("unsynced-evicted", Guard.ALWAYS, None, "SYNC-16", effects=(Effect.EVICT_UNSYNCED, Effect.END_SYNC_DEADLINE),
            then=PREPARING, after=_AWAIT, because=_UNSYNCED, note=_SINCE_SYNC_DEADLINE),
    ),
}  # fmt: skip

_IN_USE = (Row("in-use", Guard.ALWAYS, None, "COMMIT-24"),)
_CLEANUP: Final[Mapping[State, tuple[Row, ...]]] = {
    EMPTY: (
        Row("offsets-remain", Guard.OFFSETS_REMAIN, None, "TR-033"),
        Row(
            "nothing-left",
            Guard.ALWAYS,
            None,
            "TR-032",
            then=DEAD,
            after=(Effect.DELETE_RECORDS, Effect.FORGET_GROUP),
            because="nothing left to keep",
        ),
    ),
    PREPARING: _IN_USE,
    COMPLETING: _IN_USE,
    STABLE: _IN_USE,
    DEAD: (Row("dead", Guard.ALWAYS, None, "TR-146"),),
}

# Consequences of other events ------------------------------------------------------------------------------------------------------

_MISSING = Row("joins-missing", Guard.JOINS_MISSING, None, "DJOIN-51")
_NONE_LEFT = Row("none-left", Guard.NO_MEMBERS, None, "TR-047", effects=_COMPLETE_EMPTY, then=EMPTY, after=(Effect.STORE_GROUP,))
_ALL_JOINED = Row("all-joined", Guard.ALWAYS, None, "TR-046", effects=_COMPLETE, then=COMPLETING, after=_ANSWER)

_JOIN_CHECK: Final[Mapping[State, tuple[Row, ...]]] = {
    PREPARING: (Row("initial-delay", Guard.INITIAL_DELAY_RUNS, None, "IDJ-02"), _MISSING, _BREAKS, _NONE_LEFT, _ALL_JOINED),
}
_ABSENCE_CHECK: Final[Mapping[State, tuple[Row, ...]]] = {  # measured on 4.1.0: this ends even the initial delay
    PREPARING: (_MISSING, _BREAKS, _NONE_LEFT, _ALL_JOINED),
}

_PASSED = (Row("passed", Guard.ALWAYS, None, "TR-084"),)
_APPENDED: Final[Mapping[State, tuple[Row, ...]]] = {
    **dict.fromkeys((EMPTY, PREPARING, STABLE, DEAD), _PASSED),
    COMPLETING: (
        Row("passed", Guard.OTHER_GENERATION, None, "TR-084"),
        Row("assigned", Guard.ALWAYS, None, "TR-082", effects=(Effect.ASSIGN, Effect.ANSWER_SYNCS), then=STABLE, because="assignment received"),
    ),
}
_APPEND_FAILED: Final[Mapping[State, tuple[Row, ...]]] = {
    **dict.fromkeys((EMPTY, PREPARING, STABLE, DEAD), _PASSED),
    COMPLETING: (
        Row("passed", Guard.OTHER_GENERATION, None, "TR-084"),
        Row("failed", Guard.ALWAYS, None, "TR-083", effects=(Effect.FAIL_SYNCS,), then=PREPARING, after=_AWAIT,
            because="error when storing group assignment"),
    ),
}  # fmt: skip

_LOADED: Final[Mapping[State, tuple[Row, ...]]] = {
    EMPTY: (Row("loaded-empty", Guard.ALWAYS, None, "TR-010"),),
    STABLE: (
        Row("loaded-oversized", Guard.OVERSIZED, None, "JOIN-56", effects=(Effect.RESTART_SESSIONS,),
            then=PREPARING, after=_AWAIT, because="freshly loaded group is over capacity", note="testOnLoadedExceedGroupMaxSizeTriggersRebalance"),
        Row("loaded", Guard.ALWAYS, None, "TR-009", effects=(Effect.RESTART_SESSIONS,)),
    ),
}  # fmt: skip


def _unloaded(requirement: str, *effects: Effect) -> tuple[Row, ...]:
    after = (Effect.FORGET_GROUP,)
    return (Row("unloaded", Guard.ALWAYS, None, requirement, effects=effects, then=DEAD, after=after, because="offsets partition moved away"),)


_UNLOADED: Final[Mapping[State, tuple[Row, ...]]] = {
    EMPTY: _unloaded("TR-034"),
    PREPARING: _unloaded("TR-067", Effect.ANSWER_PARKED),
    COMPLETING: _unloaded("TR-099", Effect.ANSWER_PARKED),
    STABLE: _unloaded("TR-126"),
    DEAD: _unloaded("TR-148"),
}

TIMERS: Final[Cells] = {
    ClassicEvent.SESSION_END: _SESSION_END,
    ClassicEvent.INITIAL_DELAY_END: _INITIAL_DELAY_END,
    ClassicEvent.JOIN_DEADLINE: _JOIN_DEADLINE,
    ClassicEvent.SYNC_DEADLINE: _SYNC_DEADLINE,
    ClassicEvent.CLEANUP: _CLEANUP,
}

CONSEQUENCES: Final[Cells] = {
    ClassicEvent.JOIN_CHECK: _JOIN_CHECK,
    ClassicEvent.ABSENCE_CHECK: _ABSENCE_CHECK,
    ClassicEvent.APPENDED: _APPENDED,
    ClassicEvent.APPEND_FAILED: _APPEND_FAILED,
    ClassicEvent.LOADED: _LOADED,
    ClassicEvent.UNLOADED: _UNLOADED,
}

_TIMER_ENDS = "the timer ends with the state it belongs to"
_CHECKED_IN_PREPARING = "only rows that are in PreparingRebalance, or move to it, ask for the check"

# Unreachable cells, each with the reason. Reaching one is a bug of the machine, never of a peer.
UNREACHABLE_TIMERS: Final[Mapping[Place, str]] = {
    **{(kind, NO_GROUP): "timers and consequences need a group" for kind in (*TIMERS, *CONSEQUENCES)},
    **{
        (kind, state): _TIMER_ENDS
        for kind in (ClassicEvent.INITIAL_DELAY_END, ClassicEvent.JOIN_DEADLINE)
        for state in (EMPTY, COMPLETING, STABLE, DEAD)
    },
    **{(ClassicEvent.SYNC_DEADLINE, state): _TIMER_ENDS for state in (EMPTY, PREPARING, DEAD)},
    **{
        (kind, state): _CHECKED_IN_PREPARING
        for kind in (ClassicEvent.JOIN_CHECK, ClassicEvent.ABSENCE_CHECK)
        for state in (EMPTY, COMPLETING, STABLE, DEAD)
    },
    **{(ClassicEvent.LOADED, state): "a stored group is Empty or Stable (EMIG-03)" for state in (PREPARING, COMPLETING, DEAD)},
    (ClassicEvent.SESSION_END, DEAD): "a group's timers end when it dies",
}
