"""DataLink's Manager keeps a dialect of its own: classic groups without offsets, with an operator who can force a rebalance."""

from __future__ import annotations

import pytest

from groupproof.protocol.rules.classic.classic_terms import On
from groupproof.protocol.rules.datalink.datalink_dialect import DATALINK, DEFAULTS, VERSIONS
from groupproof.protocol.rules.profiles import profile
from groupproof.protocol.vocabulary import Api, GroupState


@pytest.mark.parametrize("event", [On.OFFSET_COMMIT, On.OFFSET_FETCH, On.DESCRIBE_GROUPS, On.DELETE_GROUPS, On.LIST_GROUPS])
def test_what_the_manager_does_not_serve_has_no_cell(event: On) -> None:
    assert not any(profile("datalink").table.cells.get(event, {}).values())


@pytest.mark.requirement("MGR-32", "DISC-19")
def test_the_manager_never_has_a_dead_group_and_the_planned_one_has() -> None:
    states = {
        name: {state for on in profile(name).table.cells.values() for state, rows in on.items() if rows} for name in ("datalink", "datalink-dead")
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
        (on, state) for on, states in found.cells.items() for state, rows in states.items() if not rows and (on, state) not in found.unreachable
    ]

    assert open_cells == []
    assert DATALINK.name == "datalink"
