"""Tables whose rows note that their guards were asked."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from groupproof.coordinator.machine.bound_tables import BoundTables, Rule, bound_tables
from groupproof.coordinator.machine.coordinator import Arrival, Coordinator
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.protocol.rules import known_profiles, profile, profiles
from groupproof.protocol.rules.noted_reads import noting
from groupproof.protocol.rules.profiles import noted
from groupproof.protocol.wire.messages import HeartbeatRequest, JoinGroupRequest, JoinProtocol


def _rows(tables: BoundTables) -> list[object]:
    cells: tuple[Mapping[Any, tuple[Rule, ...]], ...] = (
        *tables.cells.values(),
        tables.only or {},
        tables.none,
        tables.before,
        tables.before_open,
        tables.of_class,
        tables.before_of_class,
    )
    return [
        (place, [(rule.row, rule.name, rule.effects, rule.says, rule.says_error) for rule in rules]) for of in cells for place, rules in of.items()
    ]


@pytest.mark.parametrize("name", [name for name in known_profiles() if name in profiles()])
def test_all_rows_are_those_of_the_release_and_every_guard_is_noted(name: str) -> None:
    own, again = bound_tables(profile(name), REFERENCE), bound_tables(profile(noted(name)), REFERENCE)

    assert _rows(again) == _rows(own)
    guards = {rule.guard for cells in own.cells.values() for rules in cells.values() for rule in rules}
    assert guards.isdisjoint(rule.guard for cells in (again.before_open, again.of_class, again.none) for rules in cells.values() for rule in rules)


def test_a_machine_notes_its_rows_up_to_the_one_that_holds_by_their_number_in_the_cell() -> None:
    name = "kafka-4.1"
    machine = Coordinator(profile=noted(name), random=random.Random(1))
    join = JoinGroupRequest(
        group_id="g", session_timeout_ms=6_000, rebalance_timeout_ms=6_000, member_id="", protocol_type="consumer",
        protocols=(JoinProtocol(name="range", metadata=b""),),
    )  # fmt: skip
    with noting() as reads:
        machine.handle(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), Arrival(1, 4, "c", "/h"), 0)
        machine.handle(join, Arrival(2, 0, "c", "/h"), 1)

    cells = {kind.value: len(states[None]) for kind, states in profile(name).table.cells.items() if None in states}
    assert reads.rows["Heartbeat/none"] < cells["Heartbeat"]
    assert "JoinGroup/none" in reads.rows
    assert "SyncGroup/none" not in reads.rows
