"""The functions of the classic dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.coordinator.machine.answers import FORMS, error_answer
from groupproof.coordinator.machine.dialect_functions import DialectFunctions, RequestFunctions
from groupproof.coordinator.machine.effects import EFFECTS
from groupproof.coordinator.machine.event import Input
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.group_batches import BATCHES
from groupproof.coordinator.machine.guards import GUARDS
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_terms import Guard, On
from groupproof.protocol.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)

__all__ = ["CLASSIC_FUNCTIONS"]


def _fill_join(event: Input, message: JoinGroupRequest) -> None:
    event.member_id, event.instance_id = message.member_id, message.group_instance_id


def _fill(event: Input, message: SyncGroupRequest | HeartbeatRequest | OffsetCommitRequest | TxnOffsetCommitRequest) -> None:
    event.member_id, event.instance_id, event.generation = message.member_id, message.group_instance_id, message.generation_id


def _fill_nothing(event: Input, message: LeaveGroupRequest | OffsetDeleteRequest) -> None:
    """Leave the event as it is: whom a LeaveGroup is about its entries say, and an OffsetDelete is about no member."""


_REQUESTS: Final[Mapping[type, RequestFunctions]] = {
    JoinGroupRequest: RequestFunctions(kind=On.JOIN_GROUP, event=Input, fill=_fill_join, asks_offsets=False),
    SyncGroupRequest: RequestFunctions(kind=On.SYNC_GROUP, event=Input, fill=_fill, asks_offsets=False),
    HeartbeatRequest: RequestFunctions(kind=On.HEARTBEAT, event=Input, fill=_fill, asks_offsets=False),
    LeaveGroupRequest: RequestFunctions(kind=On.LEAVE_GROUP, event=Input, fill=_fill_nothing, asks_offsets=False),
    OffsetCommitRequest: RequestFunctions(kind=On.OFFSET_COMMIT, event=Input, fill=_fill),
    TxnOffsetCommitRequest: RequestFunctions(kind=On.TXN_OFFSET_COMMIT, event=Input, fill=_fill),
    OffsetDeleteRequest: RequestFunctions(kind=On.OFFSET_DELETE, event=Input, fill=_fill_nothing),
}


def _group(group_id: str, since_ms: int) -> Group:
    return Group(group_id=group_id, since_ms=since_ms)


CLASSIC_FUNCTIONS: Final = DialectFunctions(
    dialect=CLASSIC,
    guards=GUARDS,
    answers=FORMS,
    effects=EFFECTS,
    group=_group,
    event=Input,
    error_answer=error_answer,
    requests=_REQUESTS,
    batches=BATCHES,
    gate=frozenset({Guard.NOT_ACTIVE, Guard.LOADING, Guard.LOADING_OLD, Guard.NOT_LED_HERE, Guard.NOT_LOADED_HERE}),
    quiet=frozenset({On.JOIN_CHECK, On.ABSENCE_CHECK}),
)
