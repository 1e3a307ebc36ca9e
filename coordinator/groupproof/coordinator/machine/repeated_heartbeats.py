"""Heartbeats that change nothing but how long their member's session lasts: the second one like it is answered as the first one was. Pure.

The table answers the first. Which heartbeats these are a dialect says of its own (`RequestFunctions.at_rest`), by what the group is at that moment:
nothing is remembered that a change of the group would have to take back, but the words of the answer and of the row.
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

    TakeUp = Callable[[RequestFunctions, Any, Arrival], None]

__all__ = ["REMEMBERED_MAX", "RepeatedHeartbeats"]

REMEMBERED_MAX: Final = 16_384
"""Of so many members an answer is remembered; then all are forgotten."""


class _Remembered(NamedTuple):
    """How the table answered; it answers so again while it is `group` that is asked, in the same `state` and `generation`, and with the same `configs`."""

    group: AnyGroup
    state: StrEnum
    generation: int
    configs: Mapping[str, int] | None
    rule: str
    requirement: str
    answer: GroupResponse
    session: TimerKey
    message: object
    """The request that was answered so last."""
    session_ms: int
    """How long the member's session went on with it."""


class RepeatedHeartbeats:
    """What a machine remembers of heartbeats that changed nothing, by member; `gate` says whether it may look at a group at all."""

    def __init__(self, engine: Engine, gate: Callable[[str], CoordinatorStatus]) -> None:
        self._engine = engine
        self._gate = gate
        self._remembered: dict[str, _Remembered] = {}

    def repeat(self, request: RequestFunctions, message: Any, arrival: Arrival, now_ms: int) -> GroupResponse | None:
        """Do what a heartbeat does that changes nothing but its session, and return the answer, if the table has answered one like it; else do nothing.

        It is asked of a coordinator that is active and loads nothing, so that it leads the groups that it knows.
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

    def answer(self, request: RequestFunctions, message: Any, arrival: Arrival, now_ms: int, take_up: TakeUp) -> bool:
        """Do the same, and put out the row and the answer; let the table `take_up` the first of its like. Tell whether it was a heartbeat that changes nothing."""
        engine, token = self._engine, arrival.token
        answered = self._again(request, message, arrival, now_ms)
        if isinstance(answered, _Remembered):
            engine.out += (AppliedRow(token, message.group_id, answered.rule, answered.requirement, message.member_id), Reply(token, answered.answer))
        elif answered is not None:
            take_up(request, message, arrival)
            self._remember(answered, message)
        return answered is not None

    def _again(self, request: RequestFunctions, message: Any, arrival: Arrival, now_ms: int) -> _Remembered | AnyGroup | None:
        """Return the words for a heartbeat that changes nothing, once it is done; its group where there are none for it, and None where it may change more."""
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
        """Remember how the table has just answered a heartbeat that changed nothing but its session."""
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
