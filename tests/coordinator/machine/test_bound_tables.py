"""Tables bound to their functions."""

from __future__ import annotations

import pytest

from groupproof.coordinator.machine.bound_tables import BoundTables, Rule, bound_tables
from groupproof.coordinator.machine.classic_functions import CLASSIC_FUNCTIONS
from groupproof.coordinator.machine.event import Event
from groupproof.coordinator.machine.variant import REFERENCE, Variant, profile_with
from groupproof.coordinator.planted.variants import BUGS, variant_named
from groupproof.protocol.rules import ClassicEvent, Effect, Guard, known_profiles, profile
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC


def test_the_tables_of_a_release_are_bound_once() -> None:
    assert bound_tables(profile(), REFERENCE) is bound_tables(profile("kafka-4.1"), REFERENCE)


@pytest.mark.parametrize("name", known_profiles())
def test_every_cell_of_every_dialect_is_bound_under_its_rules_names(name: str) -> None:
    bound = bound_tables(profile(name), REFERENCE)

    assert bound.cells.keys() == set(profile(name).dialects)
    for table in profile(name).tables.values():
        cells = bound.cells[table.dialect]
        assert cells.keys() == {(event, state) for event, states in table.cells.items() for state in states}
        assert {rule.row for rules in cells.values() for rule in rules} == {row for _, _, row in table.rules()}
    assert bound.none == {place: rules for cells in bound.cells.values() for place, rules in cells.items() if place[1] is None}


def test_an_event_kind_is_at_home_in_its_dialect() -> None:
    bound = bound_tables(profile(), REFERENCE)

    assert {bound.home[event] for event in CLASSIC.events} == {CLASSIC_FUNCTIONS}


def test_where_the_gate_is_open_nobody_asks_it() -> None:
    bound = bound_tables(profile(), REFERENCE)

    assert [rule.name for rule in bound.before_open[ClassicEvent.HEARTBEAT]] == ["Heartbeat/before/group-id-empty"]
    assert len(bound.before[ClassicEvent.HEARTBEAT]) > 1


def test_a_gate_that_a_variant_changes_is_asked_always() -> None:
    bound = bound_tables(profile(), Variant(name="x", says="x", guards={Guard.LOADING: lambda event: True}))

    assert "Heartbeat/before/loading" in [rule.name for rule in bound.before_open[ClassicEvent.HEARTBEAT]]


def _rules(bound: BoundTables) -> dict[tuple[object, ...], tuple[Rule, ...]]:
    return {(dialect, *place): rules for dialect, cells in bound.cells.items() for place, rules in cells.items()}


@pytest.mark.parametrize("bug", [bug.name for bug in BUGS][::60])
def test_a_variant_has_its_own_rows_and_the_rules_of_its_release_elsewhere(bug: str) -> None:
    variant = variant_named(bug)
    bound, release = _rules(bound_tables(profile(), variant)), _rules(bound_tables(profile(), REFERENCE))
    tables = profile_with(profile(), variant).tables.values()

    assert {place: tuple(rule.row for rule in rules) for place, rules in bound.items()} == {
        (table.dialect, kind, state): cell for table in tables for kind, states in table.cells.items() for state, cell in states.items()
    }
    assert sum(rules is not release.get(place) for place, rules in bound.items() if rules) < len(release) / 2


def test_what_a_variant_means_by_a_word_it_means_in_every_cell() -> None:
    def guard(_: Event) -> bool:
        return True

    def effect(*_: object) -> None:
        return

    release = _rules(bound_tables(profile(), REFERENCE))
    by_guard = _rules(bound_tables(profile(), Variant(name="x", says="x", guards={Guard.STRANGER: guard})))
    by_effect = _rules(bound_tables(profile(), Variant(name="y", says="y", effects={Effect.ADMIT: effect})))

    guarded = [rule for rules in by_guard.values() for rule in rules if rule.row.guard is Guard.STRANGER]
    assert guarded
    assert {rule.guard for rule in guarded} == {guard}
    acting = [rule for rules in by_effect.values() for rule in rules if Effect.ADMIT in (*rule.row.effects, *rule.row.after)]
    assert acting
    assert all(effect in (*rule.effects, *rule.after) for rule in acting)
    assert any(rules is release[place] for place, rules in by_effect.items() if rules)
