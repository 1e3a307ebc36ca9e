"""The table of the classic group: total, closed in itself, and true to the catalogue."""

from __future__ import annotations

from itertools import product

import pytest

from groupproof.protocol.rules import (
    REQUESTS,
    STATES,
    ClassicEvent,
    Effect,
    Form,
    Guard,
    Row,
    State,
    profile,
    profiles,
    rows,
    rule_name,
    state_name,
)
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.group_table import BEFORE_GROUP, TABLE
from groupproof.protocol.rules.requirements import requirements
from groupproof.protocol.vocabulary import ErrorCode, GroupState

EVERY_ROW = [(name, kind, state, row) for name in profiles() for kind, state, row in rows(name)]


@pytest.mark.parametrize("name", profiles())
def test_every_input_in_every_state_has_a_cell_or_is_sworn_unreachable(name: str) -> None:
    cells = {(kind, state) for kind, states in profile(name).table.cells.items() for state in states if kind in CLASSIC.events}

    assert cells | set(profile(name).table.unreachable) == set(product(ClassicEvent, STATES))
    assert not cells & set(profile(name).table.unreachable)
    assert all(reason.strip() for reason in profile(name).table.unreachable.values())


@pytest.mark.parametrize("name", profiles())
def test_every_cell_ends_in_its_only_unconditional_row(name: str) -> None:
    for kind, states in profile(name).table.cells.items():
        for state, cell in states.items():
            always = [row.guard is Guard.ALWAYS for row in cell]
            assert always == [False] * (len(cell) - 1) + [True], f"{kind.value}/{state_name(state)}"


@pytest.mark.parametrize("name", profiles())
def test_no_check_before_the_group_is_unconditional(name: str) -> None:
    before_group = profile(name).table.before_group

    assert set(before_group) == set(REQUESTS)
    assert all(row.guard is not Guard.ALWAYS for cell in before_group.values() for row in cell)
    assert all(not (row.then or row.after) for cell in before_group.values() for row in cell)
    assert {effect for cell in before_group.values() for row in cell for effect in row.effects} <= {Effect.BLANK_MEMBER_ID}


@pytest.mark.parametrize("name", profiles())
def test_rule_names_are_unique(name: str) -> None:
    names = [rule_name(kind, state, row) for kind, state, row in rows(name)]

    assert len(names) == len(set(names))


def test_every_row_cites_a_requirement_of_the_catalogue() -> None:
    catalogue = {requirement.id for requirement in requirements()}
    before_group = {row.requirement for name in profiles() for cell in profile(name).table.before_group.values() for row in cell}

    assert {row.requirement for _, _, _, row in EVERY_ROW} | before_group <= catalogue


def _ends(row: Row, state: State) -> tuple[State, State]:
    return state, row.then


def test_rows_move_groups_only_along_kafka_s_edges() -> None:
    edges = {_ends(row, state) for _, _, state, row in EVERY_ROW if row.then is not None}
    empty, preparing, completing, stable, dead = GroupState

    assert {edge for edge in edges if edge[1] is not dead} == {
        (None, preparing), (empty, preparing), (completing, preparing), (stable, preparing),
        (preparing, completing), (preparing, empty), (completing, stable),
    }  # fmt: skip
    assert {state for state, then in edges if then is dead} == {empty, preparing, completing, stable, dead}


def test_nothing_leaves_dead() -> None:
    assert {row.then for _, _, state, row in EVERY_ROW if state is GroupState.DEAD} <= {None, GroupState.DEAD}


def test_requests_are_answered_or_parked_and_nothing_else_is_answered() -> None:
    parks = {Effect.ADMIT, Effect.UPDATE, Effect.PARK_JOIN, Effect.PARK_SYNC}
    for _, kind, state, row in EVERY_ROW:
        is_parked = bool(parks & set(row.effects))
        if kind in REQUESTS:
            is_unsaid = row.guard is Guard.PENDING_WITH_INSTANCE_UNSAID  # 2.4 has no words for it
            assert (is_parked or is_unsaid) is (row.answer is None), rule_name(kind, state, row)
        elif kind is ClassicEvent.LEAVE_ENTRY:
            assert isinstance(row.answer, ErrorCode)
        else:
            assert row.answer is None, rule_name(kind, state, row)


_MAKING = {Effect.CREATE_GROUP, Effect.STORE_GROUP}  # a group is made before its first joiner is refused


def test_refusals_change_nothing_but_what_79_and_81_do() -> None:
    changing = {ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.NONE}
    for _, kind, state, row in EVERY_ROW:
        if isinstance(row.answer, ErrorCode) and row.answer not in changing:
            allowed = (
                _MAKING
                if state is None and kind in (ClassicEvent.JOIN_GROUP, ClassicEvent.OFFSET_COMMIT, ClassicEvent.TXN_OFFSET_COMMIT)
                else {Effect.BLANK_MEMBER_ID}
            )
            assert (set(row.effects) - allowed, row.then, row.after) == (set(), None, ()), rule_name(kind, state, row)


def test_a_rebalance_that_begins_tells_its_reason_and_awaits_joins() -> None:
    for _, kind, state, row in EVERY_ROW:
        if row.then is GroupState.PREPARING_REBALANCE:
            assert row.because, rule_name(kind, state, row)
            assert row.after in ((Effect.AWAIT_JOINS,), (Effect.START_INITIAL_DELAY,)), rule_name(kind, state, row)
            assert (Effect.START_INITIAL_DELAY in row.after) is (state in (None, GroupState.EMPTY)), rule_name(kind, state, row)


def test_leaving_completing_early_aborts_the_parked_syncs() -> None:
    for _, kind, state, row in EVERY_ROW:
        if (state, row.then) == (GroupState.COMPLETING_REBALANCE, GroupState.PREPARING_REBALANCE):
            assert {Effect.ABORT_SYNCS, Effect.FAIL_SYNCS} & set(row.effects), rule_name(kind, state, row)


def test_every_word_of_the_table_is_used() -> None:
    used = [row for name in profiles() for *_, row in rows(name)]
    used += [row for name in profiles() for cell in profile(name).table.before_group.values() for row in cell]

    assert {row.guard for row in used} == set(Guard)
    assert {effect for row in used for effect in (*row.effects, *row.after)} == set(Effect)
    assert {row.answer for row in used} >= set(Form)


# The summary of the catalogue, "C.8 Response matrix", for kafka-4.1: what a member, or who else is named, is answered. None: parked.
MATRIX: dict[tuple[str, str], dict[str, int | Form | None]] = {
    ("SyncGroup", "last"): {"Empty": 25, "PreparingRebalance": 27, "CompletingRebalance": None, "Stable": Form.OWN_ASSIGNMENT, "Dead": 15},
    ("Heartbeat", "last"): {"Empty": 25, "PreparingRebalance": 27, "CompletingRebalance": 0, "Stable": 0, "Dead": 15},
    ("Heartbeat", "other-generation"): {"PreparingRebalance": 22, "CompletingRebalance": 22, "Stable": 22},
    ("OffsetCommit", "last"): {
        "Empty": 25, "PreparingRebalance": Form.COMMITTED, "CompletingRebalance": 27, "Stable": Form.COMMITTED, "Dead": 15,
    },
    ("OffsetCommit", "other-generation"): {"PreparingRebalance": 22, "CompletingRebalance": 22, "Stable": 22},
    ("OffsetCommit", "names-nobody"): {"PreparingRebalance": 25, "CompletingRebalance": 25, "Stable": 25},
    ("JoinGroup", "stranger"): {"none": 25, "Empty": 25, "PreparingRebalance": 25, "CompletingRebalance": 25, "Stable": 25},
    ("JoinGroup", "last"): {"PreparingRebalance": None, "CompletingRebalance": None, "Stable": None, "Dead": 15},
}  # fmt: skip


@pytest.mark.parametrize(("api", "name"), MATRIX)
def test_the_table_agrees_with_the_catalogue_s_response_matrix(api: str, name: str) -> None:
    for state, answers in MATRIX[api, name].items():
        cell = TABLE[ClassicEvent(api)][None if state == "none" else GroupState(state)]
        row = cell[-1] if name == "last" else next(row for row in cell if row.name == name)
        assert row.answer == answers, state


def test_the_apis_of_offsets_and_admins_allow_the_empty_group_id() -> None:
    asking = {kind for kind, cell in BEFORE_GROUP.items() if Guard.GROUP_ID_EMPTY in {row.guard for row in cell}}

    assert set(REQUESTS) - asking == {
        ClassicEvent.OFFSET_COMMIT,
        ClassicEvent.OFFSET_FETCH,
        ClassicEvent.DESCRIBE_GROUPS,
        ClassicEvent.DELETE_GROUPS,
        ClassicEvent.LIST_GROUPS,
    }
