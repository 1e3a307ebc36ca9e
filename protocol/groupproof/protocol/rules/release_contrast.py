"""The differences between two profiles, rule by rule, in words. Equal differences in many cells are listed once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from groupproof.protocol.rules.cells import AnswerName, EffectName, EventKind, Row, State, state_name
from groupproof.protocol.rules.dialect import Table
from groupproof.protocol.rules.profiles import Profile
from groupproof.protocol.vocabulary import error_named

__all__ = ["Difference", "ReleaseDiff", "contrast"]

_Place = tuple[str, str]  # an event, and its state
_BEFORE: Final = "before the group is looked at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference as a sentence, and the rules that it affects: event, states and names."""

    says: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseDiff:
    """All differences between two profiles. The lines of `settings`, `fields` and `versions` have the first profile's value first."""

    one: str
    other: str
    behaviour: tuple[Difference, ...]
    fields: tuple[str, ...]
    settings: tuple[str, ...]
    versions: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.behaviour or self.fields or self.settings or self.versions)


def contrast(one: Profile, other: Profile) -> ReleaseDiff:
    """Compare two profiles."""
    found: dict[str, dict[_Place, list[str]]] = {}
    pairs = list(_tables(one, other))
    for says, place, rule in (item for tables in pairs for item in (*_orders(*tables), *_cells(*tables))):
        found.setdefault(says, {}).setdefault(place, []).append(rule)
    behaviour = tuple(Difference(says=says, rules=tuple(_places(places))) for says, places in found.items())
    titles = {api.title: api for api in sorted({*one.api_versions, *other.api_versions})}
    versions = {title: (_range(one.api_versions.get(api)), _range(other.api_versions.get(api))) for title, api in titles.items()}
    return ReleaseDiff(
        one=one.name, other=other.name, behaviour=behaviour, fields=_values(_fields(mine.table for mine, _ in pairs), _fields(theirs.table for _, theirs in pairs)),
        settings=_values(one.defaults, other.defaults),
        versions=tuple(f"{title}: {mine} | {theirs}" for title, (mine, theirs) in versions.items() if mine != theirs),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Side:
    """One profile's table, under the profile's name."""

    name: str
    table: Table


def _tables(one: Profile, other: Profile) -> Iterator[tuple[_Side, _Side]]:
    """Yield the tables to compare: of each common dialect; without a common one, the first of each profile."""
    pairs = [(table, other.tables[name]) for name, table in one.tables.items() if name in other.tables] or [(one.table, other.table)]
    yield from ((_Side(one.name, mine), _Side(other.name, theirs)) for mine, theirs in pairs)


def _fields(tables: Iterable[Table]) -> Mapping[str, int]:
    return {name: value for table in tables for name, value in table.fields.items()}


def _orders(one: _Side, other: _Side) -> Iterator[tuple[str, _Place, str]]:
    """Yield the checks before the group whose answers or order differ: there the order is the rule."""
    for kind in dict.fromkeys((*one.table.dialect.requests, *other.table.dialect.requests)):
        mine, theirs = one.table.before_group.get(kind, ()), other.table.before_group.get(kind, ())
        if [_bare(row) for row in mine] != [_bare(row) for row in theirs]:
            yield f"{one.name} checks: {_checks(mine)}. {other.name}: {_checks(theirs)}", (kind.value, _BEFORE), "order"


def _checks(cell: tuple[Row, ...]) -> str:
    return "; ".join(f"{row.guard.value} → {_answer(row, 'parked')}{_extra(row)}" for row in cell)


def _extra(row: Row) -> str:
    return f" ({'; '.join(effect.value for effect in row.effects)})" if row.effects else ""


def _cells(one: _Side, other: _Side) -> Iterator[tuple[str, _Place, str]]:
    """Yield (difference, place, rule) for every rule that only one table has, or that differs."""
    both = [kind for kind in one.table.cells if kind in other.table.cells]  # includes the requests of other dialects that both speak
    for kind in dict.fromkeys((*one.table.dialect.events, *other.table.dialect.events, *both)):
        for state in (None, *dict.fromkeys(state for side in (one, other) for state in side.table.cells.get(kind, {}) if state is not None)):
            place = (kind.value, state_name(state) if state is None else f"{one.table.dialect.state_prefix}{state}")
            yield from ((says, place, rule) for says, rule in _cell(one, other, kind, state))


def _cell(one: _Side, other: _Side, kind: EventKind, state: State) -> Iterator[tuple[str, str]]:
    mine = {row.name: row for row in one.table.cells.get(kind, {}).get(state, ())}
    theirs = {row.name: row for row in other.table.cells.get(kind, {}).get(state, ())}
    silent = "parked" if kind in one.table.dialect.requests else "no answer"
    for name in dict.fromkeys((*mine, *theirs)):
        if name not in theirs:
            yield f"only {one.name}: {_sentence(mine[name], silent)}", name
        elif name not in mine:
            yield f"only {other.name}: {_sentence(theirs[name], silent)}", name
        elif _bare(mine[name]) != _bare(theirs[name]):
            yield _changes(one.name, mine[name], other.name, theirs[name], silent), name


def _bare(row: Row) -> tuple[object, ...]:
    """Return a rule's behaviour, without its name, sources and notes."""
    return row.guard, row.answer, row.effects, row.then, row.after


def _sentence(row: Row, silent: str) -> str:
    then = f"; then {row.then.value}" if row.then else ""
    does = "".join(f"; {effect.value}" for effect in (*row.effects, *row.after))
    return f"{row.guard.value} → {_answer(row, silent)}{does}{then}"


def _answer(row: Row, silent: str) -> str:
    if row.answer is None:
        return silent
    if isinstance(row.answer, AnswerName):
        return row.answer.value
    return "0" if row.answer == 0 else f"{int(row.answer)} {error_named(row.answer)}"


def _changes(one: str, mine: Row, other: str, theirs: Row, silent: str) -> str:
    lines: list[str] = []
    if mine.guard is not theirs.guard:
        lines.append(f"when {mine.guard.value} | {theirs.guard.value}")
    if mine.answer != theirs.answer:
        lines.append(f"answers {_answer(mine, silent)} | {_answer(theirs, silent)}")
    if mine.then != theirs.then:
        lines.append(f"then {mine.then.value if mine.then else 'stays'} | {theirs.then.value if theirs.then else 'stays'}")
    lines += [f"only {one}: {effect.value}" for effect in _more(mine, theirs)]
    lines += [f"only {other}: {effect.value}" for effect in _more(theirs, mine)]
    return "; ".join(lines) or f"in another order: {'; '.join(effect.value for effect in (*mine.effects, *mine.after))}"


def _more(row: Row, than: Row) -> list[EffectName]:
    others = (*than.effects, *than.after)
    return [effect for effect in (*row.effects, *row.after) if effect not in others]


def _places(places: Mapping[_Place, list[str]]) -> Iterator[str]:
    """Yield each event with its rules, and the states where these are the same."""
    states: dict[tuple[str, str], list[str]] = {}
    for (event, state), rules in places.items():
        states.setdefault((event, ", ".join(rules)), []).append(state)
    yield from (
        f"{event}, {where[0]}" if where == [_BEFORE] else f"{event} in {', '.join(where)}: {rules}" for (event, rules), where in states.items()
    )


def _values(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> tuple[str, ...]:
    names = sorted({*mine, *theirs})
    return tuple(f"{name}: {mine.get(name, 'none')} | {theirs.get(name, 'none')}" for name in names if mine.get(name) != theirs.get(name))


def _range(versions: tuple[int, int] | None) -> str:
    return "none" if versions is None else f"{versions[0]}–{versions[1]}"
