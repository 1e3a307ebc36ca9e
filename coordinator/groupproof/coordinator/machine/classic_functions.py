"""The functions of the classic dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.answers import FORMS, error_answer
from groupproof.coordinator.machine.dialect_functions import DialectFunctions, RequestFunctions
from groupproof.coordinator.machine.effects import EFFECTS
from groupproof.coordinator.machine.event import Event
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.group_batches import BATCHES
from groupproof.coordinator.machine.guards import GUARDS
from groupproof.coordinator.machine.join_effects import fill_join
from groupproof.coordinator.machine.storage import StoredGroup
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Guard
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)

if TYPE_CHECKING:
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.machine_outputs import Arrival

__all__ = ["CLASSIC_FUNCTIONS"]


def _fill(event: Event, message: SyncGroupRequest | HeartbeatRequest | OffsetCommitRequest | TxnOffsetCommitRequest) -> None:
    event.member_id, event.instance_id, event.generation = message.member_id, message.group_instance_id, message.generation_id


def _fill_nothing(event: Event, message: LeaveGroupRequest | OffsetDeleteRequest) -> None:
    """Leave the event unchanged: a LeaveGroup names its members in entries, and an OffsetDelete names none."""


def _at_rest(_: EffectContext, group: Any, message: HeartbeatRequest, __: Arrival, ___: int) -> int | None:
    """Only a Stable group has heartbeats at rest. The request's instance, if any, must be the member's own."""
    if group.state is not GroupState.STABLE or group.dialect is not CLASSIC or message.generation_id != group.generation:
        return None
    instance_id, member_id, members = message.group_instance_id, message.member_id, group.members
    member = members.by_id.get(member_id)
    if member is None or (instance_id is not None and members.instances.get(instance_id) != member_id):
        return None
    session_ms: int = member.session_timeout_ms
    return session_ms


def _again_at_rest(group: Any, message: HeartbeatRequest, _: Arrival, __: int) -> int | None:
    """Return the session if the member and its instance still match. Its heartbeat was at rest in this generation and state."""
    members = group.members
    member = members.by_id.get(message.member_id)
    if member is None:
        return None
    instance_id = message.group_instance_id
    if instance_id is not None and members.instances.get(instance_id) != message.member_id:
        return None
    session_ms: int = member.session_timeout_ms
    return session_ms


_REQUESTS: Final[Mapping[type, RequestFunctions]] = {
    JoinGroupRequest: RequestFunctions(kind=ClassicEvent.JOIN_GROUP, event=Event, fill=fill_join, asks_offsets=False),
    SyncGroupRequest: RequestFunctions(kind=ClassicEvent.SYNC_GROUP, event=Event, fill=_fill, asks_offsets=False),
    HeartbeatRequest: RequestFunctions(
        kind=ClassicEvent.HEARTBEAT,
        event=Event,
        fill=_fill,
        asks_offsets=False,
        at_rest=_at_rest,
        again_at_rest=_again_at_rest,
    ),
    LeaveGroupRequest: RequestFunctions(kind=ClassicEvent.LEAVE_GROUP, event=Event, fill=_fill_nothing, asks_offsets=False),
    OffsetCommitRequest: RequestFunctions(kind=ClassicEvent.OFFSET_COMMIT, event=Event, fill=_fill),
    TxnOffsetCommitRequest: RequestFunctions(kind=ClassicEvent.TXN_OFFSET_COMMIT, event=Event, fill=_fill),
    OffsetDeleteRequest: RequestFunctions(kind=ClassicEvent.OFFSET_DELETE, event=Event, fill=_fill_nothing),
}


def _group(group_id: str, since_ms: int) -> Group:
    return Group(group_id=group_id, since_ms=since_ms)


CLASSIC_FUNCTIONS: Final = DialectFunctions(
    dialect=CLASSIC,
    restored={StoredGroup: Group.restored},
    guards=GUARDS,
    answers=FORMS,
    effects=EFFECTS,
    group=_group,
    event=Event,
    error_answer=error_answer,
    requests=_REQUESTS,
    batches=BATCHES,
    gate=frozenset({Guard.NOT_ACTIVE, Guard.LOADING, Guard.LOADING_OLD, Guard.NOT_LED_HERE, Guard.NOT_LOADED_HERE}),
    quiet=frozenset({ClassicEvent.JOIN_CHECK, ClassicEvent.ABSENCE_CHECK}),
)
