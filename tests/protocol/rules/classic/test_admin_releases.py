"""What older releases did otherwise with admin requests, transactional commits and retention."""

from __future__ import annotations

from itertools import pairwise

import pytest

from groupproof.protocol.rules import ClassicEvent, Form, State, profile, profiles
from groupproof.protocol.rules.classic.admin_releases import ADMIN_DELTAS
from groupproof.protocol.rules.classic.admin_table import ADMIN
from groupproof.protocol.rules.classic.offsets_table import OFFSETS
from groupproof.protocol.rules.deltas import CoordinatorKind
from groupproof.protocol.vocabulary import ErrorCode, GroupState

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState


def _answers(name: str, kind: ClassicEvent, state: State) -> list[object]:
    return [int(row.answer) if isinstance(row.answer, ErrorCode) else row.answer for row in profile(name).table.cells[kind][state]]


def _checks(name: str, kind: ClassicEvent) -> list[str]:
    return [row.name for row in profile(name).table.before_group[kind]]


def test_deltas_stand_newest_first_say_what_came_and_touch_only_their_own_inputs_and_what_the_log_refuses() -> None:
    assert all(newer.since >= older.since for newer, older in pairwise(ADMIN_DELTAS))
    assert all(delta.change and (delta.was or delta.before_group) for delta in ADMIN_DELTAS)
    changed = {change.kind for delta in ADMIN_DELTAS for change in delta.was if change.name != "not-appended"}
    assert changed | {kind for delta in ADMIN_DELTAS for kind in delta.before_group} <= {*ADMIN, *OFFSETS}


@pytest.mark.parametrize("name", profiles())
def test_a_missing_group_is_69_to_describers_since_4_0_alone(name: str) -> None:
    says_not_found = profile(name).release >= (4, 0)

    assert _answers(name, ClassicEvent.DESCRIBE_GROUPS, None) == [Form.NOT_FOUND, Form.DESCRIBED_DEAD][not says_not_found :]
    assert _answers(name, ClassicEvent.DESCRIBE_GROUPS, PREPARING) == [
        Form.DESCRIBED if profile(name).line is CoordinatorKind.JAVA else Form.DESCRIBED_BARE
    ]


@pytest.mark.parametrize(("name", "order"), [
    ("kafka-1.1", ["not-active", "not-coordinator"]),
    ("kafka-2.4", ["group-id-empty", "not-active", "loading", "not-coordinator"]),
    ("kafka-4.1", ["not-active", "group-id-empty", "unverified", "loading-old", "loading", "not-coordinator"]),
])  # fmt: skip
def test_the_order_of_checks_of_a_transactional_commit(name: str, order: list[str]) -> None:
    assert _checks(name, ClassicEvent.TXN_OFFSET_COMMIT) == order


def test_3_9_verifies_a_transaction_once_its_group_is_made_and_2_8_does_not() -> None:
    first = {
        name: {cell[0].name for cell in profile(name).table.cells[ClassicEvent.TXN_OFFSET_COMMIT].values()}
        for name in ("kafka-2.8", "kafka-3.9", "kafka-4.0")
    }

    assert first["kafka-3.9"] == {"unverified"}
    assert "unverified" not in first["kafka-2.8"] | first["kafka-4.0"]


@pytest.mark.parametrize(("name", "answers"), [
    ("kafka-1.1", [Form.COMMITTED]), ("kafka-2.4", [Form.COMMITTED]), ("kafka-4.1", [Form.COMMITTED, 25, 82, 25, 22, Form.COMMITTED]),
])  # fmt: skip
def test_the_sender_of_a_transactional_commit_is_checked_since_2_5(name: str, answers: list[object]) -> None:
    assert _answers(name, ClassicEvent.TXN_OFFSET_COMMIT, COMPLETING) == answers


@pytest.mark.parametrize(("name", "code"), [("kafka-1.1", 25), ("kafka-2.4", 15), ("kafka-4.1", 15)])
def test_a_dead_group_is_25_to_a_transactional_commit_until_2_2(name: str, code: int) -> None:
    assert _answers(name, ClassicEvent.TXN_OFFSET_COMMIT, DEAD) == [code]


@pytest.mark.parametrize(("name", "rules"), [
    ("kafka-1.1", {EMPTY: ["counted-from-commit"], COMPLETING: ["counted-from-commit"], STABLE: ["counted-from-commit"]}),
    ("kafka-2.4", {EMPTY: ["counted-from-commit", "counted-from-empty"], COMPLETING: ["topics-given-up", "in-use"], STABLE: ["topics-given-up", "in-use"]}),
    ("kafka-4.1", {EMPTY: ["counted-from-commit", "counted-from-empty"], COMPLETING: ["in-use"], STABLE: ["topics-given-up", "in-use"]}),
])  # fmt: skip
def test_from_when_retention_counts(name: str, rules: dict[State, list[str]]) -> None:
    cells = profile(name).table.cells[ClassicEvent.RETENTION]

    assert {state: [row.name for row in cells[state]] for state in rules} == rules


@pytest.mark.parametrize(("name", "form"), [("kafka-2.4", Form.LISTED_EXACT), ("kafka-4.1", Form.LISTED)])
def test_states_are_listed_letter_for_letter_before_3_8(name: str, form: Form) -> None:
    assert _answers(name, ClassicEvent.LIST_GROUPS, None) == [form]


def test_only_1_1_asks_for_a_group_id_to_delete() -> None:
    assert [name for name in profiles() if "group-id-empty" in _checks(name, ClassicEvent.DELETE_GROUPS)] == ["kafka-1.1"]
