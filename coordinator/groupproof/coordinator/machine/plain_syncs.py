"""SyncGroups that bring nothing new: a follower's that waits for the leader's, and any that comes when the assignment is there. Pure.

Of a rebalance of n members all but one are of this kind. The table's row for them parks the request, or answers it with what the member was assigned, and strikes the
member off the list of those who have not synced. Whether a release has such a row, and no other for such a request, is read from its table.
"""

from __future__ import annotations

from collections.abc import Callable
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
"""What a follower's SyncGroup does; where nobody is to sync within a time there is nobody to strike off."""

_NEVER_HOLD: Final[frozenset[GuardName]] = frozenset({
    Guard.NOT_ACTIVE, Guard.LOADING, Guard.NOT_LED_HERE, Guard.NOT_LOADED_HERE, Guard.GROUP_ID_EMPTY, Guard.PROTOCOL_UNNAMED, Guard.PROTOCOL_DIFFERS,
    Guard.INSTANCE_UNKNOWN, Guard.FENCED, Guard.STRANGER, Guard.OTHER_GENERATION,
})  # fmt: skip
"""The guards that hold for no request of this kind."""


class PlainSyncs:
    """Does with them as the table would, for a caller who asks for no row; `gate` says whether the machine may look at a group at all."""

    state: Final = GroupState.COMPLETING_REBALANCE
    """Where a follower's request only waits."""

    def __init__(self, engine: Engine, gate: Callable[[str], CoordinatorStatus]) -> None:
        self._engine = engine
        self._gate = gate
        self._parks, self._answers = _are_parked(engine.tables), _are_answered(engine.tables)

    def park(self, group: Any, message: SyncGroupRequest, arrival: Arrival) -> bool:
        """Park the request of a follower, where the leader's is still to come; for any other do nothing. Tell which it was."""
        if not self._parks or message.member_id == group.members.leader:
            return False
        member = self._member(group, message, arrival)
        if member is None:
            return False
        group.members.park_sync(member, ParkedRequest(arrival.token, arrival.api_version))
        mark_synced(self._engine, group, member.member_id)
        return True

    def repeat(self, message: SyncGroupRequest, arrival: Arrival, _now_ms: int) -> SyncGroupResponse | None:
        """Answer a member that asks for what it was assigned; for any other request do nothing."""
        group: Any = self._engine.groups.get(message.group_id)
        if not self._answers or group is None or group.state is not _STABLE or group.dialect is not CLASSIC:
            return None
        member = self._member(group, message, arrival)
        if member is None:
            return None
        mark_synced(self._engine, group, member.member_id)
        return own_assignment(group, member)

    def _member(self, group: Any, message: SyncGroupRequest, arrival: Arrival) -> Member | None:
        """Return the member that asks by its generation and, if it gives any, by its instance and the group's protocol; None for what the table is to look at."""
        members, member_id, instance_id = group.members, message.member_id, message.group_instance_id
        member: Member | None = members.by_id.get(member_id)
        if member is None or message.generation_id != group.generation or not _names_protocol(group, message, arrival.api_version):
            return None
        if (instance_id is not None and members.instances.get(instance_id) != member_id) or self._gate(group.group_id) is not OPEN:
            return None
        return member


def _names_protocol(group: Group, message: SyncGroupRequest, version: int) -> bool:
    """Tell whether the request names the group's protocol as its version has to."""
    if version < PROTOCOL_NAMED_SINCE:
        return message.protocol_type is None and message.protocol_name is None
    return message.protocol_type == group.protocol_type is not None and message.protocol_name == group.protocol_name is not None


def _are_parked(tables: BoundTables) -> bool:
    row = _last_row(tables, PlainSyncs.state, _NEVER_HOLD | {Guard.LEADER})
    return row is not None and row.effects in _PARKS and row.answer is None


def _are_answered(tables: BoundTables) -> bool:
    row = _last_row(tables, _STABLE, _NEVER_HOLD)
    return row is not None and row.effects == (Effect.MARK_SYNCED,) and row.answer is Form.OWN_ASSIGNMENT


def _last_row(tables: BoundTables, state: GroupState, never_hold: frozenset[GuardName]) -> Row | None:
    """Return the row that is left for SyncGroups in `state` if it leads nowhere, None where the release's table has another way."""
    syncs = tables.cells.get(CLASSIC, {}).get((ClassicEvent.SYNC_GROUP, state), ())
    if not syncs:
        return None
    last, others = syncs[-1].row, (*tables.before.get(ClassicEvent.SYNC_GROUP, ()), *syncs[:-1])
    leads_nowhere = last.guard is Guard.ALWAYS and not last.after and last.then is None
    return last if leads_nowhere and all(rule.row.guard in never_hold for rule in others) else None
