"""The differences of the Java coordinator while the Scala one was the brokers' default: deltas as in `releases.py`.

Read in `GroupCoordinatorService`, `GroupMetadataManager` and `OffsetMetadataManager` of 3.7.2, against 3.8. One difference is not in the tables: 3.7
expires a stored offset even while a transaction has a newer one for its partition.
"""

from __future__ import annotations

from typing import Final

from groupproof.protocol.rules.classic.append_errors import FIRST_JAVA_APPENDS
from groupproof.protocol.rules.classic.classic_states import EMPTY, LIVE
from groupproof.protocol.rules.classic.classic_terms import NO_GROUP, ClassicEvent, Effect, Form, Guard, Row
from groupproof.protocol.rules.classic.offsets_table import OFFSETS_BEFORE_GROUP
from groupproof.protocol.rules.classic.shared_rows import GROUP_ID, LED_ELSEWHERE_BLANK, LOADING_BLANK, NOT_ACTIVE, SESSION_BOUNDS
from groupproof.protocol.rules.deltas import Change, CoordinatorKind, Delta
from groupproof.protocol.vocabulary import ErrorCode, GroupState

__all__ = ["JAVA_DELTAS"]

WITH_OFFSETS: Final = (EMPTY, *LIVE)


def _fetches(state: GroupState) -> Change:
    requirements = dict(zip(WITH_OFFSETS, ("TR-031", "TR-066", "TR-097", "TR-125"), strict=True))
    row = Row("fetches", Guard.ALWAYS, Form.COMMITTED_OFFSETS, requirements[state], note="whatever is pending: no 88")
    return Change(kind=ClassicEvent.OFFSET_FETCH, states=(state,), name="fetches", rows=(row,))


# Newest first.
JAVA_DELTAS: Final[tuple[Delta, ...]] = (
    Delta(
        since=(3, 8),
        line=CoordinatorKind.JAVA,
        change="the session timeout is asked before the partition; parked requests are answered 16 when the partition moves away; transactions are verified "
        "(3.7 asks nobody, and the log refuses every one with 48 unless transaction.partition.verification.enable is false: measured on 3.7.2); pending "
        "offsets count: 88 to who wants stable ones, an open transaction keeps its group, a later commit holds against the transaction's, OffsetDelete takes "
        "them too; OffsetDelete tells partitions without an offset",
        was=(
            *map(_fetches, WITH_OFFSETS),
            Change(kind=ClassicEvent.OFFSET_DELETE, states=WITH_OFFSETS, name="deleted", rows=(
                Row("deleted", Guard.ALWAYS, Form.STORED_OFFSETS_DELETED, "COMMIT-23", after=(Effect.DELETE_STORED_OFFSETS,), note="KIP-496"),
            )),
            Change(kind=ClassicEvent.TXN_OFFSET_COMMIT, states=(NO_GROUP,), name="first-commit", keeps=True, rows=(
                Row("not-appended", Guard.FIRST_NOT_APPENDED, Form.COMMITTED, "COMMIT-03", note="no group is left behind"),
            )),
            Change(kind=ClassicEvent.CLEANUP, states=(EMPTY,), name="offsets-remain", rows=(
                Row("offsets-remain", Guard.STORED_OFFSETS_REMAIN, None, "TR-033"),
            )),
        ),
        effects={Effect.ANSWER_PARKED: (), Effect.MATERIALISE_OFFSETS: (Effect.MATERIALISE_OVER_LATER_OFFSETS,)},
        fields={"unverified_error": ErrorCode.INVALID_TXN_STATE},
        before_group={
            ClassicEvent.JOIN_GROUP: (NOT_ACTIVE, GROUP_ID, LOADING_BLANK, LED_ELSEWHERE_BLANK, SESSION_BOUNDS),
            ClassicEvent.TXN_OFFSET_COMMIT: tuple(row for row in OFFSETS_BEFORE_GROUP[ClassicEvent.TXN_OFFSET_COMMIT] if row.guard is not Guard.UNVERIFIED),
        },
        appends=FIRST_JAVA_APPENDS,
    ),
)  # fmt: skip
