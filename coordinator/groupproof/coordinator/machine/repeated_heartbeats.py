"""A shortcut for heartbeats that only extend their member's session: a repeated one gets the answer of the first. Pure.

The table answers the first. Each dialect defines such heartbeats (`RequestFunctions.at_rest`) by the group's current condition. Only the answer and
the row's name are remembered, so no change of the group has to invalidate anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupproof.coordinator.machine.event import OPEN
from groupproof.coordinator.machine.machine_outputs import AppliedRow, Reply
from groupproof.coordinator.machine.timers import TimerKey, session_of

if TYPE_CHECKING:
    from groupproof.coordinator.machine.any_group import AnyGroup
    from groupproof.coordinator.machine.dialect_functions import RequestFunctions
    from groupproof.coordinator.machine.engine import Engine
    from groupproof.coordinator.machine.event import CoordinatorStatus
    from groupproof.coordinator.machine.machine_outputs import Arrival
    from groupproof.protocol.wire.messages import GroupResponse

    Process = Callable[[RequestFunctions, Any, Arrival], None]

__all__ = ["REMEMBERED_MAX", "RepeatedHeartbeats"]

REMEMBERED_MAX: Final = 16_384
"""The number of members whose answers are remembered. One more clears the memory."""


class _Remembered(NamedTuple):
    """The table's answer. It is valid while the request's group is `group`, with the same `state`, `generation` and `configs`."""

    group: AnyGroup
    state: StrEnum
    generation: int
    configs: Mapping[str, int] | None
    rule: str
    requirement: str
    answer: GroupResponse
    session: TimerKey
    message: object
    """The last request with this answer."""
    session_ms: int
    """The session of the member with that request, in ms."""


class RepeatedHeartbeats:
    """A machine's memory of heartbeats that only extended a session, by member. `gate` returns the coordinator's status for a group."""

    def __init__(self, engine: Engine, gate: Callable[[str], CoordinatorStatus]) -> None:
        self._engine = engine
        self._gate = gate
        self._remembered: dict[str, _Remembered] = {}

    def repeat(self, request: RequestFunctions, message: Any, arrival: Arrival, now_ms: int) -> GroupResponse | None:
        """Extend the session and return the answer, if the table has answered such a heartbeat before; otherwise return None, without a change.

        The coordinator must be active and must load nothing, so that it leads every group it knows.
        """
        remembered = self._remembered.get(message.member_id)
        if remembered is None:
            return None
        engine, group = self._engine, remembered.group
        if engine.groups.get(message.group_id) is not group or group.state is not remembered.state or group.generation != remembered.generation:
            return None
        if engine.append_error or engine.group_configs.get(message.group_id) is not remembered.configs:
            return None
        session_ms = request.again_at_rest(group, message, arrival, remembered.session_ms) if message is remembered.message else None
        if not session_ms:
            session_ms = None if request.at_rest is None else request.at_rest(engine, group, message, arrival, now_ms)
            if not session_ms:
                return None
            self._remembered[message.member_id] = remembered._replace(message=message, session_ms=session_ms)
        engine.timers.arm(remembered.session, now_ms + session_ms)
        return remembered.answer

    def answer(self, request: RequestFunctions, message: Any, arrival: Arrival, now_ms: int, process: Process) -> bool:
        """Process a heartbeat at rest and put out its row and answer.

        The table processes the first one (`process`). Return whether the heartbeat was at rest.
        """
        engine, token = self._engine, arrival.token
        answered = self._again(request, message, arrival, now_ms)
        if isinstance(answered, _Remembered):
            engine.out += (AppliedRow(token, message.group_id, answered.rule, answered.requirement, message.member_id), Reply(token, answered.answer))
        elif answered is not None:
            process(request, message, arrival)
            self._remember(answered, message)
        return answered is not None

    def _again(self, request: RequestFunctions, message: Any, arrival: Arrival, now_ms: int) -> _Remembered | AnyGroup | None:
        """Extend the session and return the remembered answer of a heartbeat at rest.

        Return its group where nothing is remembered, None where it is not at rest.
        """
        engine, group_id = self._engine, message.group_id
        group = engine.groups.get(group_id)
        if group is None or request.at_rest is None or engine.append_error:
            return None
        session_ms = request.at_rest(engine, group, message, arrival, now_ms)
        if not session_ms or self._gate(group_id) is not OPEN:
            return None
        remembered = self._remembered.get(message.member_id)
        if remembered is None or group is not remembered.group or group.state is not remembered.state or group.generation != remembered.generation:
            return group
        if engine.group_configs.get(group_id) is not remembered.configs:
            return group
        engine.timers.arm(remembered.session, now_ms + session_ms)
        return remembered

    def _remember(self, group: AnyGroup, message: Any) -> None:
        """Remember the table's last answer to a heartbeat that only extended its session."""
        engine, group_id, member_id = self._engine, message.group_id, message.member_id
        applied, reply = engine.out[-2:]
        assert isinstance(applied, AppliedRow), f"{member_id} is answered by a row"
        assert isinstance(reply, Reply), f"{member_id} is answered once, and nothing follows"
        if len(self._remembered) >= REMEMBERED_MAX:
            self._remembered.clear()
        self._remembered[member_id] = _Remembered(
            group,
            group.state,
            group.generation,
            engine.group_configs.get(group_id),
            applied.rule,
            applied.requirement,
            reply.message,
            session_of(group_id, member_id),
            None,
            0,
        )
