"""A shortcut for JoinGroups that only wait: a member rejoins unchanged in a rebalance, and other members are still missing. Pure.

In a rebalance of n members all but the first and the last are of this kind. The table's row sets values that the member already has, and the
following check of the join phase finds a missing member. The release's table decides whether it has only that row for such a request.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.event import OPEN
from groupproof.coordinator.machine.members import ParkedRequest
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect, Guard
from groupproof.protocol.vocabulary import GroupState

if TYPE_CHECKING:
    from groupproof.coordinator.machine.bound_tables import BoundTables, Rule
    from groupproof.coordinator.machine.engine import Engine
    from groupproof.coordinator.machine.event import CoordinatorStatus
    from groupproof.coordinator.machine.group import Group
    from groupproof.coordinator.machine.machine_outputs import Arrival
    from groupproof.coordinator.machine.members import Member
    from groupproof.protocol.rules.cells import EffectName, GuardName
    from groupproof.protocol.rules.classic.classic_terms import Row
    from groupproof.protocol.wire.messages import JoinGroupRequest

__all__ = ["UnchangedJoins"]

_UPDATES: Final[frozenset[tuple[EffectName, ...]]] = frozenset({(Effect.UPDATE,), (Effect.UPDATE, Effect.TAKE_TIMEOUTS)})
"""The effects that only park the JoinGroup of an unchanged member."""

_NEVER_HOLD: Final[frozenset[GuardName]] = frozenset({
    Guard.NOT_ACTIVE, Guard.LOADING, Guard.NOT_LED_HERE, Guard.NOT_LOADED_HERE, Guard.GROUP_ID_EMPTY, Guard.SESSION_TIMEOUT_OUT_OF_BOUNDS,
    Guard.GROUP_IS_FULL, Guard.GROUP_IS_FULL_BY_SIZE, Guard.PROTOCOLS_UNFIT, Guard.INSTANCE_NAMED, Guard.INSTANCE_COMES, Guard.MEMBER_ID_NEEDED,
    Guard.NO_MEMBER_ID, Guard.PENDING_WITH_INSTANCE, Guard.PENDING_WITH_INSTANCE_UNSAID, Guard.PENDING, Guard.INSTANCE_UNKNOWN, Guard.FENCED, Guard.STRANGER,
})  # fmt: skip
"""The guards that hold for no such JoinGroup."""


class UnchangedJoins:
    """Parks unchanged JoinGroups as the table would, for callers that need no row. `gate` returns the coordinator's status for a group."""

    state: Final = GroupState.PREPARING_REBALANCE

    def __init__(self, engine: Engine, gate: Callable[[str], CoordinatorStatus]) -> None:
        self._engine = engine
        self._gate = gate
        self._rule = _rule_of(engine.tables)

    def park(self, group: Any, message: JoinGroupRequest, arrival: Arrival) -> bool:
        """Park a request that only waits, and return True. Do nothing for any other. The group must be in PreparingRebalance."""
        if self._rule is None:
            return False
        member = group.members.by_id.get(message.member_id)
        if member is None or not (_is_as_before(member, message) and self._waits_for_others(group, message)):
            return False
        if self._gate(message.group_id) is not OPEN:
            return False
        group.members.park_join(member, ParkedRequest(arrival.token, arrival.api_version))
        return True

    def _waits_for_others(self, group: Group, message: JoinGroupRequest) -> bool:
        """Return whether members other than this one are missing, and the group is not oversized."""
        members = group.members
        return members.joined + 1 < len(members.by_id) <= self._engine.settings.group_max_size and message.protocol_type == group.protocol_type


def _is_as_before(member: Member, message: JoinGroupRequest) -> bool:
    """Return whether the request repeats the member's last one and names no instance. That one was within bounds and fit the group."""
    return (
        message.group_instance_id is None
        and member.session_timeout_ms == message.session_timeout_ms
        and member.rebalance_timeout_ms == message.rebalance_timeout_ms
        and member.protocols == message.protocols
    )


@lru_cache(maxsize=64)  # the oracle makes a thousand machines of one release
def _rule_of(tables: BoundTables) -> Rule | None:
    """Return the row that parks them, None where the release's table may apply another row."""
    cells = tables.cells.get(CLASSIC, {})
    joins = cells.get((ClassicEvent.JOIN_GROUP, UnchangedJoins.state), ())
    if not joins or not _only_updates(joins[-1].row):
        return None
    others = (*tables.before.get(ClassicEvent.JOIN_GROUP, ()), *joins[:-1])
    are_ruled_out = all(rule.row.guard in _NEVER_HOLD for rule in others)
    return joins[-1] if are_ruled_out and _ends_by_missing(cells.get((ClassicEvent.JOIN_CHECK, UnchangedJoins.state), ())) else None


def _only_updates(row: Row) -> bool:
    return row.guard is Guard.ALWAYS and row.effects in _UPDATES and row.after == (Effect.CHECK_JOINS,) and row.answer is None and row.then is None


def _ends_by_missing(rules: tuple[Rule, ...]) -> bool:
    """Return whether a check that finds a missing member changes nothing: no row up to JOINS_MISSING has an effect or is recorded."""
    end = next((number for number, rule in enumerate(rules) if rule.row.guard is Guard.JOINS_MISSING), len(rules))
    return end < len(rules) and not any(rule.is_recorded for rule in rules[: end + 1])
