"""`groupproof explain SyncGroup/PreparingRebalance --profile kafka-2.4`: prints one cell of a release's table in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupproof.protocol.rules.cells import EventKind, Row, State
    from groupproof.protocol.rules.dialect import Table

__all__ = ["cell_lines"]


def cell_lines(name: str, profile_name: str | None) -> list[str] | None:
    """Return the rows of `INPUT`, `INPUT/STATE` or `INPUT/STATE/RULE`, in the coordinator's order; None where no input has the name.

    Raise `WrongUsage` for a profile, state or rule that does not exist.
    """
    from groupproof.harness.model.errors import WrongUsage
    from groupproof.protocol.rules.dialect_registry import dialects
    from groupproof.protocol.rules.profiles import NEWEST, UnknownProfile, profile

    input_name, *rest = name.split("/")
    event = next((event for dialect in dialects() for event in dialect.events if event.value.lower() == input_name.lower()), None)
    if event is None:
        return None
    try:
        found = profile(profile_name or NEWEST)
    except UnknownProfile as unknown:
        raise WrongUsage(str(unknown)) from None
    tables = [table for table in found.tables.values() if event in table.dialect.events]
    if not tables:
        raise WrongUsage(_of_others(event, found.name))
    lines = [f"{event.value} in {found.name}; the first row whose condition holds is the rule"]
    for table in tables:
        if len(tables) > 1:
            lines += ["", f"Of {table.dialect.group_says}"]
        if table.before_group.get(event):
            lines += ["", "Before the group is looked at", *_rows(table, event, table.before_group[event])]
        for state, rows in _states(found.name, table, event, *rest[:1]).items():
            lines += ["", *_state(table, event, state, _chosen(rows, name, *rest[1:]))]
    return lines


def _of_others(event: EventKind, profile_name: str) -> str:
    """Return which dialect has an event that the profile's groups never get, and a profile that speaks it."""
    from groupproof.protocol.documents.render_dialects import profile_that_speaks
    from groupproof.protocol.rules.dialect_registry import dialects

    owner = next(dialect for dialect in dialects() if event in dialect.events)
    return f"{event.value} comes to {owner.group_says}, and {profile_name} has no such group; say --profile {profile_that_speaks(owner).name}"


def _states(profile_name: str, found: Table, event: EventKind, state_name: str | None = None) -> Mapping[State, tuple[Row, ...]]:
    from groupproof.harness.model.errors import WrongUsage
    from groupproof.harness.model.selection import nearest
    from groupproof.protocol.rules.classic.classic_terms import state_name as name_of

    states = dict(found.cells.get(event, {})) | {state: () for one, state in found.unreachable if one == event}
    if state_name is None:
        return states
    chosen = {state: rows for state, rows in states.items() if name_of(state).lower() == state_name.lower()}
    if not chosen:
        names = [name_of(state) for state in states]
        raise WrongUsage(
            f"{event.value} has no state {state_name!r} in {profile_name}{nearest(state_name, names)}; it has {', '.join(names) or 'none'}"
        )
    return chosen


def _chosen(rows: tuple[Row, ...], name: str, rule: str | None = None) -> tuple[Row, ...]:
    from groupproof.harness.model.errors import WrongUsage
    from groupproof.harness.model.selection import nearest

    chosen = tuple(row for row in rows if rule is None or row.name == rule)
    if rule is not None and not chosen:
        raise WrongUsage(f"there is no rule {name!r}{nearest(rule, [row.name for row in rows])}; see groupproof explain {name.rsplit('/', 1)[0]}")
    return chosen


def _state(found: Table, event: EventKind, state: State, rows: tuple[Row, ...]) -> Iterator[str]:
    from groupproof.protocol.rules.classic.classic_terms import state_name

    yield f"{event.value}/{state_name(state)}"
    if not rows:
        yield f"  cannot come up: {found.unreachable[event, state]}"
    yield from _rows(found, event, rows)


def _rows(table: Table, event: EventKind, rows: tuple[Row, ...]) -> Iterator[str]:
    from groupproof.protocol.documents.render_tables import answer_words, effect_words

    for number, row in enumerate(rows, 1):
        yield f"  {number}. {row.name}: {row.guard.value}"
        yield f"     answer: {answer_words(row, is_request=event in table.dialect.requests) or 'none'}"
        if row.effects or row.after:
            yield f"     does: {effect_words(row)}"
        if row.then:
            yield f"     then: {row.then.value}"
        yield f"     requirement: {row.requirement}{f' ({row.note})' if row.note else ''}"
