"""Bugs planted in the table by rule: each row left out, with another answer, without one of its effects, or without its move to another state.

They are made from the profile's own rows, so that a new row brings its mutants. Their names describe them: `gone/Heartbeat/Stable/stranger`,
`code/SyncGroup/Stable/syncs-again`, `stays/Left/Stable/stable`, `without/Heartbeat/Stable/alive/refresh-session`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from groupproof.coordinator.machine.variant import Variant
from groupproof.protocol.rules import ClassicEvent, Profile, Row, State, rule_name
from groupproof.protocol.rules.cells import AnswerName, EffectName, EventKind
from groupproof.protocol.rules.deltas import Change, applied
from groupproof.protocol.rules.dialect import Table
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["mutants"]

_OTHER_CODES: Final = {
    ErrorCode.NONE: ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.UNKNOWN_MEMBER_ID: ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.ILLEGAL_GENERATION: ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.NOT_COORDINATOR,
    ErrorCode.REBALANCE_IN_PROGRESS: ErrorCode.NONE,
    ErrorCode.FENCED_INSTANCE_ID: ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.UNKNOWN_SERVER_ERROR: ErrorCode.INVALID_GROUP_ID,
}
_OTHER: Final = ErrorCode.UNKNOWN_SERVER_ERROR


def mutants(profile: Profile) -> Iterator[Variant]:
    """Yield every mutant of the profile's tables."""
    for table in profile.tables.values():
        made = _mutants_of_table(table)
        yield from made if table is profile.table else (replace(mutant, dialect=table.dialect.name) for mutant in made)


def _mutants_of_table(table: Table) -> Iterator[Variant]:
    for kind, cell in table.before_group.items():
        for row in cell:
            yield from _mutants_of(table, kind, None, row, cell, is_before=True)
    for kind, state, row in table.rules():
        yield from _mutants_of(table, kind, state, row, table.cells[kind][state], is_before=False)


def _mutants_of(table: Table, kind: EventKind, state: State, row: Row, cell: tuple[Row, ...], *, is_before: bool) -> Iterator[Variant]:
    dialect = table.dialect
    where = f"{kind.value}/before/{row.name}" if is_before else rule_name(kind, state, row, dialect.state_prefix)

    def made(name: str, says: str, *rows: Row) -> Variant:
        if is_before:
            change = Change(kind=kind, states=(), name=row.name, rows=rows)
            return Variant(name=name, says=says, breaks=(row.requirement,), before={kind: applied(change, cell)})
        return Variant(name=name, says=says, breaks=(row.requirement,), rows=(Change(kind=kind, states=(state,), name=row.name, rows=rows),))

    if row is not cell[-1] or is_before:
        yield made(f"gone/{where}", f"The rule {where} is not there: the next that fits applies.")
    elif row.effects or row.after or (row.answer is not None and kind is not ClassicEvent.LEAVE_ENTRY):
        answer = row.answer if kind is ClassicEvent.LEAVE_ENTRY else None
        yield made(
            f"gone/{where}", f"The rule {where} does nothing and answers nothing.", replace(row, answer=answer, effects=(), then=None, after=())
        )
    if kind in dialect.requests or kind is ClassicEvent.LEAVE_ENTRY:
        yield made(f"code/{where}", f"The rule {where} answers another code.", replace(row, answer=_other(row.answer)))
    if row.then is not None:
        yield made(f"stays/{where}", f"The rule {where} leaves the group in its state.", replace(row, then=None))
    for effect in dict.fromkeys((*row.effects, *row.after)):
        without = replace(row, effects=_less(row.effects, effect), after=_less(row.after, effect))
        yield made(f"without/{where}/{effect.name.lower().replace('_', '-')}", f"The rule {where} does not {effect.value}.", without)


def _less(effects: tuple[EffectName, ...], effect: EffectName) -> tuple[EffectName, ...]:
    return tuple(effect_name for effect_name in effects if effect_name is not effect)


def _other(answer: ErrorCode | AnswerName | None) -> ErrorCode:
    if not isinstance(answer, ErrorCode):
        return ErrorCode.REBALANCE_IN_PROGRESS
    return _OTHER_CODES.get(answer, _OTHER)
