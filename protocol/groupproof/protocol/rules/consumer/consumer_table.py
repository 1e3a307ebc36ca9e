"""The consumer group in the newest release (Apache Kafka 4.4): its heartbeat, its description, its timers and its states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from groupproof.protocol.rules.cells import NO_GROUP, Cell, Cells, EventKind, Place, Row, State
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect, Guard
from groupproof.protocol.rules.consumer.classic_requests import CLASSIC_JOIN, CLASSIC_REQUESTS, LIVE, UNREACHABLE_REQUESTS
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerAnswer, ConsumerEffect, ConsumerEvent, ConsumerGuard, ConsumerState
from groupproof.protocol.rules.deltas import Change
from groupproof.protocol.vocabulary import ErrorCode, GroupState

__all__ = ["BEFORE_GROUP", "CELLS", "IN_CLASSIC_GROUPS", "OWN_ID_WAS_FENCED", "SHAPE_LAST", "UNREACHABLE"]

EMPTY, ASSIGNING, RECONCILING, STABLE, DEAD = ConsumerState
INVALID: Final = ErrorCode.INVALID_REQUEST
UNKNOWN_MEMBER: Final = ErrorCode.UNKNOWN_MEMBER_ID
NOT_FOUND: Final = ErrorCode.GROUP_ID_NOT_FOUND
FENCED_EPOCH: Final = ErrorCode.FENCED_MEMBER_EPOCH
FENCED_INSTANCE: Final = ErrorCode.FENCED_INSTANCE_ID

_NOT_ACTIVE = Row("not-active", Guard.NOT_ACTIVE, ErrorCode.COORDINATOR_NOT_AVAILABLE, "CGH-40")
_LED_ELSEWHERE = Row("not-coordinator", Guard.NOT_LED_HERE, ErrorCode.NOT_COORDINATOR, "CGH-41")
_LOADING = Row("loading", Guard.LOADING, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "CGH-42")
_OFF = Row("protocol-off", ConsumerGuard.PROTOCOL_OFF, ErrorCode.UNSUPPORTED_VERSION, "CGH-39")

_SHAPE: Final = (
    Row("member-id-missing", ConsumerGuard.MEMBER_ID_MISSING, INVALID, "CGH-02"),
    Row("group-id-empty", Guard.GROUP_ID_EMPTY, INVALID, "CGH-01"),
    Row("instance-id-empty", ConsumerGuard.INSTANCE_ID_EMPTY, INVALID, "CGH-07"),
    Row("rack-id-empty", ConsumerGuard.RACK_ID_EMPTY, INVALID, "CGH-08"),
    Row("joins-without-timeout", ConsumerGuard.JOIN_WITHOUT_TIMEOUT, INVALID, "CGH-09"),
    Row("joins-with-partitions", ConsumerGuard.JOIN_OWNS, INVALID, "CGH-11"),
    Row("joins-without-subscription", ConsumerGuard.JOIN_WITHOUT_SUBSCRIPTION, INVALID, "CGH-12"),
    Row("leaves-without-instance", ConsumerGuard.STATIC_LEAVE_WITHOUT_INSTANCE, INVALID, "CGH-15"),
    Row("epoch-too-low", ConsumerGuard.EPOCH_TOO_LOW, INVALID, "CGH-16"),
    Row("assignor-unknown", ConsumerGuard.ASSIGNOR_UNKNOWN, ErrorCode.UNSUPPORTED_ASSIGNOR, "CGH-17", note="of a leave, too (CGH-21)"),
)
"""The errors in the form of the request (throwIfConsumerGroupHeartbeatRequestIsInvalid)."""

BEFORE_GROUP: Final[Mapping[EventKind, Cell]] = {
    ConsumerEvent.HEARTBEAT: (
        _OFF,
        _NOT_ACTIVE,
        *_SHAPE,
        _LED_ELSEWHERE,
        _LOADING,
    ),
    ConsumerEvent.DESCRIBE: (
        _OFF,
        _NOT_ACTIVE,
        Row("group-id-empty", Guard.GROUP_ID_EMPTY, ErrorCode.INVALID_GROUP_ID, "CGD-13"),
        _LED_ELSEWHERE,
        _LOADING,
    ),
}

SHAPE_LAST: Final = (_OFF, _NOT_ACTIVE, _LED_ELSEWHERE, _LOADING, *_SHAPE)
"""The order of 4.0, where GroupMetadataManager checks a heartbeat's form. Since 4.1 GroupCoordinatorService does, before it looks up the partition.

"""

# ConsumerGroupHeartbeat ----------------------------------------------------------------------------------------------------------

_STEPS: Final = (
    ConsumerEffect.TAKE_UP, ConsumerEffect.BUMP, ConsumerEffect.ASSIGN, ConsumerEffect.RECONCILE, ConsumerEffect.REFRESH_SESSION, ConsumerEffect.ORDER_RESOLUTION,
    ConsumerEffect.STORE, ConsumerEffect.CHECK_STATE,
)  # fmt: skip
"""The steps of a heartbeat: update the member, bump the group epoch if needed, compute the target, and reconcile the member (KIP-848)."""

_BAD_REGEX = Row("regex-invalid", ConsumerGuard.REGEX_INVALID, ErrorCode.INVALID_REGULAR_EXPRESSION, "CGH-22")
_UNKNOWN_STATE = Row(
    "state-unknown", ConsumerGuard.STATE_UNKNOWN, FENCED_EPOCH, "CGL-16", note="a newer release wrote its record: it has to join anew"
)
_BEATS = Row("beats", Guard.ALWAYS, ConsumerAnswer.HEARTBEAT, "CGM-25", effects=_STEPS)

_LEAVES: Final = (
    Row("leaving-stranger", ConsumerGuard.LEAVING_STRANGER, UNKNOWN_MEMBER, "CGH-46"),
    Row("leaving-instance-unknown", ConsumerGuard.LEAVING_INSTANCE_UNKNOWN, UNKNOWN_MEMBER, "CGS-10"),
    Row("leaving-fenced", ConsumerGuard.LEAVING_INSTANCE_FENCED, FENCED_INSTANCE, "CGS-09"),
)
_LEAVING: Final = (
    Row("leaves-for-now", ConsumerGuard.LEAVES_FOR_NOW, ConsumerAnswer.LEFT, "CGS-11",
        effects=(ConsumerEffect.LEAVE_FOR_NOW, ConsumerEffect.STORE, ConsumerEffect.CHECK_STATE)),
    Row("last-leaves", ConsumerGuard.DOWNGRADES, ConsumerAnswer.LEFT, "CGG-52", effects=(ConsumerEffect.DOWNGRADE,)),
    Row("leaves", ConsumerGuard.LEAVES, ConsumerAnswer.LEFT, "CGM-29",
        effects=(ConsumerEffect.REMOVE, ConsumerEffect.STORE, ConsumerEffect.CHECK_STATE)),
)  # fmt: skip
_WHO_ASKS: Final = (
    Row("group-full", ConsumerGuard.FULL, ErrorCode.GROUP_MAX_SIZE_REACHED, "CGM-36", note="before 25, at any epoch (CGM-37)"),
    Row("stranger", ConsumerGuard.STRANGER, UNKNOWN_MEMBER, "CGH-45"),
    Row(
        "own-instance-held",
        ConsumerGuard.OWN_INSTANCE_HELD,
        ErrorCode.UNRELEASED_INSTANCE_ID,
        "CGS-06",
        note="apache/kafka#23542: KIP-848 takes it back (CGS-07)",
    ),
    Row("instance-held", ConsumerGuard.INSTANCE_HELD, ErrorCode.UNRELEASED_INSTANCE_ID, "CGS-02"),
    Row("instance-unknown", ConsumerGuard.INSTANCE_UNKNOWN, UNKNOWN_MEMBER, "CGM-54"),
    Row("instance-fenced", ConsumerGuard.INSTANCE_FENCED, FENCED_INSTANCE, "CGS-08"),
    Row("epoch-fenced", ConsumerGuard.EPOCH_FENCED, FENCED_EPOCH, "CGM-09"),
)

_HEARTBEAT: Final[Mapping[State, Cell]] = {
    NO_GROUP: (
        Row("leaves-nothing", ConsumerGuard.LEAVES, NOT_FOUND, "CGH-44"),
        Row("no-group", ConsumerGuard.IS_ESTABLISHED, NOT_FOUND, "CGH-43"),
        _BAD_REGEX,
        Row("first-joins", Guard.ALWAYS, ConsumerAnswer.HEARTBEAT, "CGM-01", effects=(ConsumerEffect.CREATE_GROUP, *_STEPS)),
    ),
    EMPTY: (*_LEAVES, *_LEAVING, *_WHO_ASKS, _BAD_REGEX, _BEATS),
    **dict.fromkeys(LIVE, (*_LEAVES, *_LEAVING, *_WHO_ASKS, _BAD_REGEX, _UNKNOWN_STATE, _BEATS)),
    DEAD: (Row("dead", Guard.ALWAYS, ErrorCode.NOT_COORDINATOR, "CGH-41", note="the partition has moved away"),),
}

_DESCRIBE: Final[Mapping[State, Cell]] = {
    NO_GROUP: (Row("not-found", Guard.ALWAYS, ConsumerAnswer.NOT_A_CONSUMER_GROUP, "CGD-11"),),
    **dict.fromkeys((EMPTY, *LIVE), (Row("described", Guard.ALWAYS, ConsumerAnswer.DESCRIBED, "CGD-01", effects=(ConsumerEffect.LOOK_UP,)),)),
    DEAD: (Row("dead", Guard.ALWAYS, ConsumerAnswer.NOT_A_CONSUMER_GROUP, "CGD-11"),),
}

_CLASSIC_LIVE: Final = (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
_ABORTS: Final = (ConsumerEffect.ABORT_PARKED,)
_UPGRADE: Final = (
    Row("leaves-nothing", ConsumerGuard.LEAVES, NOT_FOUND, "CGH-47"),
    Row("no-group", ConsumerGuard.IS_ESTABLISHED, NOT_FOUND, "CGH-47"),
    Row("upgrades-off", ConsumerGuard.UPGRADES_OFF, NOT_FOUND, "CGG-02"),
    Row("other-type", Guard.NOT_CONSUMER, NOT_FOUND, "CGG-05"),
    Row("too-many", ConsumerGuard.TOO_MANY_TO_UPGRADE, NOT_FOUND, "CGG-07"),
    Row("protocol-missing", ConsumerGuard.PROTOCOL_MISSING, ErrorCode.UNKNOWN_SERVER_ERROR, "CGG-15", effects=_ABORTS,
        note="a NoSuchElementException or IllegalArgumentException in every release, thrown behind `completeAllJoinFutures`"),
    Row("unreadable", ConsumerGuard.UNREADABLE, NOT_FOUND, "CGG-09", effects=_ABORTS, note="or with user data of a custom assignor (CGG-10)"),
    Row("group-full", ConsumerGuard.UPGRADED_FULL, ErrorCode.GROUP_MAX_SIZE_REACHED, "CGG-08", effects=_ABORTS),
    replace(_BAD_REGEX, effects=_ABORTS),
    Row("upgrades", Guard.ALWAYS, None, "CGG-01", effects=(ConsumerEffect.UPGRADE,)),
)  # fmt: skip
"""The rules for a heartbeat in a classic group with members, in the order of `getOrMaybeCreateConsumerGroup` and `convertToConsumerGroup`."""

_OWN_ID_FENCED = Row("own-id-fenced", ConsumerGuard.OWN_ID_JOINS, FENCED_EPOCH, "CGG-51", effects=_ABORTS)
OWN_ID_WAS_FENCED: Final = Change(kind=ConsumerEvent.HEARTBEAT, states=_CLASSIC_LIVE, name="regex-invalid", rows=(_OWN_ID_FENCED,), keeps=True)
"""Up to 4.1 a classic member cannot upgrade by a join with its own member id."""

_OUTLIVES: Final = "a downgrade leaves it running, and so does who takes a static member's place (`convertToClassicGroup`, `replaceMember`)"
_WITHOUT_MEMBER: Final = {
    ConsumerEvent.REJOIN_DEADLINE: (Row("outlives", Guard.ALWAYS, None, "CGG-40", note=_OUTLIVES),),
    ConsumerEvent.RESYNC_DEADLINE: (Row("outlives", Guard.ALWAYS, None, "CGG-41", note=_OUTLIVES),),
}
"""A classic member's rejoin and resync deadlines, where no consumer group has the member."""
_CLASSIC_STATES: Final = (GroupState.EMPTY, *_CLASSIC_LIVE)

IN_CLASSIC_GROUPS: Final[Cells] = {
    ConsumerEvent.HEARTBEAT: {
        GroupState.EMPTY: (
            Row("leaves-nothing", ConsumerGuard.LEAVES, NOT_FOUND, "CGH-47"),
            Row("no-group", ConsumerGuard.IS_ESTABLISHED, NOT_FOUND, "CGH-47"),
            _BAD_REGEX,
            Row("replaces", Guard.ALWAYS, ConsumerAnswer.HEARTBEAT, "CGG-03", effects=(ConsumerEffect.REPLACE_CLASSIC_GROUP, *_STEPS)),
        ),
        **dict.fromkeys(_CLASSIC_LIVE, _UPGRADE),
        GroupState.DEAD: (Row("dead", Guard.ALWAYS, ErrorCode.NOT_COORDINATOR, "CGH-41"),),
    },
    ConsumerEvent.DESCRIBE: {
        state: (Row("classic-group", Guard.ALWAYS, ConsumerAnswer.NOT_A_CONSUMER_GROUP, "CGD-12"),) for state in GroupState
    },
    ConsumerEvent.DOWNGRADED: {
        GroupState.STABLE: (
            Row("joins-again", Guard.ALWAYS, None, "CGG-55", then=GroupState.PREPARING_REBALANCE, after=(Effect.AWAIT_JOINS,), because="downgraded"),
        ),
    },
    **{kind: dict.fromkeys(_CLASSIC_STATES, cell) for kind, cell in _WITHOUT_MEMBER.items()},
}  # fmt: skip
"""The rules for the dialect's requests in a classic group, and for two timers that remain from members of a consumer group."""

# Timers and consequences ---------------------------------------------------------------------------------------------------------

_REMOVES: Final = (ConsumerEffect.REMOVE, ConsumerEffect.STORE, ConsumerEffect.CHECK_STATE)
_LAST_GOES = Row("last-goes", ConsumerGuard.DOWNGRADES, None, "CGG-54", effects=(ConsumerEffect.DOWNGRADE,))
_SESSION_ENDS = (_LAST_GOES, Row("session-ends", Guard.ALWAYS, None, "CGM-40", effects=_REMOVES))
_REVOCATION_ENDS = (
    Row("revoked", ConsumerGuard.REVOCATION_OVER, None, "CGM-50"),
    _LAST_GOES,
    Row("revokes-too-late", Guard.ALWAYS, None, "CGM-46", effects=_REMOVES),
)
_REJOIN_ENDS = (_LAST_GOES, Row("rejoins-too-late", Guard.ALWAYS, None, "CGG-40", effects=_REMOVES))
_RESYNC_ENDS = (_LAST_GOES, Row("syncs-too-late", Guard.ALWAYS, None, "CGG-41", effects=_REMOVES))
_RESOLUTION = (Row("resolved", Guard.ALWAYS, None, "CGX-20", effects=(ConsumerEffect.RESOLVE, ConsumerEffect.STORE, ConsumerEffect.CHECK_STATE)),)


def _check(state: ConsumerState) -> Cell:
    """Return the rows that find the current state of a group in `state`."""
    rows = (
        ("no-members", ConsumerGuard.HAS_NO_MEMBERS, EMPTY, "CGD-07"),
        ("target-awaited", ConsumerGuard.GROUP_EPOCH_AHEAD, ASSIGNING, "CGD-04"),
        ("members-behind", ConsumerGuard.MEMBER_UNSETTLED, RECONCILING, "CGD-05"),
        ("settled", Guard.ALWAYS, STABLE, "CGD-06"),
    )
    return tuple(Row(name, guard, None, requirement, then=None if after is state else after) for name, guard, after, requirement in rows)


_EXPIRES = (
    Row("topics-given-up", Guard.ALWAYS, None, "CGO-51", effects=(Effect.EXPIRE_UNSUBSCRIBED,),
        note="OffsetExpirationConditionImpl: counted from the commit, and only where nobody subscribes to the topic"),
)  # fmt: skip

CELLS: Final[Cells] = {
    ConsumerEvent.HEARTBEAT: _HEARTBEAT,
    ConsumerEvent.DESCRIBE: _DESCRIBE,
    **CLASSIC_REQUESTS,
    ClassicEvent.SESSION_END: dict.fromkeys(LIVE, _SESSION_ENDS),
    ConsumerEvent.REVOCATION_DEADLINE: dict.fromkeys(LIVE, _REVOCATION_ENDS),
    ConsumerEvent.REJOIN_DEADLINE: {
        **dict.fromkeys((NO_GROUP, EMPTY), _WITHOUT_MEMBER[ConsumerEvent.REJOIN_DEADLINE]), **dict.fromkeys(LIVE, _REJOIN_ENDS),
    },
    ConsumerEvent.RESYNC_DEADLINE: {
        **dict.fromkeys((NO_GROUP, EMPTY), _WITHOUT_MEMBER[ConsumerEvent.RESYNC_DEADLINE]), **dict.fromkeys(LIVE, _RESYNC_ENDS),
    },
    ConsumerEvent.CLASSIC_JOIN: dict.fromkeys(LIVE, CLASSIC_JOIN),
    ConsumerEvent.REGEX_RESOLUTION: dict.fromkeys((EMPTY, *LIVE), _RESOLUTION),
    ConsumerEvent.STATE_CHECK: {state: _check(state) for state in (EMPTY, *LIVE)},
    ClassicEvent.TXN_MARKER: dict.fromkeys((EMPTY, *LIVE), (
        Row("committed", Guard.TXN_COMMITTED, None, "CGO-41", effects=(Effect.MATERIALISE_OFFSETS,)),
        Row("aborted", Guard.ALWAYS, None, "CGO-48", effects=(Effect.DROP_PENDING_OFFSETS,)),
    )),
    ClassicEvent.RETENTION: dict.fromkeys((EMPTY, *LIVE), _EXPIRES),
    ClassicEvent.CLEANUP: {
        EMPTY: (
            Row("offsets-remain", Guard.OFFSETS_REMAIN, None, "CGM-34"),
            Row("expires", Guard.ALWAYS, None, "CGD-28", then=DEAD, after=(Effect.DELETE_RECORDS, ConsumerEffect.FORGET), because="group expired"),
        ),
        **dict.fromkeys(LIVE, (Row("in-use", Guard.ALWAYS, None, "CGM-34"),)),
    },
    ClassicEvent.LOADED: {
        EMPTY: (Row("loaded-empty", Guard.ALWAYS, None, "CGL-01"),),
        **dict.fromkeys(LIVE, (Row("loaded", Guard.ALWAYS, None, "CGL-05", effects=(ConsumerEffect.RESTART_TIMERS,)),)),
    },
    ClassicEvent.UNLOADED: dict.fromkeys((EMPTY, *LIVE), (
        Row("unloaded", Guard.ALWAYS, None, "CGH-41", then=DEAD, after=(ConsumerEffect.FORGET,), because="the partition moves"),
    )),
}  # fmt: skip

_NEED_A_GROUP: Final = (
    ClassicEvent.SESSION_END, ConsumerEvent.REVOCATION_DEADLINE, ConsumerEvent.REJOIN_DEADLINE, ConsumerEvent.RESYNC_DEADLINE, ConsumerEvent.CLASSIC_JOIN,
    ConsumerEvent.REGEX_RESOLUTION, ConsumerEvent.STATE_CHECK, ClassicEvent.TXN_MARKER,
    ClassicEvent.RETENTION, ClassicEvent.CLEANUP, ClassicEvent.LOADED, ClassicEvent.UNLOADED,
)  # fmt: skip
_FORGOTTEN: Final = "a group that is gone has neither timers nor members"

UNREACHABLE: Final[Mapping[Place, str]] = {
    **{(kind, NO_GROUP): "timers and consequences need a group" for kind in _NEED_A_GROUP if kind not in _WITHOUT_MEMBER},
    **{(kind, DEAD): _FORGOTTEN for kind in _NEED_A_GROUP},
    (ClassicEvent.SESSION_END, EMPTY): "there is no member",
    (ConsumerEvent.REVOCATION_DEADLINE, EMPTY): "there is no member",
    (ConsumerEvent.CLASSIC_JOIN, EMPTY): "a JoinGroup puts a classic group in the place of an empty consumer group",
    **{(ConsumerEvent.DOWNGRADED, state): "it comes to a classic group" for state in (NO_GROUP, *ConsumerState)},
    **UNREACHABLE_REQUESTS,
}
