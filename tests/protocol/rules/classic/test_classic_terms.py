"""The words of the table."""

from __future__ import annotations

import dataclasses

import pytest

from groupproof.protocol.rules import NO_GROUP, ClassicEvent, Effect, Form, Guard, Row, rule_name
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState


def test_a_rule_is_named_by_input_state_and_row() -> None:
    row = Row("stranger", Guard.ALWAYS, ErrorCode.UNKNOWN_MEMBER_ID, "TR-004")

    assert rule_name(ClassicEvent.HEARTBEAT, NO_GROUP, row) == "Heartbeat/none/stranger"
    assert rule_name(ClassicEvent.SYNC_GROUP, GroupState.STABLE, row) == "SyncGroup/Stable/stranger"


@pytest.mark.parametrize("words", [Guard, Effect, Form, ClassicEvent])
def test_every_word_has_a_sentence_of_its_own(words: type[Guard | Effect | Form | ClassicEvent]) -> None:
    assert len({word.value for word in words}) == len(list(words))
    assert len(words.__members__) == len(list(words)), "two names of one word"


def test_the_requests_of_a_group_have_kafka_s_names() -> None:
    titles = {api.title for api in Api}

    assert {ClassicEvent.JOIN_GROUP.value, ClassicEvent.SYNC_GROUP.value, ClassicEvent.HEARTBEAT.value, ClassicEvent.LEAVE_GROUP.value} <= titles
    assert {ClassicEvent.OFFSET_COMMIT.value, ClassicEvent.OFFSET_FETCH.value} <= titles


def test_a_row_cannot_be_changed() -> None:
    row = Row("stranger", Guard.ALWAYS, None, "TR-004")
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.name = "other"  # type: ignore[misc]  # the point of the test
