"""Heartbeats that change nothing but how long their member's session lasts: the second one like it is answered as the first one was. Pure.

The table answers the first. Which heartbeats these are a dialect says of its own (`RequestFunctions.at_rest`), by what the group is at that moment:
nothing is remembered that a change of the group would have to take back, but the words of the answer and of the row.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupproof.coordinator.machine.machine_outputs import AppliedRow, Reply
from groupproof.coordinator.machine.timers import TimerKey, session_of

if TYPE_CHECKING:
    from groupproof.coordinator.machine.any_group import AnyGroup
    from groupproof.coordinator.machine.engine import Engine
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["REMEMBERED_MAX", "RepeatedHeartbeats"]

REMEMBERED_MAX: Final = 16_384
"""Of so many members an answer is remembered; then all are forgotten."""


class _Remembered(NamedTuple):
    """How the table answered; it answers so again while it is `group` that is asked, it counts the same `generation`, and has the same `configs`."""

    group: AnyGroup
    generation: int
    configs: Mapping[str, int] | None
    rule: str
    requirement: str
    answer: GroupResponse
    session: TimerKey


class RepeatedHeartbeats:
    """What a machine remembers of heartbeats that changed nothing, by member."""

    def __init__(self) -> None:
        self._remembered: dict[str, _Remembered] = {}

    def answer(self, engine: Engine, group: AnyGroup, message: Any, token: Hashable, session_ends_ms: int) -> bool:
        """Answer a heartbeat that changes nothing but its session, if the table has answered one like it; tell whether it is answered."""
        member_id = message.member_id
        remembered = self._remembered.get(member_id)
        if remembered is None:
            return False
        asked, generation, configs, rule, requirement, answer, session = remembered
        if group is not asked or generation != group.generation or configs is not engine.group_configs.get(group.group_id):
            return False
        engine.timers.arm(session, session_ends_ms)
        engine.out += (AppliedRow(token, group.group_id, rule, requirement, member_id), Reply(token, answer))
        return True

    def remember(self, engine: Engine, group: AnyGroup, message: Any) -> None:
        """Remember how the table has just answered a heartbeat that changed nothing but its session."""
        group_id, member_id = message.group_id, message.member_id
        applied, reply = engine.out[-2:]
        assert isinstance(applied, AppliedRow), f"{member_id} is answered by a row"
        assert isinstance(reply, Reply), f"{member_id} is answered once, and nothing follows"
        if len(self._remembered) >= REMEMBERED_MAX:
            self._remembered.clear()
        self._remembered[member_id] = _Remembered(
            group,
            group.generation,
            engine.group_configs.get(group_id),
            applied.rule,
            applied.requirement,
            reply.message,
            session_of(group_id, member_id),
        )
