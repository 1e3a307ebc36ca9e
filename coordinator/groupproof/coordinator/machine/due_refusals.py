"""All refusals that are due to a request, not only the first in Kafka's order. Pure.

The oracle uses them, because the protocol leaves most of that order open (`groupproof.protocol.rules.check_order`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from groupproof.coordinator.machine.event import OPEN
from groupproof.protocol.rules.classic.classic_terms import Effect
from groupproof.protocol.vocabulary import ErrorCode

if TYPE_CHECKING:
    from groupproof.coordinator.machine.bound_tables import Rule
    from groupproof.coordinator.machine.engine import Engine
    from groupproof.coordinator.machine.event import Event
    from groupproof.protocol.rules.cells import EffectName, Row
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["DueRefusal", "due_refusals"]

_NO_REFUSALS: Final = (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED)
_LEAVE_NO_TRACE: Final = frozenset({Effect.BLANK_MEMBER_ID, Effect.REJECT, Effect.REFRESH_SESSION, Effect.REFRESH_SESSION_SPARING_NEWCOMERS})
"""Effects on the answer alone, on the handed-out id of a member that is refused, or on the session of a member whom 27 reaches before 22."""


class DueRefusal(NamedTuple):
    """A refusal that is due: its row, and the whole answer."""

    rule: str
    requirement: str
    code: ErrorCode
    message: GroupResponse


def due_refusals(engine: Engine, event: Event) -> list[DueRefusal]:
    """Return the refusals that are due to the event of a request in its group's current state, in Kafka's order; change nothing.

    All of them have the same effect on the group as the first one, which is nearly always none.
    """
    rules = list(_refusing(engine, event))
    alike = [rule for rule in rules if _marks(rule.row) == _marks(rules[0].row)]
    return [
        DueRefusal(rule.name, rule.row.requirement, rule.row.answer, answer)
        for rule in alike
        if isinstance(rule.row.answer, ErrorCode) and (answer := engine.answer_by(rule, event)) is not None
    ]


def _refusing(engine: Engine, event: Event) -> Iterator[Rule]:
    """Yield the rows that refuse, up to the first one that lets the request through.

    If the coordinator is not available for the group, the group's own rows are left out. A guard may rely on the rows before it, and fail where one
    of them holds: this ends the rows.
    """
    checks = (*engine.tables.before[event.kind], *(engine.rules_of(event) if event.gate is OPEN else ()))
    for rule in checks:
        try:
            is_due = rule.guard(event)
        except (AssertionError, AttributeError, KeyError):
            return
        if is_due and not _refuses(rule.row):
            return
        if is_due:
            yield rule


def _refuses(row: Row) -> bool:
    return isinstance(row.answer, ErrorCode) and row.answer not in _NO_REFUSALS and row.then is None and not row.after


def _marks(row: Row) -> tuple[EffectName, ...]:
    return tuple(effect for effect in row.effects if effect not in _LEAVE_NO_TRACE)
