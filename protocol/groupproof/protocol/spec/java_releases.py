"""What the coordinator in Java did otherwise while it was an option of brokers whose default was the one in Scala: deltas as in `releases`.

Read in `GroupCoordinatorService`, `GroupMetadataManager` and `OffsetMetadataManager` of 3.7.2, against 3.8. What the tables do not hold: 3.7 does not
look at what is pending (no 88 to who wants stable offsets, no later commit that holds against a transaction's), and its log may refuse
the commit of a transaction that nobody has verified with 48.
"""

from __future__ import annotations

from typing import Final

from groupproof.protocol.spec.append_errors import FIRST_JAVA_APPENDS
from groupproof.protocol.spec.classic_group import BEFORE_GROUP
from groupproof.protocol.spec.deltas import Change, Delta, Line
from groupproof.protocol.spec.terms import Effect, Form, Guard, On, Row
from groupproof.protocol.vocabulary import GroupState

__all__ = ["JAVA_DELTAS"]

EMPTY: Final = GroupState.EMPTY
LIVE: Final = (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, GroupState.STABLE)

_NOT_ACTIVE, _GROUP_ID, _SESSION_BOUNDS, _LOADING, _LED_ELSEWHERE = BEFORE_GROUP[On.JOIN_GROUP]


# Newest first.
JAVA_DELTAS: Final[tuple[Delta, ...]] = (
    Delta(
        since=(3, 8),
        line=Line.JAVA,
        what="the session timeout is asked before the partition; parked requests are answered 16 when the partition moves away; transactions are verified; "
        "OffsetDelete tells partitions without an offset",
        was=(
            Change(on=On.OFFSET_DELETE, states=(EMPTY, *LIVE), name="deleted", rows=(
                Row("deleted", Guard.ALWAYS, Form.STORED_OFFSETS_DELETED, "COMMIT-23", after=(Effect.DELETE_OFFSETS,), note="KIP-496"),
            )),
        ),
        effects={Effect.ANSWER_PARKED: ()},
        before_group={
            On.JOIN_GROUP: (_NOT_ACTIVE, _GROUP_ID, _LOADING, _LED_ELSEWHERE, _SESSION_BOUNDS),
            On.TXN_OFFSET_COMMIT: tuple(row for row in BEFORE_GROUP[On.TXN_OFFSET_COMMIT] if row.guard is not Guard.UNVERIFIED),
        },
        appends=FIRST_JAVA_APPENDS,
    ),
)  # fmt: skip
