"""What a delta can say of an older table, and that a stale one is refused."""

from __future__ import annotations

import pytest

from groupproof.protocol.rules import ClassicEvent, Effect, Guard, Row
from groupproof.protocol.rules.deltas import Change, applied, gone, place, with_effects, with_guards
from groupproof.protocol.vocabulary import GroupState

ROWS = (Row("a", Guard.NO_MEMBER_ID, None, "TR-001"), Row("b", Guard.ALWAYS, None, "TR-001"))


def test_a_change_puts_rows_in_the_place_of_one() -> None:
    new = Row("new", Guard.LEADER, None, "TR-001")

    assert applied(Change(kind=ClassicEvent.HEARTBEAT, states=(), name="a", rows=(new, ROWS[0])), ROWS) == (new, *ROWS)
    assert applied(Change(kind=ClassicEvent.HEARTBEAT, states=(), name="a"), ROWS) == ROWS[1:]
    assert applied(Change(kind=ClassicEvent.HEARTBEAT, states=(), name="b", rows=(new,), keeps=True), ROWS) == (ROWS[0], new, ROWS[1])
    assert applied(Change(kind=ClassicEvent.HEARTBEAT, states=(), name=None, rows=(new,)), ROWS) == (new,)


def test_a_stale_change_fails_where_it_is_applied() -> None:
    with pytest.raises(ValueError, match=r"a delta changes Heartbeat/\?/gone, which is not there: \['a', 'b'\]"):
        applied(Change(kind=ClassicEvent.HEARTBEAT, states=(GroupState.STABLE,), name="gone"), ROWS, where="Heartbeat/?")


def test_rows_that_are_gone_are_a_change_each() -> None:
    changes = gone(ClassicEvent.HEARTBEAT, (GroupState.STABLE,), "a", "b")

    assert [(change.name, change.rows, change.keeps) for change in changes] == [("a", (), False), ("b", (), False)]
    assert place(changes[0], GroupState.STABLE) == "Heartbeat/Stable"


def test_effects_become_what_they_were_before_and_after_the_answer() -> None:
    row = Row("a", Guard.ALWAYS, None, "TR-001", effects=(Effect.ADMIT, Effect.STORE_GROUP), after=(Effect.CHECK_JOINS,))
    was = with_effects(row, {Effect.STORE_GROUP: (), Effect.CHECK_JOINS: (Effect.CHECK_ABSENCE, Effect.CHECK_JOINS)})

    assert (was.effects, was.after) == ((Effect.ADMIT,), (Effect.CHECK_ABSENCE, Effect.CHECK_JOINS))
    assert with_effects(row, {Effect.REMOVE: ()}) is row


def test_a_change_of_effects_keeps_the_rows_of_its_cell() -> None:
    stored = Row("c", Guard.ALWAYS, None, "TR-001", effects=(Effect.STORE_GROUP,))
    change = Change(kind=ClassicEvent.JOIN_GROUP, states=(None,), effects={Effect.STORE_GROUP: ()})

    assert [(row.name, row.effects) for row in applied(change, (*ROWS, stored))] == [("a", ()), ("b", ()), ("c", ())]
    assert applied(Change(kind=ClassicEvent.JOIN_GROUP, states=(None,), name="c", effects={Effect.STORE_GROUP: ()}), (stored,))[0].effects == ()


def test_a_guard_becomes_what_it_was() -> None:
    assert with_guards(ROWS[0], {Guard.NO_MEMBER_ID: Guard.LEADER}).guard is Guard.LEADER
    assert with_guards(ROWS[1], {Guard.NO_MEMBER_ID: Guard.LEADER}) is ROWS[1]
