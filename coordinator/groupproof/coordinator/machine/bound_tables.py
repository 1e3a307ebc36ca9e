"""The tables of a release, with a variant's changes, bound to the functions of their dialects. The engine looks up its steps here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from groupproof.coordinator.machine.function_registry import functions_of
from groupproof.coordinator.machine.noted_tables import with_noted_rows
from groupproof.coordinator.machine.variant import REFERENCE, profile_with
from groupproof.protocol.rules.classic.classic_terms import NO_GROUP, state_name
from groupproof.protocol.rules.dialect_registry import on_change
from groupproof.protocol.rules.noted_reads import NotedFields
from groupproof.protocol.rules.profiles import base_of
from groupproof.protocol.rules.profiles import profile as profile_named
from groupproof.protocol.vocabulary import ErrorCode

if TYPE_CHECKING:
    from enum import StrEnum

    from groupproof.coordinator.machine.any_group import AnyGroup
    from groupproof.coordinator.machine.coordinator_settings import Settings
    from groupproof.coordinator.machine.dialect_functions import CheckConfig, ConfigDefaults, DialectFunctions, RequestClasses, RequestFunctions
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.event import Event
    from groupproof.coordinator.machine.group_batches import Batch
    from groupproof.coordinator.machine.variant import Variant
    from groupproof.protocol.rules.cells import EventKind, Place
    from groupproof.protocol.rules.classic.classic_terms import Row
    from groupproof.protocol.rules.dialect import Dialect, Table
    from groupproof.protocol.rules.profiles import Profile
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["PROFILES_MAX", "BoundTables", "Rule", "bound_tables"]

PROFILES_MAX: Final = 512
"""As many as there are mixed profiles in memory: for one wrong answer the oracle tries some thirty, and the same ones for the next."""

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Rule:
    """A row bound to its functions."""

    row: Row
    name: str
    guard: Callable[[Event], bool]
    effects: tuple[Callable[[EffectContext, Event], None], ...]
    after: tuple[Callable[[EffectContext, Event], None], ...]
    says: Callable[[Event], GroupResponse] | None  # the function that answers a request at once
    says_error: Callable[[Any, Any, Mapping[str, int]], GroupResponse] | None  # the one that answers it with the row's error code
    is_recorded: bool  # a check that changes nothing is not worth an `AppliedRow`


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundTables:
    """A release's rows, bound to functions.

    `cells` are by dialect of the group, `only` is the single dialect's where the release has one. `none` is for events without a group. `before` are
    the checks before the group is looked up; `before_open` leaves out those that hold only where the gate is shut. `of_class` and `before_of_class`
    are the rows of a cell (by dialect, None for no group) and the checks behind an open gate, without the rows that the request's class rules out.
    `home` are the functions of the dialect that an event kind belongs to. `requests` and `batches` are those of all dialects by message type,
    `restored` by record type.
    """

    profile: Profile
    cells: Mapping[Dialect, Mapping[Place, tuple[Rule, ...]]]
    only: Mapping[Place, tuple[Rule, ...]] | None
    none: Mapping[Place, tuple[Rule, ...]]
    before: Mapping[EventKind, tuple[Rule, ...]]
    before_open: Mapping[EventKind, tuple[Rule, ...]]
    of_class: Mapping[tuple[Dialect | None, EventKind, StrEnum | None, int], tuple[Rule, ...]]
    before_of_class: Mapping[tuple[EventKind, int], tuple[Rule, ...]]
    functions: Mapping[Dialect, DialectFunctions]
    home: Mapping[EventKind, DialectFunctions]
    requests: Mapping[type[Any], RequestFunctions]
    batches: Mapping[type[Any], Batch]
    restored: Mapping[type[Any], Callable[[Any], AnyGroup]]
    fields: Mapping[str, int]
    appends: Mapping[EventKind, Mapping[int, int]]
    check_config: CheckConfig
    config_defaults: ConfigDefaults


@lru_cache(maxsize=PROFILES_MAX)
def bound_tables(profile: Profile, variant: Variant) -> BoundTables:
    """Bind the tables of a release, once: the oracle makes a thousand machines of one release.

    Cells that a variant, or a part of another release, does not change reuse the release's rules.
    """
    own, profile = _release(profile, variant), profile_with(profile, variant)
    if own is not None and variant is REFERENCE and _has_cells_of(profile, own.profile):
        altered = replace(own, profile=profile, fields=profile.fields)
        return with_noted_rows(altered) if isinstance(altered.fields, NotedFields) else altered
    tables = tuple(profile.tables.values())
    functions = {table.dialect: functions_of(table.dialect) for table in tables}
    home = _home(tables, functions)
    binder = _Binder(variant, tuple(functions.values()), home, own)
    cells = {table.dialect: binder.cells(table) for table in tables}
    before = {kind: rules for table in tables for kind, rules in binder.before(table).items()}
    gate = frozenset(guard for function in functions.values() for guard in function.gate) - variant.guards.keys()
    before_open = {kind: tuple(rule for rule in rules if rule.row.guard not in gate) for kind, rules in before.items()}
    none = _first_of({place: rules for place, rules in bound.items() if place[1] is NO_GROUP} for bound in cells.values())
    classes = _first_of(function.classes for function in functions.values())
    return BoundTables(
        profile=profile,
        cells=cells,
        only=cells[tables[0].dialect] if len(tables) == 1 else None,
        none=none,
        before=before,
        before_open=before_open,
        of_class={
            (dialect, *place, number): narrow
            for dialect, bound in (*cells.items(), (None, none))
            for place, rules in bound.items()
            for number, narrow in binder.cell_by_class(dialect, place, classes.get(place[0]), rules)
        },
        before_of_class={
            (kind, number): narrow for kind, rules in before_open.items() for number, narrow in binder.by_class(classes.get(kind), rules)
        },
        functions=functions,
        home=home,
        requests=_first_of(function.requests for function in functions.values()),
        batches=_first_of(function.batches for function in functions.values()),
        restored=_first_of(function.restored for function in functions.values()),
        fields=profile.fields,
        appends={kind: answers for table in tables for kind, answers in table.appends.items()},
        check_config=next((function.check_config for function in functions.values() if function.check_config is not None), _no_config),
        config_defaults=next((function.config_defaults for function in functions.values() if function.config_defaults is not None), lambda *_: {}),
    )


on_change(bound_tables.cache_clear)


def _release(profile: Profile, variant: Variant) -> BoundTables | None:
    """Return the tables whose unchanged cells can be reused: the variant's release, or the one that has a part of another."""
    if variant is not REFERENCE:
        return bound_tables(profile, REFERENCE)
    base = base_of(profile.name)
    return bound_tables(profile_named(base), REFERENCE) if base else None


def _has_cells_of(profile: Profile, other: Profile) -> bool:
    """Return whether two profiles differ in nothing but the values of fields."""
    pairs = [(table, other.tables.get(name)) for name, table in profile.tables.items()]
    return len(profile.tables) == len(other.tables) and all(
        was is not None and table.cells is was.cells and table.before_group is was.before_group and table.appends is was.appends
        for table, was in pairs
    )


def _no_config(settings: Settings, fields: Mapping[str, int], group_id: str, configs: Mapping[str, str]) -> tuple[ErrorCode, dict[str, int]]:
    """Refuse every setting of a group: the release has no group settings."""
    return ErrorCode.INVALID_CONFIG, {}


def _first_of(mappings: Iterable[Mapping[K, V]]) -> dict[K, V]:
    """Return the mappings merged into one. An earlier mapping wins."""
    merged: dict[K, V] = {}
    for mapping in mappings:
        merged = {**mapping, **merged}
    return merged


def _home(tables: tuple[Table, ...], functions: Mapping[Dialect, DialectFunctions]) -> Mapping[EventKind, DialectFunctions]:
    """Return the owner of each event kind: a request belongs to its dialect, any other kind to the first dialect that has it."""
    requests = {event: functions[table.dialect] for table in reversed(tables) for event in table.dialect.requests}
    others = {event: functions[table.dialect] for table in reversed(tables) for event in table.dialect.events}
    return {**others, **requests}


@dataclass(frozen=True, slots=True)
class _Functions:
    """Guards, effects and answers by their words, for the groups of one dialect. The variant's come first, then the dialect's own."""

    own: DialectFunctions
    guards: Mapping[Any, Callable[[Event], bool]]
    effects: Mapping[Any, Callable[[EffectContext, Event], None]]
    answers: Mapping[Any, Callable[[Event], GroupResponse]]


@dataclass(frozen=True, slots=True)
class _Binder:
    """Binds rows to functions: those of the group's dialect, or of the dialect that brought the row (`elsewhere`)."""

    variant: Variant
    functions: tuple[DialectFunctions, ...]
    home: Mapping[EventKind, DialectFunctions]
    release: BoundTables | None = None

    def cells(self, table: Table) -> dict[Place, tuple[Rule, ...]]:
        words = self._words(functions_of(table.dialect))
        return {
            (kind, state): self._kept(table.dialect, (kind, state), cell)
            or self._rules(kind, state_name(state) if state is None else f"{table.dialect.state_prefix}{state}", cell, words)
            for kind, states in table.cells.items() for state, cell in states.items()
        }  # fmt: skip

    def _kept(self, dialect: Dialect, place: Place, cell: tuple[Row, ...]) -> tuple[Rule, ...]:
        """Return the release's rules of a cell that the variant does not change; empty where it does or where there is no release."""
        if self.release is None:
            return ()
        kind, state = place
        is_left = self.release.profile.tables[dialect.name].cells.get(kind, {}).get(state) is cell and not self._is_of_variant(cell)
        return self.release.cells[dialect][place] if is_left else ()

    def _is_of_variant(self, cell: tuple[Row, ...]) -> bool:
        """Return whether the variant redefines a word of the cell."""
        variant = self.variant
        return bool(variant.guards or variant.effects or variant.forms) and any(
            row.guard in variant.guards or row.answer in variant.forms or not variant.effects.keys().isdisjoint((*row.effects, *row.after))
            for row in cell
        )

    def cell_by_class(
        self, dialect: Dialect | None, place: Place, classes: RequestClasses | None, rules: tuple[Rule, ...]
    ) -> Iterator[tuple[int, tuple[Rule, ...]]]:
        """Yield a cell's rules for each class (`dialect` is None without a group). A reused cell has those of the release."""
        release = self.release
        if release is None or classes is None or (release.none if dialect is None else release.cells[dialect]).get(place) is not rules:
            return self.by_class(classes, rules)
        return ((number, release.of_class[dialect, *place, number]) for number in range(1, classes.count + 1))

    def before(self, table: Table) -> dict[EventKind, tuple[Rule, ...]]:
        words = self._words(functions_of(table.dialect))
        return {kind: self._rules(kind, "before", cell, words) for kind, cell in table.before_group.items()}

    def by_class(self, classes: RequestClasses | None, rules: tuple[Rule, ...]) -> Iterator[tuple[int, tuple[Rule, ...]]]:
        """Yield the rules for each class, without those that it rules out. A variant's guard stays: it may hold for any request."""
        for number in range(1, 1 if classes is None else classes.count + 1):
            assert classes is not None, "without classes there is no number"
            yield number, tuple(rule for rule in rules if rule.row.guard in self.variant.guards or not classes.rules_out(rule.row.guard, number))

    def _words(self, own: DialectFunctions) -> _Functions:
        variant, dialects = self.variant, (own, *self.functions)
        return _Functions(
            own,
            _first_of((variant.guards, *(functions.guards for functions in dialects))),
            _first_of((variant.effects, *(functions.effects for functions in dialects))),
            _first_of((variant.forms, *(functions.answers for functions in dialects))),
        )

    def _rules(self, kind: EventKind, where: str, cell: tuple[Row, ...], words: _Functions) -> tuple[Rule, ...]:
        return tuple(self._rule(kind, where, row, words) for row in cell)

    def _rule(self, kind: EventKind, where: str, row: Row, words: _Functions) -> Rule:
        does, after = tuple(words.effects[effect] for effect in row.effects), tuple(words.effects[effect] for effect in row.after)
        home = self.home.get(kind, words.own)
        is_error, is_answered = isinstance(row.answer, ErrorCode), kind in home.dialect.requests
        says = None if not is_answered or is_error or row.answer is None else words.answers[row.answer]
        says_error = home.error_answer if is_answered and is_error else None
        is_recorded = kind not in words.own.quiet or bool(does or after or row.then)
        return Rule(row, f"{kind.value}/{where}/{row.name}", words.guards[row.guard], does, after, says, says_error, is_recorded)
