"""The rules for classic requests in a consumer group: requests of members, for offsets, and of admins.

A consumer group may have classic members (KIP-848's online migration). Kafka serves them in `classicGroupJoinToConsumerGroup` etc.: a JoinGroup acts
like a heartbeat at epoch 0, a SyncGroup returns the coordinator's assignment, a Heartbeat's answer asks the member to rejoin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from groupproof.protocol.rules.cells import Cell, Cells, Place, Row, State
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect, Form, Guard
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerAnswer, ConsumerEffect, ConsumerGuard, ConsumerState
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["CLASSIC_JOIN", "CLASSIC_REQUESTS", "LIVE", "UNREACHABLE_REQUESTS"]

EMPTY, ASSIGNING, RECONCILING, STABLE, DEAD = ConsumerState
LIVE: Final = (ASSIGNING, RECONCILING, STABLE)
"""The states of a group with members."""

UNKNOWN_MEMBER: Final = ErrorCode.UNKNOWN_MEMBER_ID
STALE_EPOCH: Final = ErrorCode.STALE_MEMBER_EPOCH
FENCED_INSTANCE: Final = ErrorCode.FENCED_INSTANCE_ID
UNFIT: Final = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
_BLANK: Final = (Effect.BLANK_MEMBER_ID,)
_GONE = (Row("dead", Guard.ALWAYS, ErrorCode.NOT_COORDINATOR, "CGH-41", note="the partition has moved away"),)


_JOIN: Final[Mapping[State, Cell]] = {
    EMPTY: (
        Row("replaces", Guard.ALWAYS, None, "CGG-76", effects=(ConsumerEffect.REPLACE_CONSUMER_GROUP,), note="under every migration policy (CGG-04)"),
    ),
    **dict.fromkeys(LIVE, (
        Row("classic-off", ConsumerGuard.CLASSIC_OFF, UNFIT, "CGG-19", effects=_BLANK),
        Row("group-full", ConsumerGuard.FULL, ErrorCode.GROUP_MAX_SIZE_REACHED, "CGG-68", effects=_BLANK),
        Row("protocols-unfit", ConsumerGuard.PROTOCOLS_UNFIT, UNFIT, "CGG-20", effects=_BLANK, note="or no protocol (CGG-21), or none in common (CGG-22)"),
        Row("member-id-needed", Guard.MEMBER_ID_NEEDED, ErrorCode.MEMBER_ID_REQUIRED, "CGG-23", effects=(ConsumerEffect.NAME_MEMBER,)),
        Row("instance-unknown", ConsumerGuard.JOINING_INSTANCE_UNKNOWN, UNKNOWN_MEMBER, "CGG-63", effects=_BLANK),
        Row("instance-fenced", ConsumerGuard.JOINING_INSTANCE_FENCED, FENCED_INSTANCE, "CGG-62", effects=_BLANK),
        Row("unreadable", ConsumerGuard.SUBSCRIPTION_UNREADABLE, UNFIT, "CGG-30", effects=_BLANK, note="`deserializeSubscription`"),
        Row("joins", Guard.ALWAYS, None, "CGG-25", effects=(ConsumerEffect.JOIN_AS_CLASSIC,), note="with any member id (CGG-24)"),
    )),
    DEAD: _GONE,
}  # fmt: skip

CLASSIC_JOIN: Final[Cell] = (
    Row("downgrades", ConsumerGuard.DOWNGRADES_BY_RETURN, None, "CGG-64",
        effects=(ConsumerEffect.TAKE_UP_CLASSIC, ConsumerEffect.BUMP, ConsumerEffect.RECONCILE_UNLESS_STALE, ConsumerEffect.DOWNGRADE_BY_RETURN,
                 ConsumerEffect.ANSWER_JOIN)),
    Row("joins", Guard.ALWAYS, None, "CGG-39",
        effects=(ConsumerEffect.TAKE_UP_CLASSIC, ConsumerEffect.BUMP, ConsumerEffect.ASSIGN, ConsumerEffect.RECONCILE, ConsumerEffect.AWAIT_SYNC,
                 ConsumerEffect.ORDER_RESOLUTION, ConsumerEffect.ANSWER_JOIN, ConsumerEffect.STORE, ConsumerEffect.CHECK_STATE)),
)  # fmt: skip
"""The effects of a JoinGroup that passed the checks: the steps of a heartbeat, with its own timers (`classicGroupJoinToConsumerGroup`)."""

_MEMBER: Final = (
    Row("instance-unknown", ConsumerGuard.HOLDER_UNKNOWN, UNKNOWN_MEMBER, "CGG-34"),
    Row("instance-fenced", ConsumerGuard.HOLDER_FENCED, FENCED_INSTANCE, "CGG-62"),
    Row("no-classic-member", ConsumerGuard.NO_CLASSIC_MEMBER, UNKNOWN_MEMBER, "CGG-34"),
    Row("other-epoch", ConsumerGuard.OTHER_EPOCH, ErrorCode.ILLEGAL_GENERATION, "CGG-35"),
)
"""`validateConsumerGroupMember`, and the further checks of Heartbeat and SyncGroup."""

_SYNC: Final[Mapping[State, Cell]] = {
    EMPTY: (Row("no-classic-member", Guard.ALWAYS, UNKNOWN_MEMBER, "CGG-33"),),
    **dict.fromkeys(LIVE, (
        *(replace(row, requirement={"CGG-34": "CGG-33", "CGG-35": "CGG-31"}.get(row.requirement, row.requirement)) for row in _MEMBER),
        Row("protocol-differs", ConsumerGuard.PROTOCOL_UNLIKE_JOIN, UNFIT, "CGG-32"),
        Row("joins-first", ConsumerGuard.MUST_REJOIN_FIRST, ErrorCode.REBALANCE_IN_PROGRESS, "CGG-40", effects=(ConsumerEffect.AWAIT_REJOIN,)),
        Row("synced", Guard.ALWAYS, ConsumerAnswer.CLASSIC_SHARE, "CGG-30",
            effects=(ConsumerEffect.NOTE_SHARE, ConsumerEffect.END_RESYNC, ConsumerEffect.REFRESH_CLASSIC_SESSION),
            note="what it has, though more may be free (CGG-71)"),
    )),
    DEAD: _GONE,
}  # fmt: skip

_HEARTBEAT: Final[Mapping[State, Cell]] = {
    EMPTY: (Row("no-classic-member", Guard.ALWAYS, UNKNOWN_MEMBER, "CGG-34"),),
    **dict.fromkeys(LIVE, (
        *_MEMBER,
        Row("joins-again", ConsumerGuard.MUST_REJOIN, ErrorCode.REBALANCE_IN_PROGRESS, "CGG-14",
            effects=(ConsumerEffect.REFRESH_CLASSIC_SESSION, ConsumerEffect.AWAIT_REJOIN), note="CGG-37"),
        Row("alive", Guard.ALWAYS, ErrorCode.NONE, "CGG-36", effects=(ConsumerEffect.REFRESH_CLASSIC_SESSION,), note="CGG-38"),
    )),
    DEAD: _GONE,
}  # fmt: skip

_LEAVES = Row(
    "leaves", Guard.ALWAYS, Form.EACH_ENTRY, "CGG-47",
    effects=(ConsumerEffect.NOTE_LEAVERS, ConsumerEffect.REMOVE, ConsumerEffect.STORE, ConsumerEffect.CHECK_STATE),
)  # fmt: skip
_LEAVE: Final[Mapping[State, Cell]] = {
    EMPTY: (_LEAVES,),
    **dict.fromkeys(LIVE, (
        Row("last-leaves", ConsumerGuard.DOWNGRADES, Form.EACH_ENTRY, "CGG-54", effects=(ConsumerEffect.NOTE_LEAVERS, ConsumerEffect.DOWNGRADE)),
        _LEAVES,
    )),
    DEAD: _GONE,
}  # fmt: skip

_COMMIT: Final[Mapping[State, Cell]] = {
    EMPTY: (
        Row("no-membership", ConsumerGuard.NO_MEMBERSHIP, Form.COMMITTED, "CGO-14", effects=(Effect.STORE_OFFSETS,)),
        Row("stranger", Guard.ALWAYS, UNKNOWN_MEMBER, "CGO-17"),
    ),
    **dict.fromkeys(LIVE, (
        Row("stranger", ConsumerGuard.COMMITS_AS_STRANGER, UNKNOWN_MEMBER, "CGO-10", note="before the version (CGO-12), and without a member (CGO-13)"),
        Row("old-version", ConsumerGuard.COMMITS_IN_OLD_VERSION, ErrorCode.UNSUPPORTED_VERSION, "CGO-11"),
        Row("classic-epoch-newer", ConsumerGuard.CLASSIC_EPOCH_NEWER, ErrorCode.ILLEGAL_GENERATION, "CGG-44"),
        Row("epoch-newer", ConsumerGuard.EPOCH_NEWER, STALE_EPOCH, "CGO-02"),
        Row("epoch-older", ConsumerGuard.EPOCH_OLDER, ConsumerAnswer.COMMITTED_BY_EPOCH, "CGO-04", effects=(ConsumerEffect.STORE_COMMITTED_BY_EPOCH,),
            note="KIP-1251 (4.3)"),
        Row("commits", Guard.ALWAYS, Form.COMMITTED, "CGO-01", effects=(Effect.STORE_OFFSETS,)),
    )),
    DEAD: _GONE,
}  # fmt: skip

_TXN_COMMIT: Final[Mapping[State, Cell]] = {
    EMPTY: (
        Row("names-nobody", Guard.NAMES_NOBODY, Form.COMMITTED, "CGO-46", effects=(Effect.STORE_PENDING_OFFSETS,)),
        Row("no-membership", ConsumerGuard.NO_MEMBERSHIP, Form.COMMITTED, "CGO-15", effects=(Effect.STORE_PENDING_OFFSETS,)),
        Row("stranger", Guard.ALWAYS, UNKNOWN_MEMBER, "CGO-45"),
    ),
    **dict.fromkeys(LIVE, (
        Row("names-nobody", Guard.NAMES_NOBODY, Form.COMMITTED, "CGO-46", effects=(Effect.STORE_PENDING_OFFSETS,)),
        Row("stranger", ConsumerGuard.COMMITS_AS_STRANGER, UNKNOWN_MEMBER, "CGO-45"),
        Row("epoch-newer", ConsumerGuard.EPOCH_NEWER, ErrorCode.ILLEGAL_GENERATION, "CGO-42"),
        Row("epoch-older", ConsumerGuard.EPOCH_OLDER, ConsumerAnswer.COMMITTED_BY_EPOCH, "CGO-44", effects=(ConsumerEffect.STORE_PENDING_BY_EPOCH,),
            note="KIP-1251 (4.3)"),
        Row("commits", Guard.ALWAYS, Form.COMMITTED, "CGO-41", effects=(Effect.STORE_PENDING_OFFSETS,)),
    )),
    DEAD: _GONE,
}  # fmt: skip

_FETCHED = Row("fetches-as-nobody", ConsumerGuard.FETCHES_AS_NOBODY, Form.STORED_OFFSETS, "CGO-32", note="v8 and older name no member (CGO-37)")
_NAMELESS = Row(
    "nameless", ConsumerGuard.FETCHES_WITHOUT_NAME, ErrorCode.UNKNOWN_SERVER_ERROR, "CGO-34", note="a NullPointerException in every release"
)
_FETCH: Final[Mapping[State, Cell]] = {
    EMPTY: (_FETCHED, _NAMELESS, Row("stranger", Guard.ALWAYS, UNKNOWN_MEMBER, "CGO-31")),
    **dict.fromkeys(LIVE, (
        _FETCHED,
        _NAMELESS,
        Row("stranger", ConsumerGuard.COMMITS_AS_STRANGER, UNKNOWN_MEMBER, "CGO-31"),
        Row("classic-epoch-other", ConsumerGuard.CLASSIC_EPOCH_OTHER, ErrorCode.ILLEGAL_GENERATION, "CGG-45"),
        Row("epoch-other", ConsumerGuard.EPOCH_OTHER, STALE_EPOCH, "CGO-30"),
        Row("fetches", Guard.ALWAYS, Form.STORED_OFFSETS, "CGO-29"),
    )),
    DEAD: _GONE,
}  # fmt: skip

_DELETE_GROUP: Final[Mapping[State, Cell]] = {
    EMPTY: (
        Row(
            "deleted",
            Guard.ALWAYS,
            ErrorCode.NONE,
            "CGD-26",
            then=DEAD,
            after=(Effect.DELETE_RECORDS, ConsumerEffect.FORGET),
            because="group deleted",
        ),
    ),
    **dict.fromkeys(LIVE, (Row("in-use", Guard.ALWAYS, ErrorCode.NON_EMPTY_GROUP, "CGD-24"),)),
    DEAD: (Row("not-found", Guard.ALWAYS, ErrorCode.GROUP_ID_NOT_FOUND, "CGD-27"),),
}

CLASSIC_REQUESTS: Final[Cells] = {
    ClassicEvent.JOIN_GROUP: _JOIN,
    ClassicEvent.SYNC_GROUP: _SYNC,
    ClassicEvent.HEARTBEAT: _HEARTBEAT,
    ClassicEvent.LEAVE_GROUP: _LEAVE,
    ClassicEvent.OFFSET_COMMIT: _COMMIT,
    ClassicEvent.OFFSET_FETCH: _FETCH,
    ClassicEvent.TXN_OFFSET_COMMIT: _TXN_COMMIT,
    ClassicEvent.OFFSET_DELETE: {
        **dict.fromkeys((EMPTY, *LIVE), (Row("deleted", Guard.ALWAYS, Form.OFFSETS_DELETED, "CGO-50", effects=(Effect.DELETE_OFFSETS,)),)),
        DEAD: (Row("not-found", Guard.ALWAYS, ErrorCode.GROUP_ID_NOT_FOUND, "CGO-52"),),
    },
    ClassicEvent.DESCRIBE_GROUPS: dict.fromkeys(ConsumerState, (
        Row("no-classic-group", Guard.VERSION_6, Form.NOT_FOUND, "CGD-17"),
        Row("dead", Guard.ALWAYS, Form.DESCRIBED_DEAD, "CGD-18"),
    )),
    ClassicEvent.DELETE_GROUPS: _DELETE_GROUP,
}  # fmt: skip

UNREACHABLE_REQUESTS: Final[Mapping[Place, str]] = {
    (ClassicEvent.LIST_GROUPS, state): "ListGroups asks the broker, not a group" for state in ConsumerState
}
