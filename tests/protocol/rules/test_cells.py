"""What tables of any dialect are made of."""

from __future__ import annotations

import dataclasses

import pytest

from groupproof.protocol.rules.cells import NO_GROUP, AnswerName, EffectName, EventKind, GuardName, Row, rule_name, state_name
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect, Form, Guard
from groupproof.protocol.vocabulary import ErrorCode, GroupState


def test_a_rule_is_named_by_event_state_and_row() -> None:
    row = Row("stranger", Guard.ALWAYS, ErrorCode.UNKNOWN_MEMBER_ID, "TR-004")

    assert rule_name(ClassicEvent.HEARTBEAT, NO_GROUP, row) == "Heartbeat/none/stranger"
    assert rule_name(ClassicEvent.SYNC_GROUP, GroupState.STABLE, row) == "SyncGroup/Stable/stranger"
    assert (state_name(None), state_name(GroupState.DEAD)) == ("none", "Dead")


def test_a_row_cannot_be_changed() -> None:
    row = Row("stranger", Guard.ALWAYS, None, "TR-004")
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.name = "other"  # type: ignore[misc]  # the point of the test


def test_the_words_of_a_dialect_are_distinguished_by_kind() -> None:
    kinds = {EventKind: ClassicEvent, GuardName: Guard, AnswerName: Form, EffectName: Effect}

    assert all(issubclass(words, kind) for kind, words in kinds.items())
    assert not any(issubclass(words, other) for kind, words in kinds.items() for other in kinds if other is not kind)
