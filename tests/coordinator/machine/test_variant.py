"""What a variant bends, and that the reference bends nothing."""

from __future__ import annotations

import pytest

from groupproof.coordinator.machine.timers import TimerKey, Timers
from groupproof.coordinator.machine.variant import REFERENCE, Variant, profile_with
from groupproof.protocol.rules import ClassicEvent, profile
from groupproof.protocol.rules.deltas import Change
from groupproof.protocol.vocabulary import GroupState

KEY = TimerKey(ClassicEvent.SESSION_END, "g", "m")


def test_the_reference_is_the_profile_as_it_is() -> None:
    assert profile_with(profile(), REFERENCE) is profile()
    assert REFERENCE.is_legal
    assert type(REFERENCE.timers()) is Timers


def test_a_row_is_left_out_of_one_cell_alone() -> None:
    gone = Change(kind=ClassicEvent.HEARTBEAT, states=(GroupState.STABLE,), name="stranger")

    cells = profile_with(profile(), Variant(name="x", says="x", rows=(gone,))).table.cells[ClassicEvent.HEARTBEAT]

    assert "stranger" not in [row.name for row in cells[GroupState.STABLE]]
    assert cells[GroupState.EMPTY] == profile().table.cells[ClassicEvent.HEARTBEAT][GroupState.EMPTY]
    assert "stranger" in [row.name for row in profile().table.cells[ClassicEvent.HEARTBEAT][GroupState.STABLE]]


def test_a_row_that_is_not_there_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="Heartbeat/Stable/nothing"):
        profile_with(profile(), Variant(name="x", says="x", rows=(Change(kind=ClassicEvent.HEARTBEAT, states=(GroupState.STABLE,), name="nothing"),)))


def test_fields_of_answers_are_changed_beside_those_that_stay() -> None:
    fields = profile_with(profile(), Variant(name="x", says="x", fields={"join_error_generation": 7})).table.fields

    assert fields == {**profile().table.fields, "join_error_generation": 7}


def test_timers_are_armed_late_or_never() -> None:
    late = Variant(name="x", says="x", due_ms=lambda _, due_ms: due_ms + 5).timers()
    never = Variant(name="x", says="x", due_ms=lambda key, due_ms: None if key.kind is ClassicEvent.SESSION_END else due_ms).timers()
    late.arm(KEY, 10)
    never.arm(KEY, 10)
    never.arm(TimerKey(ClassicEvent.JOIN_DEADLINE, "g"), 20)

    assert late.pop_due(14) is None
    assert late.pop_due(15) == (KEY, 15)
    assert never.next_ms() == 20
