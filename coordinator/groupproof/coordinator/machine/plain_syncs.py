"""A shortcut for plain SyncGroups: a follower's that waits for the leader's, and any that comes after the assignment. Pure.

In a rebalance of n members all but one are plain. The table's row parks the request, or answers it with the member's assignment, and marks the member
as synced. The release's table decides whether it has only such a row for such a request.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.answers import own_assignment
from groupproof.coordinator.machine.effects import mark_synced
from groupproof.coordinator.machine.event import OPEN
from groupproof.coordinator.machine.guards import PROTOCOL_NAMED_SINCE
from groupproof.coordinator.machine.members import ParkedRequest
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect, Form, Guard
from groupproof.protocol.vocabulary import GroupState

if TYPE_CHECKING:
    from groupproof.coordinator.machine.bound_tables import BoundTables
    from groupproof.coordinator.machine.engine import Engine
    from groupproof.coordinator.machine.event import CoordinatorStatus
    from groupproof.coordinator.machine.group import Group
    from groupproof.coordinator.machine.machine_outputs import Arrival
    from groupproof.coordinator.machine.members import Member
    from groupproof.protocol.rules.cells import EffectName, GuardName
    from groupproof.protocol.rules.classic.classic_terms import Row
    from groupproof.protocol.wire.messages import SyncGroupRequest, SyncGroupResponse

__all__ = ["PlainSyncs"]

_STABLE: Final = GroupState.STABLE

_PARKS: Final[frozenset[tuple[EffectName, ...]]] = frozenset({(Effect.PARK_SYNC,), (Effect.PARK_SYNC, Effect.MARK_SYNCED)})
"""The effects of a follower's SyncGroup. Without a sync deadline no member is marked."""

_NEVER_HOLD: Final[frozenset[GuardName]] = frozenset({
    Guard.NOT_ACTIVE, Guard.LOADING, Guard.NOT_LED_HERE, Guard.NOT_LOADED_HERE, Guard.GROUP_ID_EMPTY, Guard.PROTOCOL_UNNAMED, Guard.PROTOCOL_DIFFERS,
    Guard.INSTANCE_UNKNOWN, Guard.FENCED, Guard.STRANGER, Guard.OTHER_GENERATION,
})  # fmt: skip
"""The guards that hold for no plain SyncGroup."""


class PlainSyncs:
    """Processes plain SyncGroups as the table would, for callers that need no row. `gate` returns the coordinator's status for a group."""

    state: Final = GroupState.COMPLETING_REBALANCE
    """The state in which a follower's request only waits."""

    def __init__(self, engine: Engine, gate: Callable[[str], CoordinatorStatus]) -> None:
        self._engine = engine
        self._gate = gate
        self._parks, self._answers = _are_parked(engine.tables), _are_answered(engine.tables)

    def park(self, group: Any, message: SyncGroupRequest, arrival: Arrival) -> bool:
        """Park a follower's request that waits for the leader's, and return True. Do nothing for any other."""
        if not self._parks or message.member_id == group.members.leader:
            return False
        member = self._member(group, message, arrival)
        if member is None:
            return False
        group.members.park_sync(member, ParkedRequest(arrival.token, arrival.api_version))
        mark_synced(self._engine, group, member.member_id)
        return True

    def repeat(self, message: SyncGroupRequest, arrival: Arrival, _now_ms: int) -> SyncGroupResponse | None:
        """Answer a member that asks for its assignment; return None, without a change, for any other request."""
        group: Any = self._engine.groups.get(message.group_id)
        if not self._answers or group is None or group.state is not _STABLE or group.dialect is not CLASSIC:
            return None
        member = self._member(group, message, arrival)
        if member is None:
            return None
        mark_synced(self._engine, group, member.member_id)
        return own_assignment(group, member)

    def _member(self, group: Any, message: SyncGroupRequest, arrival: Arrival) -> Member | None:
        """Return the member if its generation, instance (if any) and protocol match the group; None where the table must decide."""
        members, member_id, instance_id = group.members, message.member_id, message.group_instance_id
        member: Member | None = members.by_id.get(member_id)
        if member is None or message.generation_id != group.generation or not _names_protocol(group, message, arrival.api_version):
            return None
        if (instance_id is not None and members.instances.get(instance_id) != member_id) or self._gate(group.group_id) is not OPEN:
            return None
        return member


def _names_protocol(group: Group, message: SyncGroupRequest, version: int) -> bool:
    """Return whether the request names the group's protocol as its version requires."""
    if version < PROTOCOL_NAMED_SINCE:
        return message.protocol_type is None and message.protocol_name is None
    return message.protocol_type == group.protocol_type is not None and message.protocol_name == group.protocol_name is not None


@lru_cache(maxsize=64)  # the oracle makes a thousand machines of one release
def _are_parked(tables: BoundTables) -> bool:
    row = _last_row(tables, PlainSyncs.state, _NEVER_HOLD | {Guard.LEADER})
    return row is not None and row.effects in _PARKS and row.answer is None


@lru_cache(maxsize=64)
def _are_answered(tables: BoundTables) -> bool:
    row = _last_row(tables, _STABLE, _NEVER_HOLD)
    return row is not None and row.effects == (Effect.MARK_SYNCED,) and row.answer is Form.OWN_ASSIGNMENT


def _last_row(tables: BoundTables, state: GroupState, never_hold: frozenset[GuardName]) -> Row | None:
    """Return the last row for SyncGroups in `state` if it changes no state; None where the release's table may apply another row."""
    syncs = tables.cells.get(CLASSIC, {}).get((ClassicEvent.SYNC_GROUP, state), ())
    if not syncs:
        return None
    last, others = syncs[-1].row, (*tables.before.get(ClassicEvent.SYNC_GROUP, ()), *syncs[:-1])
    leads_nowhere = last.guard is Guard.ALWAYS and not last.after and last.then is None
    return last if leads_nowhere and all(rule.row.guard in never_hold for rule in others) else None
