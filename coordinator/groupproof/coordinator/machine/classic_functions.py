"""The functions of the classic dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.coordinator.machine.answers import FORMS, error_answer
from groupproof.coordinator.machine.dialect_functions import DialectFunctions
from groupproof.coordinator.machine.effects import EFFECTS
from groupproof.coordinator.machine.event import Input
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.group_batches import BATCHES
from groupproof.coordinator.machine.guards import GUARDS
from groupproof.protocol.rules import Guard, On
from groupproof.protocol.rules.cells import EventKind
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.wire.messages import (
    GroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)

__all__ = ["CLASSIC_FUNCTIONS"]

_REQUESTS: Final[Mapping[type, EventKind]] = {
    JoinGroupRequest: On.JOIN_GROUP,
    SyncGroupRequest: On.SYNC_GROUP,
    HeartbeatRequest: On.HEARTBEAT,
    LeaveGroupRequest: On.LEAVE_GROUP,
    OffsetCommitRequest: On.OFFSET_COMMIT,
    TxnOffsetCommitRequest: On.TXN_OFFSET_COMMIT,
    OffsetDeleteRequest: On.OFFSET_DELETE,
}


def _fill(event: Input, message: GroupRequest) -> None:
    event.member_id = getattr(message, "member_id", "")
    event.instance_id = getattr(message, "group_instance_id", None)
    event.generation = getattr(message, "generation_id", -1)


def _group(group_id: str, since_ms: int) -> Group:
    return Group(group_id=group_id, since_ms=since_ms)


CLASSIC_FUNCTIONS: Final = DialectFunctions(
    dialect=CLASSIC,
    guards=GUARDS,
    answers=FORMS,
    effects=EFFECTS,
    group=_group,
    event=Input,
    fill=_fill,
    error_answer=error_answer,
    requests=_REQUESTS,
    batches=BATCHES,
    gate=frozenset({Guard.NOT_ACTIVE, Guard.LOADING, Guard.LOADING_OLD, Guard.NOT_LED_HERE, Guard.NOT_LOADED_HERE}),
    quiet=frozenset({On.JOIN_CHECK, On.ABSENCE_CHECK}),
)
