"""The tables of DataLink's Manager: total, closed in themselves, and different from Kafka's only in what they say."""

from __future__ import annotations

from itertools import product

import pytest

from groupproof.protocol.rules import STATES, ClassicEvent, Guard, known_profiles, profile, profiles, relatives, rows, state_name
from groupproof.protocol.rules.datalink.datalink_dialect import DATALINK, DEFAULTS, VERSIONS
from groupproof.protocol.rules.release_contrast import contrast
from groupproof.protocol.rules.requirements import requirements
from groupproof.protocol.rules.verification import evidence_text
from groupproof.protocol.vocabulary import Api, GroupState


def test_the_relatives_are_profiles_but_no_releases_of_kafka() -> None:
    assert relatives() == ("datalink", "datalink-dead")
    assert known_profiles() == (*profiles(), *relatives())
    assert not set(relatives()) & set(profiles())


@pytest.mark.parametrize("name", relatives())
def test_every_input_in_every_state_has_a_cell_or_is_sworn_unreachable(name: str) -> None:
    table = profile(name)
    cells = {(kind, state) for kind, states in table.table.cells.items() for state in states}

    assert cells | set(table.table.unreachable) == set(product(DATALINK.events, STATES))
    assert not cells & set(table.table.unreachable)
    assert set(table.table.before_group) == set(DATALINK.requests)


@pytest.mark.parametrize("name", relatives())
def test_every_cell_ends_in_its_only_unconditional_row_and_cites_the_catalogue(name: str) -> None:
    catalogue = {requirement.id for requirement in requirements()}
    for kind, states in profile(name).table.cells.items():
        for state, cell in states.items():
            assert [row.guard is Guard.ALWAYS for row in cell] == [False] * (len(cell) - 1) + [True], f"{kind.value}/{state_name(state)}"
    assert {row.requirement for _, _, row in rows(name)} <= catalogue


@pytest.mark.requirement("TIMER-27", "TIMER-31")
@pytest.mark.parametrize("name", relatives())
def test_versions_and_bounds_are_those_of_kafka_0_10_1(name: str) -> None:
    table = profile(name)

    assert table.release == (0, 10, 1)
    assert {api.title: versions for api, versions in table.api_versions.items()} == {
        "Metadata": (0, 2), "FindCoordinator": (0, 0), "JoinGroup": (0, 1), "Heartbeat": (0, 0), "LeaveGroup": (0, 0), "SyncGroup": (0, 0),
        "ApiVersions": (0, 0),
    }  # fmt: skip
    assert (table.defaults["group.min.session.timeout.ms"], table.defaults["group.max.session.timeout.ms"]) == (6_000, 300_000)


def test_what_differs_from_the_oldest_kafka_can_be_reported() -> None:
    found = contrast(profile("datalink"), profile("kafka-1.1"))

    text = " ".join(rule for difference in found.behaviour for rule in difference.rules)
    assert "JoinGroup in none: first-member" in text
    assert any("SyncGroup" in line for line in found.versions)


@pytest.mark.requirement("MGR-32")
def test_each_says_what_it_rests_on_and_how_dead_stands() -> None:
    assert "No group is ever Dead" in evidence_text("datalink")
    assert "as planned" in evidence_text("datalink-dead")


@pytest.mark.parametrize(
    "event",
    [ClassicEvent.OFFSET_COMMIT, ClassicEvent.OFFSET_FETCH, ClassicEvent.DESCRIBE_GROUPS, ClassicEvent.DELETE_GROUPS, ClassicEvent.LIST_GROUPS],
)
def test_what_the_manager_does_not_serve_has_no_cell(event: ClassicEvent) -> None:
    assert not any(profile("datalink").table.cells.get(event, {}).values())


@pytest.mark.requirement("MGR-32", "DISC-19")
def test_the_manager_never_has_a_dead_group_and_the_planned_one_has() -> None:
    states = {
        name: {state for entry in profile(name).table.cells.values() for state, rows in entry.items() if rows}
        for name in ("datalink", "datalink-dead")
    }

    assert GroupState.DEAD not in states["datalink"]
    assert GroupState.DEAD in states["datalink-dead"]


@pytest.mark.requirement("TIMER-27", "TIMER-31")
def test_it_speaks_the_versions_of_its_time_by_its_own_defaults() -> None:
    assert VERSIONS[Api.JOIN_GROUP] == (0, 1)
    assert Api.OFFSET_COMMIT not in VERSIONS
    assert DEFAULTS["group.initial.rebalance.delay.ms"] == 0
    assert profile("datalink").defaults == DEFAULTS


def test_its_table_is_total_over_its_own_states() -> None:
    found = profile("datalink").table
    open_cells = [
        (kind, state) for kind, states in found.cells.items() for state, rows in states.items() if not rows and (kind, state) not in found.unreachable
    ]

    assert open_cells == []
    assert DATALINK.name == "datalink"
