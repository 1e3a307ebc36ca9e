"""A dialect as an object: its table at a release, and the proof that the table is total."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from groupproof.protocol.rules import ClassicEvent, known_profiles, profile
from groupproof.protocol.rules.cells import AnswerName, Cells, EventKind, Place, Row
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_terms import Guard
from groupproof.protocol.rules.deltas import Change, CoordinatorKind, Delta
from groupproof.protocol.rules.dialect import Dialect, missing_cells, newer_deltas, table_of, undone
from groupproof.protocol.rules.dialect_registry import dialect_named, dialects
from groupproof.protocol.vocabulary import GroupState

NEWEST = (99,)
STABLE = GroupState.STABLE
PLACE = (ClassicEvent.HEARTBEAT, STABLE)
BORN = Delta(since=(98,), change="it was otherwise", was=(Change(kind=ClassicEvent.HEARTBEAT, states=(STABLE,)),), unreachable={PLACE: "not yet"})


@pytest.mark.parametrize(("name", "dialect"), [(name, dialect) for name in known_profiles() for dialect in profile(name).tables])
def test_each_table_of_each_profile_is_total(name: str, dialect: str) -> None:
    release = profile(name)

    assert missing_cells(release.tables[dialect], tuple(item for item in release.dialects if item.name != dialect)) == []


@pytest.mark.parametrize("dialect", dialects(), ids=lambda dialect: str(dialect.name))
def test_every_word_of_a_dialect_is_used_in_one_of_its_tables_and_no_other_word(dialect: Dialect) -> None:
    releases = [release for name in known_profiles() if dialect in (release := profile(name)).dialects]
    tables = [release.tables[dialect.name] for release in releases]
    foreign = {place for other in dialects() if other is not dialect for place in _brought_to(dialect, other)}
    abroad = [(release.tables[name], set(_brought_to(dialect_named(name), dialect))) for release in releases for name in dialect.elsewhere]
    rows = [
        *(row for table in tables for event, state, row in table.rules() if (event, state) not in foreign),
        *(row for table, places in abroad for event, state, row in table.rules() if (event, state) in places),
        *(row for table in tables for cell in table.before_group.values() for row in cell),
    ]

    asked_of_others = {event for release in releases for other in release.dialects for event in other.requests} | {event for event, _ in foreign}
    present = {event for table in tables for event, states in table.cells.items() if states}
    assert set(dialect.events) <= present | {event for _, places in abroad for event, _ in places}
    assert present <= {*dialect.events, *asked_of_others}
    assert {row.guard for row in rows} == set(dialect.guards)
    assert {row.answer for row in rows if isinstance(row.answer, AnswerName)} == set(dialect.answers)
    assert {effect for row in rows for effect in (*row.effects, *row.after)} == set(dialect.effects)


def _brought_to(host: Dialect, guest: Dialect) -> list[Place]:
    """Return the cells of the host's table that the guest brings."""
    return [(event, state) for event, states in guest.elsewhere.get(host.name, {}).items() for state in states]


def test_a_cell_that_is_neither_there_nor_explained_is_missing() -> None:
    table = table_of(CLASSIC, NEWEST, CoordinatorKind.JAVA)
    cells = {event: {state: cell for state, cell in states.items() if (event, state) != PLACE} for event, states in table.cells.items()}

    assert missing_cells(table) == []
    assert missing_cells(replace(table, cells=cells)) == [PLACE]
    assert missing_cells(replace(table, cells=cells, unreachable={**table.unreachable, PLACE: "never"})) == []
    conditional = {
        **table.cells,
        ClassicEvent.HEARTBEAT: {**table.cells[ClassicEvent.HEARTBEAT], STABLE: (Row("stranger", Guard.STRANGER, None, "TR-119"),)},
    }
    assert missing_cells(replace(table, cells=conditional)) == [PLACE], "what if it is no stranger?"
    assert missing_cells(replace(table, unreachable={**table.unreachable, PLACE: "never"})) == [PLACE], "both there and explained"


def test_a_request_of_another_dialect_wants_a_cell_in_every_state_of_a_group() -> None:
    class Ask(EventKind):
        PING = "Ping"

    other = replace(CLASSIC, name="other", events=tuple(Ask), requests=tuple(Ask))
    table = table_of(CLASSIC, NEWEST, CoordinatorKind.JAVA)

    assert set(missing_cells(table, (other,))) == set(product(Ask, GroupState))

    answers: Cells = {Ask.PING: {state: (Row("unknown", Guard.ALWAYS, None, "JOIN-01"),) for state in GroupState}}
    other = replace(other, elsewhere={"classic": answers})
    beside = table_of(CLASSIC, NEWEST, CoordinatorKind.JAVA, beside=(other,))
    assert missing_cells(beside, (other,)) == []
    assert beside.cells[Ask.PING] == answers[Ask.PING]
    assert {event: cell for event, cell in beside.cells.items() if event in CLASSIC.events} == table.cells


def test_a_table_is_that_of_its_release_and_of_what_its_profile_adds() -> None:
    born = replace(CLASSIC, deltas=(BORN, *CLASSIC.deltas))

    assert STABLE in table_of(born, (98,), CoordinatorKind.JAVA).cells[ClassicEvent.HEARTBEAT]
    before = table_of(born, (97,), CoordinatorKind.JAVA)
    assert STABLE not in before.cells[ClassicEvent.HEARTBEAT]
    assert before.unreachable[PLACE] == "not yet"
    assert missing_cells(before) == []
    assert table_of(CLASSIC, (97,), CoordinatorKind.JAVA, deltas=(BORN,), unreachable={PLACE: "in this one"}).unreachable[PLACE] == "in this one"


def test_deltas_are_undone_newest_first_and_only_those_of_the_line() -> None:
    of_scala = replace(BORN, line=CoordinatorKind.SCALA, since=(97,))
    dialect = replace(CLASSIC, deltas=(of_scala, BORN))

    assert newer_deltas(dialect, (96,), CoordinatorKind.SCALA) == [BORN, of_scala]
    assert newer_deltas(dialect, (96,), CoordinatorKind.JAVA) == [BORN]
    assert newer_deltas(dialect, (97,), CoordinatorKind.SCALA) == [BORN]
    assert newer_deltas(dialect, (98,), CoordinatorKind.SCALA) == []


def test_a_delta_leaves_the_cells_that_it_is_given_as_they_are() -> None:
    before = dict(CLASSIC.cells[ClassicEvent.HEARTBEAT])

    assert undone(BORN, CLASSIC.cells)[ClassicEvent.HEARTBEAT][STABLE] == ()
    assert CLASSIC.cells[ClassicEvent.HEARTBEAT] == before


def test_a_dialect_has_the_state_of_no_group_before_those_of_a_group() -> None:
    assert CLASSIC.all_states == (None, *GroupState)
