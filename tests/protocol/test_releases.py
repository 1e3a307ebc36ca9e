"""The deltas: what each older release did otherwise, cell by cell, and nothing else."""

from __future__ import annotations

from itertools import pairwise

import pytest

from groupproof.protocol.spec import On, State, profile, profiles, rule_name, state_name
from groupproof.protocol.spec.releases import COVERED, DELTAS, NEWEST_FIELDS, RELEASES
from groupproof.protocol.vocabulary import ErrorCode, GroupState

LIVE = (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, GroupState.STABLE)


def _codes(name: str, on: On, state: State) -> list[tuple[str, object]]:
    return [(row.name, row.answer if not isinstance(row.answer, ErrorCode) else int(row.answer)) for row in profile(name).cells[on][state]]


def _named(name: str, on: On) -> set[str]:
    table = profile(name)
    return {rule_name(on, state, row) for state, cell in table.cells[on].items() for row in cell}


def test_deltas_stand_newest_first_and_say_what_came() -> None:
    assert all(newer.since > older.since for newer, older in pairwise(DELTAS))
    assert all(delta.what and (delta.was or delta.before_group or delta.fields) for delta in DELTAS)


def test_every_profile_says_what_it_covers() -> None:
    assert COVERED.keys() == RELEASES.keys() == set(profiles())
    assert COVERED["kafka-4.1"] == frozenset(On)


def test_what_the_deltas_hold_of_inputs_that_no_older_profile_covers_whole() -> None:
    changed = {change.on for delta in DELTAS for change in delta.was}

    assert changed - COVERED["kafka-1.1"] == {On.SYNC_GROUP, On.LEFT}


def test_heartbeat_in_2_4_while_completing() -> None:
    assert _codes("kafka-2.4", On.HEARTBEAT, GroupState.COMPLETING_REBALANCE) == [
        ("fenced", 82), ("stranger", 25), ("other-generation", 22), ("completing", 27),
    ]  # fmt: skip
    assert profile("kafka-2.4").rule("Heartbeat/CompletingRebalance/completing").effects == ()


def test_heartbeat_in_1_1_while_completing_checks_no_generation() -> None:
    assert _codes("kafka-1.1", On.HEARTBEAT, GroupState.COMPLETING_REBALANCE) == [("stranger", 25), ("completing", 27)]
    assert _codes("kafka-1.1", On.HEARTBEAT, GroupState.PREPARING_REBALANCE) == [("stranger", 25), ("other-generation", 22), ("rebalancing", 27)]
    assert _codes("kafka-1.1", On.HEARTBEAT, GroupState.STABLE) == [("stranger", 25), ("other-generation", 22), ("alive", 0)]


def test_commit_in_2_4_checks_fencing_member_and_generation_before_the_state() -> None:
    assert _codes("kafka-2.4", On.OFFSET_COMMIT, GroupState.COMPLETING_REBALANCE) == [
        ("names-nobody", 25), ("fenced", 82), ("stranger", 25), ("other-generation", 22), ("rebalancing", 27),
    ]  # fmt: skip


def test_commit_in_1_1_while_completing_is_27_before_all_else() -> None:
    assert _codes("kafka-1.1", On.OFFSET_COMMIT, GroupState.COMPLETING_REBALANCE) == [("rebalancing", 27)]


@pytest.mark.parametrize(("name", "code"), [("kafka-1.1", 25), ("kafka-2.4", 15), ("kafka-4.1", 15)])
def test_a_dead_group_is_25_until_2_2_and_15_from_2_3(name: str, code: int) -> None:
    assert _codes(name, On.HEARTBEAT, GroupState.DEAD) == _codes(name, On.OFFSET_COMMIT, GroupState.DEAD) == [("dead", code)]


@pytest.mark.parametrize(("name", "codes"), [("kafka-2.4", [22]), ("kafka-4.1", [69, 22])])
def test_69_for_a_missing_group_came_with_the_coordinator_in_java(name: str, codes: list[int]) -> None:
    assert [code for _, code in _codes(name, On.OFFSET_COMMIT, None)[1:]] == codes


def test_an_unknown_instance_is_overlooked_before_3_0() -> None:
    for on in (On.HEARTBEAT, On.OFFSET_COMMIT):
        assert {rule.rpartition("/")[2] for rule in _named("kafka-4.1", on) - _named("kafka-2.4", on)} == {"unknown-instance", *(
            ("no-group",) if on is On.OFFSET_COMMIT else ()
        )}  # fmt: skip


def test_the_order_of_checks_before_the_group() -> None:
    order = {name: [row.name for row in profile(name).before_group[On.JOIN_GROUP]] for name in profiles()}

    assert order == {
        "kafka-1.1": ["not-active", "group-id-empty", "not-coordinator", "loading", "session-timeout"],
        "kafka-2.4": ["group-id-empty", "not-active", "loading", "not-coordinator", "session-timeout"],
        "kafka-4.1": ["not-active", "group-id-empty", "session-timeout", "loading", "not-coordinator"],
    }


@pytest.mark.parametrize(("name", "code"), [("kafka-1.1", None), ("kafka-2.4", 27), ("kafka-4.1", 14)])
def test_a_sync_while_loading(name: str, code: int | None) -> None:
    cell = profile(name).before_group[On.SYNC_GROUP]

    assert next((row.answer for row in cell if row.name == "loading"), None) == code


def test_only_live_and_dead_cells_and_the_missing_group_changed() -> None:
    states = {state for delta in DELTAS for change in delta.was for state in change.states}

    assert states == {*LIVE, GroupState.DEAD, None}
    assert {state_name(state) for state in states} >= {"none"}


def test_error_answers_to_joins_carry_generation_0_before_2_2() -> None:
    assert NEWEST_FIELDS == profile("kafka-2.4").fields == {"join_error_generation": -1}
    assert profile("kafka-1.1").fields == {"join_error_generation": 0}
