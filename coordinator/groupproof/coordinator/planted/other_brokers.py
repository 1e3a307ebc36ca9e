"""Classic groups as other brokers have them (Redpanda, KoP, Tansu), or as another release of Kafka has them in part: legal, so that no case may fail.

Each is what such a broker does in place of Kafka's newest release.
"""

from __future__ import annotations

from typing import Final

from groupproof.coordinator.machine.variant import Variant
from groupproof.protocol.rules.cells import Row
from groupproof.protocol.rules.classic.classic_states import COMPLETING, EMPTY, LIVE
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect, Guard
from groupproof.protocol.rules.classic.group_table import TABLE
from groupproof.protocol.rules.deltas import Change, gone
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["LEGAL_CLASSIC"]

_MEMBERS_REQUESTS: Final = (ClassicEvent.HEARTBEAT, ClassicEvent.SYNC_GROUP, ClassicEvent.OFFSET_COMMIT)

_OLD_HEARTBEAT: Final = Change(kind=ClassicEvent.HEARTBEAT, states=(COMPLETING,), name="completing", rows=(
    Row("completing", Guard.ALWAYS, ErrorCode.REBALANCE_IN_PROGRESS, "HB-52"),
))  # fmt: skip

LEGAL_CLASSIC: Final[tuple[Variant, ...]] = (
    Variant(name="instances-by-joins-alone", says="Only JoinGroup looks at an instance that nobody has, as in Kafka up to 2.8 (pull request 9958).",
            rows=tuple(change for kind in (*_MEMBERS_REQUESTS, ClassicEvent.LEAVE_ENTRY) for change in gone(kind, LIVE, "unknown-instance"))),
    Variant(name="simple-commits-of-nobody", says="A commit without a generation to an Empty group must name nobody, as in Kafka 3.0 to 3.2.",
            rows=(Change(kind=ClassicEvent.OFFSET_COMMIT, states=(EMPTY,), name="no-membership", rows=(
                Row("no-membership", Guard.NAMES_NOBODY, TABLE[ClassicEvent.OFFSET_COMMIT][EMPTY][0].answer, "TR-029", effects=(Effect.STORE_OFFSETS,)),
            )),)),
    Variant(name="old-timeouts-old-heartbeats", says="A member keeps its first timeouts, as up to 3.3.1, and a Heartbeat between join and sync is answered 27, as up to 2.6.0.",
            rows=(_OLD_HEARTBEAT,), effects={Effect.TAKE_TIMEOUTS: lambda *_: None}),
)  # fmt: skip
