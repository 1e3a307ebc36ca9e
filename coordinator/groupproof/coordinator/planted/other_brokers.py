"""Classic groups as other brokers have them (Redpanda, KoP, Tansu, Nisshi), or as another release of Kafka has them in part: legal, so that no case may fail.

Each is what such a broker does in place of Kafka's newest release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.answers import sync_error
from groupproof.coordinator.machine.effects import EFFECTS
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.join_effects import refuse_join
from groupproof.coordinator.machine.variant import Variant
from groupproof.protocol.rules import profile
from groupproof.protocol.rules.cells import NO_GROUP, Row
from groupproof.protocol.rules.classic.classic_states import COMPLETING, EMPTY, LIVE, PREPARING
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect, Guard
from groupproof.protocol.rules.classic.group_table import TABLE
from groupproof.protocol.rules.classic.signs_of_life import with_sign_of_life
from groupproof.protocol.rules.deltas import Change, gone
from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.event import Event
    from groupproof.coordinator.machine.timers import TimerKey

__all__ = ["LEGAL_CLASSIC"]

_MEMBERS_REQUESTS: Final = (ClassicEvent.HEARTBEAT, ClassicEvent.SYNC_GROUP, ClassicEvent.OFFSET_COMMIT)

_HALF_DELAY_MS: Final = 500
"""The cases about the delay set it to a second."""

_OLD_HEARTBEAT: Final = Change(kind=ClassicEvent.HEARTBEAT, states=(COMPLETING,), name="completing", rows=(
    Row("completing", Guard.ALWAYS, ErrorCode.REBALANCE_IN_PROGRESS, "HB-52"),
))  # fmt: skip


def _in_order(kind: ClassicEvent, state: GroupState, *first: str) -> Change:
    """Return the change that has the rows of these names first. Rows behind one that always holds are never asked."""
    rows = {row.name: row for row in TABLE[kind][state]}
    return Change(kind=kind, states=(state,), rows=(*(rows[name] for name in first), *(row for name, row in rows.items() if name not in first)))


def _same_for_the_group(event: Event) -> bool:
    name = event.existing_group.protocol_name
    return event.member.metadata(name) == next((protocol.metadata for protocol in event.join.protocols if protocol.name == name), None)


def _half_of_delay(key: TimerKey, due_ms: int) -> int:
    return due_ms - _HALF_DELAY_MS if key.kind is ClassicEvent.INITIAL_DELAY_END else due_ms


def _then_end_delay(engine: EffectContext, event: Event) -> None:
    """End the initial delay when a member has left and all others have joined, as Redpanda does (`group::remove_member`)."""
    EFFECTS[Effect.LEAVE_EACH](engine, event)
    group = event.group
    if isinstance(group, Group) and group.state is PREPARING and group.before is EMPTY and group.members.all_joined:
        group.newcomer_came = False
        engine.consequence(ClassicEvent.INITIAL_DELAY_END, event)


def _refuse_older_join(engine: EffectContext, event: Event) -> None:
    older = event.member.join
    EFFECTS[Effect.UPDATE](engine, event)
    if older is not None:
        refuse_join(engine, older, ErrorCode.REBALANCE_IN_PROGRESS, event.member_id)


def _refuse_older_sync(engine: EffectContext, event: Event) -> None:
    older = event.member.sync
    EFFECTS[Effect.PARK_SYNC](engine, event)
    if older is not None:
        engine.reply(older.token, sync_error(ErrorCode.REBALANCE_IN_PROGRESS))


def _refuse_leavers_syncs(engine: EffectContext, event: Event) -> None:
    group = event.group
    waiting = [member for member in group.members if member.sync is not None] if isinstance(group, Group) else []
    parked = [(member.member_id, member.sync) for member in waiting]
    EFFECTS[Effect.LEAVE_EACH](engine, event)
    for member_id, sync in parked:
        if sync is not None and member_id not in event.existing_group.members.by_id:
            engine.reply(sync.token, sync_error(ErrorCode.UNKNOWN_MEMBER_ID))


LEGAL_CLASSIC: Final[tuple[Variant, ...]] = (
    Variant(name="instances-by-joins-alone", says="Only JoinGroup looks at an instance that nobody has, as in Kafka up to 2.8 (pull request 9958).",
            rows=tuple(change for kind in (*_MEMBERS_REQUESTS, ClassicEvent.LEAVE_ENTRY) for change in gone(kind, LIVE, "unknown-instance"))),
    Variant(name="simple-commits-of-nobody", says="A commit without a generation to an Empty group must name nobody, as in Kafka 3.0 to 3.2.",
            rows=(Change(kind=ClassicEvent.OFFSET_COMMIT, states=(EMPTY,), name="no-membership", rows=(
                Row("no-membership", Guard.NAMES_NOBODY, TABLE[ClassicEvent.OFFSET_COMMIT][EMPTY][0].answer, "TR-029", effects=(Effect.STORE_OFFSETS,)),
            )),)),
    Variant(name="old-timeouts-old-heartbeats", says="A member keeps its first timeouts, as up to 3.3.1, and a Heartbeat between join and sync is answered 27, as up to 2.6.0.",
            rows=(_OLD_HEARTBEAT,), effects={Effect.TAKE_TIMEOUTS: lambda *_: None}),
    Variant(name="generation-before-member", says="Heartbeat, SyncGroup and OffsetCommit check the generation before the member, but behind fencing.",
            rows=tuple(_in_order(kind, state, "unknown-instance", "fenced", "other-generation") for kind in _MEMBERS_REQUESTS for state in LIVE)),
    Variant(name="rebalancing-before-member", says="While the group rebalances, requests are answered 27 before the generation or the member is checked, as by KoP and Kafka up to 2.2.",
            rows=(_in_order(ClassicEvent.OFFSET_COMMIT, COMPLETING, "fenced", "rebalancing"),
                  _in_order(ClassicEvent.HEARTBEAT, PREPARING, "unknown-instance", "fenced", "stranger", "rebalancing"),
                  _in_order(ClassicEvent.SYNC_GROUP, PREPARING, "fenced", "rebalancing"))),
    Variant(name="refusals-keep-sessions", says="A refused Heartbeat, SyncGroup or OffsetCommit of a member restarts its session (HB-13 is advice).",
            rows=tuple(
                Change(kind=kind, states=(state,), rows=with_sign_of_life(profile().table, "refused Heartbeats and the like").cells[kind][state])
                for kind in _MEMBERS_REQUESTS for state in LIVE
            )),
    Variant(name="metadata-of-chosen-protocol-counts", says="A follower that joins again begins a rebalance if its metadata for the group's protocol has changed (JOIN-26).",
            guards={Guard.METADATA_SAME: _same_for_the_group}),
    Variant(name="leaver-ends-delay", says="The initial delay ends when a member leaves and all others have joined (IDJ-02, TR-062 are advice).",
            effects={Effect.LEAVE_EACH: _then_end_delay}),
    Variant(name="older-requests-are-refused", says="A JoinGroup or SyncGroup that waits is answered 27 when the member sends it again (JOIN-35, INV-08).",
            effects={Effect.UPDATE: _refuse_older_join, Effect.PARK_SYNC: _refuse_older_sync}),
    Variant(name="syncs-of-leavers-are-refused", says="The SyncGroup of a member that leaves is answered 25 (INV-08).",
            effects={Effect.LEAVE_EACH: _refuse_leavers_syncs}),
    Variant(name="strangers-to-no-group", says="A commit with a generation to a group that does not exist is answered 25, not 22 (COMMIT-10).",
            rows=(Change(kind=ClassicEvent.OFFSET_COMMIT, states=(NO_GROUP,), name="other-generation", rows=(
                Row("other-generation", Guard.ALWAYS, ErrorCode.UNKNOWN_MEMBER_ID, "TR-007"),
            )),)),
    Variant(name="shorter-initial-delay", says="The initial delay is half of what group.initial.rebalance.delay.ms says, and newcomers do not extend it.",
            guards={Guard.NEWCOMER_AND_TIME_LEFT: lambda _: False}, due_ms=_half_of_delay),
)  # fmt: skip
