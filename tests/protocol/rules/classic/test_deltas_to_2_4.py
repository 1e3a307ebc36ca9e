"""What the releases up to 2.4 changed."""

from __future__ import annotations

import pytest

from groupproof.protocol.rules import ClassicEvent, Effect, Guard, profile, rows
from groupproof.protocol.rules.classic.deltas_to_2_4 import DELTAS_TO_2_4, FIRST_ORDER
from groupproof.protocol.vocabulary import ErrorCode, GroupState


def test_every_delta_is_of_2_4_or_older() -> None:
    assert all(delta.since[:2] <= (2, 4) for delta in DELTAS_TO_2_4)


@pytest.mark.parametrize("guard", [
    Guard.FENCED, Guard.INSTANCE_UNKNOWN, Guard.INSTANCE_NAMED, Guard.INSTANCE_COMES, Guard.PENDING, Guard.MEMBER_ID_NEEDED, Guard.GROUP_IS_FULL,
    Guard.GROUP_IS_FULL_BY_SIZE, Guard.OVERSIZED, Guard.VERSION_9, Guard.NEWCOMER_PARKED, Guard.PROTOCOL_DIFFERS, Guard.LOADING,
])  # fmt: skip
def test_1_1_knows_nothing_of_what_came_later(guard: Guard) -> None:
    table = profile("kafka-1.1")
    asked = {row.guard for _, _, row in rows("kafka-1.1")} | {row.guard for kind in FIRST_ORDER for row in table.table.before_group[kind]}

    assert guard not in asked


def test_1_1_answers_16_while_loading_and_asks_only_joiners_for_a_group_id() -> None:
    checks = {kind: [(row.guard, row.answer) for row in profile("kafka-1.1").table.before_group[kind]] for kind in FIRST_ORDER}

    assert all((Guard.NOT_LOADED_HERE, ErrorCode.NOT_COORDINATOR) in cell for cell in checks.values())
    assert [kind for kind, cell in checks.items() if (Guard.GROUP_ID_EMPTY, ErrorCode.INVALID_GROUP_ID) in cell] == [ClassicEvent.JOIN_GROUP]


def test_1_1_has_no_timer_for_newcomers_and_leaves_that_of_the_evicted() -> None:
    effects = {effect for _, _, row in rows("kafka-1.1") for effect in (*row.effects, *row.after)}

    assert not effects & {Effect.START_NEWCOMER_TIMER, Effect.TELL_REMOVED, Effect.END_UNJOINED_TIMERS, Effect.START_SYNC_DEADLINE}
    assert {state for kind, state, row in rows("kafka-1.1") if row.name == "evicted-before"} == set(GroupState) - {GroupState.DEAD}


def test_a_dead_group_refuses_unfit_protocols_first_in_1_1() -> None:
    cell = profile("kafka-1.1").table.cells[ClassicEvent.JOIN_GROUP][GroupState.DEAD]

    assert [row.answer for row in cell] == [ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ErrorCode.UNKNOWN_MEMBER_ID]
