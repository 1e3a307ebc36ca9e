"""What the requests of the classic dialect meet in a consumer group: those of members, those for offsets, and those of admins.

A group has members of one protocol here: a classic member cannot join a consumer group that has members (Kafka's migration policy `disabled`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.protocol.rules.cells import Cell, Cells, Place, Row, State
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect, Form, Guard
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerAnswer, ConsumerEffect, ConsumerGuard, ConsumerState
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["CLASSIC_REQUESTS", "LIVE", "UNREACHABLE_REQUESTS"]

EMPTY, ASSIGNING, RECONCILING, STABLE, DEAD = ConsumerState
LIVE: Final = (ASSIGNING, RECONCILING, STABLE)
"""The states of a group with members."""

UNKNOWN_MEMBER: Final = ErrorCode.UNKNOWN_MEMBER_ID
STALE_EPOCH: Final = ErrorCode.STALE_MEMBER_EPOCH
_GONE = (Row("dead", Guard.ALWAYS, ErrorCode.NOT_COORDINATOR, "CGH-41", note="the partition has moved away"),)


def _everywhere(*rows: Row) -> Mapping[State, Cell]:
    return {**dict.fromkeys((EMPTY, *LIVE), rows), DEAD: _GONE}


_JOIN: Final[Mapping[State, Cell]] = {
    EMPTY: (
        Row("replaces", Guard.ALWAYS, None, "CGG-76", effects=(ConsumerEffect.REPLACE_CONSUMER_GROUP,), note="under every migration policy (CGG-04)"),
    ),
    **dict.fromkeys(LIVE, (Row("consumer-group", Guard.ALWAYS, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "CGG-19"),)),
    DEAD: _GONE,
}

_COMMIT: Final[Mapping[State, Cell]] = {
    EMPTY: (
        Row("no-membership", ConsumerGuard.NO_MEMBERSHIP, Form.COMMITTED, "CGO-14", effects=(Effect.STORE_OFFSETS,)),
        Row("stranger", Guard.ALWAYS, UNKNOWN_MEMBER, "CGO-17"),
    ),
    **dict.fromkeys(LIVE, (
        Row("stranger", ConsumerGuard.COMMITS_AS_STRANGER, UNKNOWN_MEMBER, "CGO-10", note="before the version (CGO-12), and without a member (CGO-13)"),
        Row("old-version", ConsumerGuard.COMMITS_IN_OLD_VERSION, ErrorCode.UNSUPPORTED_VERSION, "CGO-11"),
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
    ClassicEvent.SYNC_GROUP: _everywhere(Row("no-classic-member", Guard.ALWAYS, UNKNOWN_MEMBER, "CGG-33")),
    ClassicEvent.HEARTBEAT: _everywhere(Row("no-classic-member", Guard.ALWAYS, UNKNOWN_MEMBER, "CGG-34")),
    ClassicEvent.LEAVE_GROUP: _everywhere(Row("leaves", Guard.ALWAYS, Form.EACH_ENTRY, "CGG-47", effects=(ConsumerEffect.LEAVE_EACH, ConsumerEffect.STORE, ConsumerEffect.CHECK_STATE))),
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
