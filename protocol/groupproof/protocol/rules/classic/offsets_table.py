"""Committed offsets: deletion, commits in a transaction and its end, retention. A part of the table in `group_table.py`.

Read in Apache Kafka 4.1's `OffsetMetadataManager` and `ClassicGroup`. A transactional commit is pending until its transaction's marker comes
(KIP-98). Until then, an OffsetFetch that requires stable offsets gets 88 for the partition (KIP-447).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.protocol.rules.cells import Cell, Cells, EventKind, Place
from groupproof.protocol.rules.classic.classic_states import COMPLETING, DEAD, EMPTY, LIVE, PREPARING, STABLE
from groupproof.protocol.rules.classic.classic_terms import NO_GROUP, ClassicEvent, Effect, Form, Guard, Row, State
from groupproof.protocol.rules.classic.shared_rows import LED_ELSEWHERE, LOADING, NOT_ACTIVE
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["OFFSETS", "OFFSETS_BEFORE_GROUP", "UNREACHABLE_OFFSETS"]

UNKNOWN_MEMBER: Final = ErrorCode.UNKNOWN_MEMBER_ID

_GROUP_ID = Row("group-id-empty", Guard.GROUP_ID_EMPTY, ErrorCode.INVALID_GROUP_ID, "ERR-10")

OFFSETS_BEFORE_GROUP: Final[Mapping[EventKind, Cell]] = {
    ClassicEvent.OFFSET_DELETE: (NOT_ACTIVE, _GROUP_ID, LOADING, LED_ELSEWHERE),
    ClassicEvent.TXN_OFFSET_COMMIT: (
        NOT_ACTIVE,
        _GROUP_ID,
        Row("unverified", Guard.UNVERIFIED, Form.UNVERIFIED, "COMMIT-03", note="KIP-890 (3.7): the transaction's coordinator is asked first"),
        Row("loading-old", Guard.LOADING_OLD, ErrorCode.COORDINATOR_NOT_AVAILABLE, "FIND-10",
            note="KAFKA-7296 (2.6): producers of v0 and v1 cannot bear 14"),
        LOADING,
        LED_ELSEWHERE,
    ),
}  # fmt: skip

# OffsetDelete --------------------------------------------------------------------------------------------------------------------

_NO_GROUP_TO_DELETE_FROM = (Row("not-found", Guard.ALWAYS, ErrorCode.GROUP_ID_NOT_FOUND, "ERR-18", note="KIP-496"),)
_DELETED = Row("deleted", Guard.ALWAYS, Form.OFFSETS_DELETED, "COMMIT-23", effects=(Effect.DELETE_OFFSETS,), note="KIP-496")

_DELETE: Final[Mapping[State, tuple[Row, ...]]] = {
    NO_GROUP: _NO_GROUP_TO_DELETE_FROM,
    EMPTY: (_DELETED,),
    **dict.fromkeys(LIVE, (Row("in-use", Guard.NOT_CONSUMER, ErrorCode.NON_EMPTY_GROUP, "ERR-18", note="KIP-496"), _DELETED)),
    DEAD: _NO_GROUP_TO_DELETE_FROM,
}

# TxnOffsetCommit -----------------------------------------------------------------------------------------------------------------

_PENDING = (Effect.STORE_PENDING_OFFSETS,)
_MEMBERSHIP = (
    Row("unknown-instance", Guard.INSTANCE_UNKNOWN, UNKNOWN_MEMBER, "STATIC-11"),
    Row("fenced", Guard.FENCED, ErrorCode.FENCED_INSTANCE_ID, "STATIC-10"),
    Row("stranger", Guard.STRANGER, UNKNOWN_MEMBER, "COMMIT-03"),
    Row("other-generation", Guard.OTHER_GENERATION, ErrorCode.ILLEGAL_GENERATION, "COMMIT-03"),
)
_COMMIT: Final[Mapping[State, tuple[Row, ...]]] = {
    NO_GROUP: (
        Row("first-commit", Guard.GENERATION_NEGATIVE, Form.COMMITTED, "TR-006", effects=(Effect.CREATE_GROUP, *_PENDING)),
        Row("no-group", Guard.ALWAYS, ErrorCode.ILLEGAL_GENERATION, "TR-007"),
    ),
    EMPTY: (
        Row("no-membership", Guard.GENERATION_NEGATIVE, Form.COMMITTED, "TR-029", effects=_PENDING),
        Row("stranger", Guard.ALWAYS, UNKNOWN_MEMBER, "COMMIT-03"),
    ),
    **dict.fromkeys(LIVE, (
        Row("names-nobody", Guard.NAMES_NOBODY, Form.COMMITTED, "COMMIT-03", effects=_PENDING),
        *_MEMBERSHIP,
        Row("commits", Guard.ALWAYS, Form.COMMITTED, "COMMIT-03", effects=_PENDING, note="KIP-447 (2.5): in CompletingRebalance too"),
    )),
    DEAD: (Row("dead", Guard.ALWAYS, ErrorCode.COORDINATOR_NOT_AVAILABLE, "TR-144"),),
}  # fmt: skip

# The end of a transaction --------------------------------------------------------------------------------------------------------

_ENDS = (
    Row("committed", Guard.TXN_COMMITTED, None, "COMMIT-03", effects=(Effect.MATERIALISE_OFFSETS,)),
    Row("aborted", Guard.ALWAYS, None, "COMMIT-03", effects=(Effect.DROP_PENDING_OFFSETS,)),
)
_MARKER: Final[Mapping[State, tuple[Row, ...]]] = {
    **dict.fromkeys((EMPTY, *LIVE), _ENDS),
    DEAD: (Row("dead", Guard.ALWAYS, None, "TR-146"),),
}

# Retention, checked before each Cleanup ------------------------------------------------------------------------------------------

_KEPT = Row("in-use", Guard.ALWAYS, None, "COMMIT-26")
_RETENTION: Final[Mapping[State, tuple[Row, ...]]] = {
    EMPTY: (
        Row("counted-from-commit", Guard.NEVER_HAD_MEMBERS, None, "COMMIT-26", effects=(Effect.EXPIRE_BY_COMMIT,), note="KIP-211"),
        Row("counted-from-empty", Guard.ALWAYS, None, "COMMIT-26", effects=(Effect.EXPIRE_SINCE_EMPTY,), note="KIP-211 (2.1)"),
    ),
    PREPARING: (_KEPT,),
    COMPLETING: (_KEPT,),
    STABLE: (
        Row("topics-given-up", Guard.TOPICS_KNOWN, None, "COMMIT-26", effects=(Effect.EXPIRE_UNSUBSCRIBED,),
            note="KIP-496 (2.4): a topic that nobody subscribes to any more expires in a live group too; only in Stable: KAFKA-13636 (2.8.2)"),
        _KEPT,
    ),
    DEAD: (Row("dead", Guard.ALWAYS, None, "TR-146"),),
}  # fmt: skip

OFFSETS: Final[Cells] = {
    ClassicEvent.OFFSET_DELETE: _DELETE,
    ClassicEvent.TXN_OFFSET_COMMIT: _COMMIT,
    ClassicEvent.TXN_MARKER: _MARKER,
    ClassicEvent.RETENTION: _RETENTION,
}

UNREACHABLE_OFFSETS: Final[Mapping[Place, str]] = {
    (ClassicEvent.TXN_MARKER, NO_GROUP): "a transaction that committed offsets made their group, which holds them",
    (ClassicEvent.RETENTION, NO_GROUP): "timers and consequences need a group",
}
