"""The differences of older releases for admin requests, transactional commits and retention: deltas as in `releases.py`, for other events.

Read in the Scala coordinator (`GroupCoordinator`, `GroupMetadata`) at the tags 1.1.0, 2.4.1, 2.8.2 and 3.9.0, and in `KafkaApis`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Final

from groupproof.protocol.rules.classic.append_errors import FIRST_APPENDS, SCALA_APPENDS
from groupproof.protocol.rules.classic.classic_states import COMPLETING, DEAD, EMPTY, LIVE, PREPARING, STABLE
from groupproof.protocol.rules.classic.classic_terms import NO_GROUP, ClassicEvent, Effect, Form, Guard, Row
from groupproof.protocol.rules.classic.shared_rows import LED_ELSEWHERE, LOADING, NOT_ACTIVE
from groupproof.protocol.rules.deltas import Change, CoordinatorKind, Delta, gone
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["ADMIN_DELTAS"]

_GROUP_ID = Row("group-id-empty", Guard.GROUP_ID_EMPTY, ErrorCode.INVALID_GROUP_ID, "ERR-10")
_LOADING_OLD = Row("loading-old", Guard.LOADING_OLD, ErrorCode.COORDINATOR_NOT_AVAILABLE, "FIND-10", note="KAFKA-7296")
_NOT_LOADED = Row("not-coordinator", Guard.NOT_LOADED_HERE, ErrorCode.NOT_COORDINATOR, "FIND-08", note="as in `deltas_to_2_4`")
_UNVERIFIED = Row("unverified", Guard.UNVERIFIED, Form.UNVERIFIED, "COMMIT-03", note="KIP-890")

_BARE = (Row("described", Guard.ALWAYS, Form.DESCRIBED_BARE, "INV-02", note="GroupMetadata.summary"),)
_LAST_DELETED = Row(
    "last-deleted", Guard.LAST_OFFSETS_NAMED, Form.OFFSETS_DELETED, "COMMIT-25",
    then=DEAD, after=(Effect.DELETE_RECORDS, Effect.FORGET_GROUP), because="nothing left to keep",
    note="GroupMetadataManager.cleanupGroupMetadata: an Empty group dies with its last offset at once",
)  # fmt: skip

_PENDING = (Effect.STORE_PENDING_OFFSETS,)
_MADE = (Effect.CREATE_GROUP,)
_MADE_FIRST = "the group is made before the request is checked"
_UNCHECKED_BEFORE_3_0 = (
    Row("fenced", Guard.FENCED, ErrorCode.FENCED_INSTANCE_ID, "STATIC-10"),
    Row("stranger", Guard.STRANGER_NAMED, ErrorCode.UNKNOWN_MEMBER_ID, "COMMIT-03"),
    Row("other-generation", Guard.OTHER_GENERATION_NAMED, ErrorCode.ILLEGAL_GENERATION, "COMMIT-03"),
    Row("commits", Guard.ALWAYS, Form.COMMITTED, "COMMIT-03", effects=_PENDING),
)
_STORED = (Row("commits", Guard.ALWAYS, Form.COMMITTED, "COMMIT-03", effects=_PENDING),)
_RETAINED_BY_COMMIT = (Row("counted-from-commit", Guard.ALWAYS, None, "COMMIT-26", effects=(Effect.EXPIRE_BY_COMMIT,)),)
_GIVEN_UP = Row("topics-given-up", Guard.TOPICS_KNOWN, None, "COMMIT-26", effects=(Effect.EXPIRE_UNSUBSCRIBED,))

# Newest first.
ADMIN_DELTAS: Final[tuple[Delta, ...]] = (
    Delta(
        since=(4, 0),
        change="69 from DescribeGroups v6 (KIP-1043); operations on the configuration of groups",
        was=gone(ClassicEvent.DESCRIBE_GROUPS, (NO_GROUP,), "not-found"),
        fields={"group_operations": 0b0001_0100_1000},
    ),
    Delta(
        since=(4, 0),
        line=CoordinatorKind.SCALA,
        change="the coordinator in Java: its order of checks; assignments told before Stable; no group made by a "
        "transactional commit that is refused; an Empty group outlives its last deleted offset until the next cleanup; 14 to ListGroups without a list; "
        "spaces around the name of a state (measured: not on 3.9.1); other answers where the log refuses a record; "
        "no offset expires while a transaction holds another for its partition",
        fields={"expiry_spares_pending": 0},
        was=(
            Change(kind=ClassicEvent.LIST_GROUPS, states=(NO_GROUP,), name="listed", rows=(Row("listed", Guard.ALWAYS, Form.LISTED_UNTRIMMED, "INV-02"),)),
            Change(kind=ClassicEvent.JOIN_GROUP, states=(NO_GROUP,), name="not-appended"),
            Change(kind=ClassicEvent.DESCRIBE_GROUPS, states=(EMPTY, PREPARING, COMPLETING, DEAD), name=None, rows=_BARE),
            Change(kind=ClassicEvent.OFFSET_DELETE, states=(EMPTY,), name="deleted", rows=(_LAST_DELETED,), keeps=True),
            Change(kind=ClassicEvent.TXN_OFFSET_COMMIT, states=(NO_GROUP,), name="first-commit", rows=(replace(_UNVERIFIED, effects=_MADE, note=_MADE_FIRST),), keeps=True),
            Change(kind=ClassicEvent.TXN_OFFSET_COMMIT, states=(EMPTY,), name="no-membership", rows=(_UNVERIFIED,), keeps=True),
            Change(kind=ClassicEvent.TXN_OFFSET_COMMIT, states=LIVE, name="names-nobody", rows=(_UNVERIFIED,), keeps=True),
            Change(kind=ClassicEvent.TXN_OFFSET_COMMIT, states=(DEAD,), name="dead", rows=(_UNVERIFIED,), keeps=True),
            Change(
                kind=ClassicEvent.TXN_OFFSET_COMMIT, states=(NO_GROUP,), name="no-group",
                rows=(Row("stranger", Guard.ALWAYS, ErrorCode.UNKNOWN_MEMBER_ID, "COMMIT-03", effects=_MADE, note=_MADE_FIRST),),
            ),
        ),
        appends=SCALA_APPENDS,
        before_group={
            ClassicEvent.LIST_GROUPS: (NOT_ACTIVE, Row("loading", Guard.LOADING, Form.LISTED_LOADING, "FIND-10")),
            ClassicEvent.OFFSET_DELETE: (_GROUP_ID, NOT_ACTIVE, LOADING, LED_ELSEWHERE),
            ClassicEvent.TXN_OFFSET_COMMIT: (_GROUP_ID, NOT_ACTIVE, _LOADING_OLD, LOADING, LED_ELSEWHERE),
        },
    ),
    Delta(
        since=(3, 8),
        change="ListGroups takes the names of states in any case (KAFKA-16095)",
        was=(Change(kind=ClassicEvent.LIST_GROUPS, states=(NO_GROUP,), name=None, rows=(Row("listed", Guard.ALWAYS, Form.LISTED_EXACT, "INV-02"),)),),
    ),
    Delta(
        since=(3, 7),
        change="the transaction of a TxnOffsetCommit is verified (KIP-890), and 14 is said where its coordinator is not reached",
        was=gone(ClassicEvent.TXN_OFFSET_COMMIT, (NO_GROUP, EMPTY, *LIVE, DEAD), "unverified"),
        appends=FIRST_APPENDS,
    ),
    Delta(
        since=(3, 3),
        change="a commit without a generation to an Empty group may name a member or an instance (`validateOffsetCommit`)",
        was=(
            Change(kind=ClassicEvent.TXN_OFFSET_COMMIT, states=(EMPTY,), name="no-membership", rows=(
                Row("no-membership", Guard.NAMES_NOBODY, Form.COMMITTED, "TR-029", effects=_PENDING),
            )),
            Change(kind=ClassicEvent.TXN_OFFSET_COMMIT, states=(NO_GROUP,), name="first-commit", rows=(
                Row("first-commit", Guard.NAMES_NOBODY, Form.COMMITTED, "TR-006", effects=(*_MADE, *_PENDING)),
            )),
        ),
    ),
    Delta(
        since=(3, 0),
        change="TxnOffsetCommit checks member, instance and generation like OffsetCommit (pull request 9958)",
        was=(
            Change(kind=ClassicEvent.TXN_OFFSET_COMMIT, states=(EMPTY, *LIVE), name=None, rows=_UNCHECKED_BEFORE_3_0),
            Change(
                kind=ClassicEvent.TXN_OFFSET_COMMIT, states=(NO_GROUP,), name=None,
                rows=(
                    Row("stranger", Guard.HAS_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID, "COMMIT-03", effects=_MADE, note=_MADE_FIRST),
                    Row("other-generation", Guard.OTHER_GENERATION_NAMED, ErrorCode.ILLEGAL_GENERATION, "COMMIT-03", effects=_MADE, note=_MADE_FIRST),
                    Row("first-commit", Guard.ALWAYS, Form.COMMITTED, "TR-006", effects=(*_MADE, *_PENDING)),
                ),
            ),
        ),
    ),
    Delta(
        since=(2, 8, 2),
        change="offsets of topics given up are kept while the group rebalances (KAFKA-13636)",
        was=(Change(kind=ClassicEvent.RETENTION, states=(PREPARING, COMPLETING), name="in-use", rows=(_GIVEN_UP,), keeps=True),),
    ),
    Delta(
        since=(2, 6, 1),
        change="a returned instance is written down before it is answered (KAFKA-10284), which can fail",
        was=(Change(kind=ClassicEvent.JOIN_GROUP, states=(STABLE,), name="not-appended"),),
        part="KAFKA-10284",
        mends="TR-115",
    ),
    Delta(
        since=(2, 6),
        change="15, not 14, to TxnOffsetCommit v0 and v1 while loading (KAFKA-7296); OffsetDelete tells each topic once (measured on 2.4.1)",
        fields={"deletions_repeat_topics": 1},
        before_group={ClassicEvent.TXN_OFFSET_COMMIT: (_GROUP_ID, NOT_ACTIVE, LOADING, LED_ELSEWHERE)},
    ),
    Delta(
        since=(2, 5),
        change="TxnOffsetCommit looks at member, instance and generation (KIP-447); DescribeGroups tells no operations where nobody asks (measured on 2.4.1: 0)",
        fields={"group_operations_unasked": 0},
        was=(
            Change(kind=ClassicEvent.TXN_OFFSET_COMMIT, states=(EMPTY, *LIVE), name=None, rows=_STORED),
            Change(
                kind=ClassicEvent.TXN_OFFSET_COMMIT, states=(NO_GROUP,), name=None,
                rows=(Row("first-commit", Guard.ALWAYS, Form.COMMITTED, "TR-006", effects=(*_MADE, *_PENDING)),),
            ),
        ),
    ),
    Delta(
        since=(2, 4),
        change="offsets of topics that a live group gave up expire (KIP-496); DescribeGroups tells subscriptions again (measured on 2.3.1: the assignment twice)",
        was=(
            Change(kind=ClassicEvent.RETENTION, states=LIVE, name="topics-given-up"),
            Change(kind=ClassicEvent.DESCRIBE_GROUPS, states=(STABLE,), name="described", rows=(
                Row("described", Guard.ALWAYS, Form.DESCRIBED_BY_ASSIGNMENT, "PEND-10", note="KafkaApis 2.3: `setMemberMetadata(member.assignment)`"),
            )),
        ),
    ),
    Delta(
        since=(2, 3),
        change="15 from a Dead group (KAFKA-8386); DescribeGroups tells a member's assignment as its subscription",
        was=(
            Change(kind=ClassicEvent.TXN_OFFSET_COMMIT, states=(DEAD,), name=None, rows=(Row("dead", Guard.ALWAYS, ErrorCode.UNKNOWN_MEMBER_ID, "COMMIT-01"),)),
            Change(kind=ClassicEvent.DESCRIBE_GROUPS, states=(STABLE,), name="described", rows=(
                Row("described", Guard.ALWAYS, Form.DESCRIBED_STABLE, "PEND-10", note="ids that are pending are not told"),
            )),
        ),
    ),
    Delta(
        since=(2, 1),
        change="retention is counted from when the group became Empty (KIP-211)",
        was=(Change(kind=ClassicEvent.RETENTION, states=(EMPTY, *LIVE), name=None, rows=_RETAINED_BY_COMMIT),),
    ),
    Delta(
        since=(2, 0),
        change="loading is asked before leadership; DeleteGroups takes the empty group id (pull requests 4788, 4851); offsets of partitions that do not exist "
        "are refused, not of unknown topics alone (measured on 1.1.0)",
        fields={"commits_check_partitions": 0},
        before_group={
            ClassicEvent.DESCRIBE_GROUPS: (NOT_ACTIVE, _NOT_LOADED),
            ClassicEvent.DELETE_GROUPS: (NOT_ACTIVE, _GROUP_ID, _NOT_LOADED),
            ClassicEvent.TXN_OFFSET_COMMIT: (NOT_ACTIVE, _NOT_LOADED),
        },
    ),
)  # fmt: skip

assert all(newer.since >= older.since for newer, older in pairwise(ADMIN_DELTAS)), "deltas are listed newest first"
