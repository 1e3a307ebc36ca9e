"""The functions of DataLink's dialect: the classic ones, with a group type of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from groupproof.coordinator.machine.event import Event
from groupproof.coordinator.machine.group import Group
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.rules.datalink.datalink_dialect import DATALINK, ManagerEffect

if TYPE_CHECKING:
    from groupproof.coordinator.machine.dialect_functions import DialectFunctions
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.protocol.rules.cells import EffectName
    from groupproof.protocol.rules.dialect import Dialect

__all__ = ["WorkerGroup", "datalink_functions"]


@dataclass(slots=True, kw_only=True)
class WorkerGroup(Group):
    """A group of DataLink's workers."""

    dialect: ClassVar[Dialect] = DATALINK


def _group(group_id: str, since_ms: int) -> WorkerGroup:
    return WorkerGroup(group_id=group_id, since_ms=since_ms)


def _keep_assignment(engine: EffectContext, event: Event) -> None:
    kept = Event(
        kind=ClassicEvent.APPENDED,
        now_ms=event.now_ms,
        settings=event.settings,
        group_id=event.group_id,
        group=event.group,
        generation=event.generation,
    )
    kept.assignment = {assignment.member_id: assignment.assignment for assignment in event.sync.assignments}
    engine.apply(kept)


def datalink_functions(classic: DialectFunctions) -> DialectFunctions:
    """Return the functions of DataLink's dialect, made from the classic ones."""
    effects: Mapping[EffectName, Callable[[EffectContext, Event], None]] = {**classic.effects, ManagerEffect.KEEP_ASSIGNMENT: _keep_assignment}
    return replace(
        classic,
        dialect=DATALINK,
        guards={word: classic.guards[word] for word in DATALINK.guards},
        answers={word: classic.answers[word] for word in DATALINK.answers},
        effects={word: effects[word] for word in DATALINK.effects},
        group=_group,
        requests={message: request for message, request in classic.requests.items() if request.kind in DATALINK.requests},
        batches={},
    )
