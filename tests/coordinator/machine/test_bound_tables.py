"""Tables bound to their functions."""

from __future__ import annotations

import pytest

from groupproof.coordinator.machine.bound_tables import bound_tables
from groupproof.coordinator.machine.classic_functions import CLASSIC_FUNCTIONS
from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.protocol.rules import ClassicEvent, Guard, known_profiles, profile
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
