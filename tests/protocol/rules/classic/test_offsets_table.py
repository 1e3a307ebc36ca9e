"""The part of the table that deletes and expires offsets and keeps those of transactions: its answers by state."""

from __future__ import annotations

import pytest

from groupproof.protocol.rules import STATES, ClassicEvent, Effect
from groupproof.protocol.rules.classic.classic_states import LIVE
from groupproof.protocol.rules.classic.offsets_table import OFFSETS, OFFSETS_BEFORE_GROUP, UNREACHABLE_OFFSETS
from groupproof.protocol.vocabulary import ErrorCode, GroupState


def test_every_input_has_a_cell_for_each_state() -> None:
    for kind, states in OFFSETS.items():
        assert {*states, *(state for other, state in UNREACHABLE_OFFSETS if other is kind)} == set(STATES), kind.value


def test_transactional_commits_are_fenced_in_every_live_state_and_none_is_refused_for_a_rebalance() -> None:
    codes = {state: [row.answer for row in OFFSETS[ClassicEvent.TXN_OFFSET_COMMIT][state]] for state in LIVE}

    assert all(ErrorCode.FENCED_INSTANCE_ID in code and ErrorCode.REBALANCE_IN_PROGRESS not in code for code in codes.values())
    assert len({tuple(code) for code in codes.values()}) == 1


def test_no_transactional_commit_keeps_a_session_alive() -> None:
    rows = [row for cell in OFFSETS[ClassicEvent.TXN_OFFSET_COMMIT].values() for row in cell]

    assert all(Effect.REFRESH_SESSION not in row.effects for row in rows)
    assert {row.name for row in rows if Effect.STORE_PENDING_OFFSETS in row.effects} == {"first-commit", "no-membership", "names-nobody", "commits"}


@pytest.mark.parametrize("kind", [ClassicEvent.OFFSET_DELETE, ClassicEvent.TXN_OFFSET_COMMIT])
def test_the_group_id_may_not_be_empty(kind: ClassicEvent) -> None:
    assert ErrorCode.INVALID_GROUP_ID in [row.answer for row in OFFSETS_BEFORE_GROUP[kind]]


def test_retention_takes_offsets_of_empty_groups_and_of_topics_given_up() -> None:
    expiring = {
        (state, effect) for state, cell in OFFSETS[ClassicEvent.RETENTION].items() for row in cell for effect in row.effects
    }  # fmt: skip

    assert expiring == {
        (GroupState.EMPTY, Effect.EXPIRE_BY_COMMIT), (GroupState.EMPTY, Effect.EXPIRE_SINCE_EMPTY), (GroupState.STABLE, Effect.EXPIRE_UNSUBSCRIBED),
    }  # fmt: skip
