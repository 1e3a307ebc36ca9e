"""The deltas: what each older release did otherwise, cell by cell, and nothing else."""

from __future__ import annotations

from itertools import pairwise

import pytest

from groupproof.protocol.rules import ClassicEvent, State, profile, profiles, rule_name, state_name
from groupproof.protocol.rules.classic.releases import DELTAS, NEWEST_FIELDS, OPTIONAL, RELEASES, line_of
from groupproof.protocol.rules.deltas import CoordinatorKind
from groupproof.protocol.vocabulary import ErrorCode, GroupState

LIVE = (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, GroupState.STABLE)


def _codes(name: str, kind: ClassicEvent, state: State) -> list[tuple[str, object]]:
    return [(row.name, row.answer if not isinstance(row.answer, ErrorCode) else int(row.answer)) for row in profile(name).table.cells[kind][state]]


def _named(name: str, kind: ClassicEvent) -> set[str]:
    table = profile(name)
    return {rule_name(kind, state, row) for state, cell in table.table.cells[kind].items() for row in cell}


def test_deltas_stand_newest_first_and_say_what_came() -> None:
    assert all(newer.since >= older.since for newer, older in pairwise(DELTAS))
    assert all(delta.change and (delta.was or delta.before_group or delta.fields or delta.effects or delta.guards) for delta in DELTAS)


def test_profiles_stand_oldest_first_and_each_for_one_release() -> None:
    assert list(RELEASES) == list(profiles()) == sorted(profiles())
    assert all(name.removesuffix("-new") == f"kafka-{release[0]}.{release[1]}" for name, release in RELEASES.items())
    assert all(RELEASES[name] == RELEASES[default] for name, default in OPTIONAL.items())
    assert list(RELEASES.values()) == sorted(RELEASES.values())


def test_2_8_is_a_release_with_the_sync_deadline() -> None:
    assert RELEASES["kafka-2.8"] >= (2, 8, 1)
    assert (ClassicEvent.SYNC_DEADLINE, GroupState.STABLE) in profile("kafka-2.4").table.unreachable
    assert (ClassicEvent.SYNC_DEADLINE, GroupState.STABLE) not in profile("kafka-2.8").table.unreachable


def test_heartbeat_in_2_4_while_completing() -> None:
    assert _codes("kafka-2.4", ClassicEvent.HEARTBEAT, GroupState.COMPLETING_REBALANCE) == [
        ("fenced", 82), ("stranger", 25), ("other-generation", 22), ("completing", 27),
    ]  # fmt: skip
    assert profile("kafka-2.4").rule("Heartbeat/CompletingRebalance/completing").effects == ()


def test_heartbeat_in_1_1_while_completing_checks_no_generation() -> None:
    assert _codes("kafka-1.1", ClassicEvent.HEARTBEAT, GroupState.COMPLETING_REBALANCE) == [("stranger", 25), ("completing", 27)]
    assert _codes("kafka-1.1", ClassicEvent.HEARTBEAT, GroupState.PREPARING_REBALANCE) == [
        ("stranger", 25),
        ("other-generation", 22),
        ("rebalancing", 27),
    ]
    assert _codes("kafka-1.1", ClassicEvent.HEARTBEAT, GroupState.STABLE) == [("stranger", 25), ("other-generation", 22), ("alive", 0)]


def test_commit_in_2_4_checks_fencing_member_and_generation_before_the_state() -> None:
    assert _codes("kafka-2.4", ClassicEvent.OFFSET_COMMIT, GroupState.COMPLETING_REBALANCE) == [
        ("names-nobody", 25), ("fenced", 82), ("stranger", 25), ("other-generation", 22), ("rebalancing", 27),
    ]  # fmt: skip


def test_commit_in_1_1_while_completing_is_27_before_all_else() -> None:
    assert _codes("kafka-1.1", ClassicEvent.OFFSET_COMMIT, GroupState.COMPLETING_REBALANCE) == [("rebalancing", 27)]


@pytest.mark.parametrize(("name", "code"), [("kafka-1.1", 25), ("kafka-2.4", 15), ("kafka-4.1", 15)])
def test_a_dead_group_is_25_until_2_2_and_15_from_2_3(name: str, code: int) -> None:
    assert _codes(name, ClassicEvent.HEARTBEAT, GroupState.DEAD) == _codes(name, ClassicEvent.OFFSET_COMMIT, GroupState.DEAD) == [("dead", code)]


@pytest.mark.parametrize(("name", "codes"), [("kafka-2.4", [22]), ("kafka-4.1", [69, 22])])
def test_69_for_a_missing_group_came_with_the_coordinator_in_java(name: str, codes: list[int]) -> None:
    assert [code for _, code in _codes(name, ClassicEvent.OFFSET_COMMIT, None)[1:]] == codes


def test_an_unknown_instance_is_overlooked_before_3_0() -> None:
    for kind in (ClassicEvent.HEARTBEAT, ClassicEvent.OFFSET_COMMIT):
        assert {rule.rpartition("/")[2] for rule in _named("kafka-4.1", kind) - _named("kafka-2.4", kind)} == {"unknown-instance", *(
            ("no-group",) if kind is ClassicEvent.OFFSET_COMMIT else ()
        )}  # fmt: skip


def test_the_order_of_checks_before_the_group() -> None:
    order = {name: " ".join(row.name for row in profile(name).table.before_group[ClassicEvent.JOIN_GROUP]) for name in profiles()}
    scala = "group-id-empty not-active loading not-coordinator session-timeout"
    java = "not-active group-id-empty session-timeout loading not-coordinator"

    assert order == {
        "kafka-1.1": "not-active group-id-empty not-coordinator session-timeout",
        **dict.fromkeys((name for name in profiles()[1:] if line_of(name) is CoordinatorKind.SCALA), scala), **dict.fromkeys(("kafka-3.9-new", "kafka-4.0", "kafka-4.1", "kafka-4.2", "kafka-4.3", "kafka-4.4"), java),
        "kafka-3.7-new": "not-active group-id-empty loading not-coordinator session-timeout",
    }  # fmt: skip


@pytest.mark.parametrize(("name", "code"), [("kafka-1.1", None), ("kafka-2.4", 27), ("kafka-4.1", 14)])
def test_a_sync_while_loading(name: str, code: int | None) -> None:
    cell = profile(name).table.before_group[ClassicEvent.SYNC_GROUP]

    assert next((row.answer for row in cell if row.name == "loading"), None) == code


def test_cells_of_every_state_changed() -> None:
    states = {state for delta in DELTAS for change in delta.was for state in change.states}

    assert states == {*LIVE, GroupState.EMPTY, GroupState.DEAD, None}
    assert {state_name(state) for state in states} >= {"none"}


def test_error_answers_to_joins_carry_generation_0_before_2_2() -> None:
    by_name = {name: profile(name).table.fields["join_error_generation"] for name in ("kafka-1.1", "kafka-2.4", "kafka-4.1")}

    assert by_name == {"kafka-1.1": 0, "kafka-2.4": -1, "kafka-4.1": NEWEST_FIELDS["join_error_generation"]}
