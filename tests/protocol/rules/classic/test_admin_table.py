"""The part of the table that describes, lists and deletes groups: its answers by state."""

from __future__ import annotations

import pytest

from groupproof.protocol.rules import STATES, ClassicEvent, Effect, Form, State, state_name
from groupproof.protocol.rules.classic.admin_table import ADMIN, ADMIN_BEFORE_GROUP, UNREACHABLE_ADMIN
from groupproof.protocol.vocabulary import ErrorCode, GroupState


def test_every_input_has_its_checks_before_the_group_and_a_cell_for_each_state() -> None:
    assert ADMIN.keys() == ADMIN_BEFORE_GROUP.keys()
    for kind, states in ADMIN.items():
        assert {*states, *(state for other, state in UNREACHABLE_ADMIN if other is kind)} == set(STATES), kind.value


@pytest.mark.parametrize("state", STATES, ids=state_name)
def test_only_an_empty_group_is_deleted_and_only_a_missing_or_dead_one_is_not_found(state: State) -> None:
    deleted: dict[State, ErrorCode] = {
        GroupState.EMPTY: ErrorCode.NONE,
        GroupState.DEAD: ErrorCode.GROUP_ID_NOT_FOUND,
        None: ErrorCode.GROUP_ID_NOT_FOUND,
    }
    (row,) = ADMIN[ClassicEvent.DELETE_GROUPS][state]

    assert row.answer is deleted.get(state, ErrorCode.NON_EMPTY_GROUP)
    assert (Effect.FORGET_GROUP in row.after) is (state is GroupState.EMPTY)


def test_describing_and_listing_change_nothing() -> None:
    rows = [row for kind in (ClassicEvent.DESCRIBE_GROUPS, ClassicEvent.LIST_GROUPS) for cell in ADMIN[kind].values() for row in cell]

    assert all((row.effects, row.then, row.after) == ((), None, ()) and isinstance(row.answer, Form) for row in rows)


def test_protocol_and_subscriptions_are_described_only_for_a_stable_group() -> None:
    entries = {state for state, cell in ADMIN[ClassicEvent.DESCRIBE_GROUPS].items() if Form.DESCRIBED_STABLE in {row.answer for row in cell}}

    assert entries == {GroupState.STABLE}
