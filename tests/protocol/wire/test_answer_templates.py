"""What a generation's answers have in common is written once; byte for byte they are what the codec writes for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.answer_templates import AnswerTemplate, template_of
from groupproof.protocol.wire.kafka_shapes import VERSIONS, shape_of
from groupproof.protocol.wire.message_codec import frame, write_answer, write_response
from groupproof.protocol.wire.message_conversion import body_of, message_shape
from groupproof.protocol.wire.messages import HeartbeatResponse, JoinGroupResponse, JoinMember, SyncGroupResponse

Answers = Sequence[tuple[Any, int]]

ids = st.text(max_size=3) | st.sampled_from(["m" * 126, "m" * 127, "é" * 64, "m" * 20_000, "m" * 40_000])
names = st.sampled_from([None, "", "range", "x" * 200])
joins = st.builds(
    JoinGroupResponse,
    error_code=st.sampled_from([0, 25]),
    generation_id=st.integers(0, 2),
    protocol_type=names,
    protocol_name=names,
    leader=ids,
    skip_assignment=st.booleans(),
    member_id=ids,
    members=st.sampled_from([(), (JoinMember(member_id="m", metadata=b"x"),)]),
)
syncs = st.builds(
    SyncGroupResponse,
    error_code=st.sampled_from([0, 27]),
    protocol_type=names,
    protocol_name=names,
    assignment=st.binary(max_size=3) | st.sampled_from([bytes(126), bytes(127), bytes(40_000)]),
)


def _written(api: Api, version: int, message: Any, correlation: int) -> Any:
    """Return the answer as it is written of its body, or why it is not."""
    try:
        return frame(write_response(api, version, correlation, body_of(message)))
    except ValueError as error:
        return str(error)


def _answered(version: int, message: Any, correlation: int) -> Any:
    try:
        return write_answer(message, version, correlation)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(("api", "version"), [(api, version) for api in (Api.JOIN_GROUP, Api.SYNC_GROUP) for version in range(VERSIONS[api][1] + 1)])
def test_answers_one_after_the_other_have_the_bytes_of_their_bodies(api: Api, version: int) -> None:
    @given(st.lists(joins if api is Api.JOIN_GROUP else syncs, max_size=6), st.booleans())
    def hold(messages: Sequence[Any], is_one_generation: bool) -> None:
        for correlation, message in enumerate(messages):
            same = {"member_id": message.member_id} if api is Api.JOIN_GROUP else {"assignment": message.assignment}
            answer = replace(messages[0], **same) if is_one_generation else message
            assert _answered(version, answer, correlation) == _written(api, version, answer, correlation)

    hold()


def _template(api: Api, version: int) -> AnswerTemplate:
    shape = message_shape(shape_of(api, version, "response"), api, "response")
    assert shape is not None
    template = template_of(api, shape, b"")
    assert template is not None
    return template


def test_what_is_common_is_written_once_for_all_members(monkeypatch: pytest.MonkeyPatch) -> None:
    template, generations = _template(Api.JOIN_GROUP, 5), list[int]()
    once = AnswerTemplate._written_once

    def counted(template: AnswerTemplate, message: Any) -> Any:
        generations.append(message.generation_id)
        return once(template, message)

    monkeypatch.setattr(AnswerTemplate, "_written_once", counted)
    for generation in (1, 2):
        for number in range(3):
            assert template.written(JoinGroupResponse(generation_id=generation, protocol_name="range", member_id=f"m{number}"), number) is not None

    assert generations == [1, 2]


@pytest.mark.parametrize("message", [JoinGroupResponse(protocol_name="range", member_id="m" * 32_768), JoinGroupResponse(), HeartbeatResponse()])
def test_what_cannot_be_written_is_left_to_the_codec_that_says_why(message: Any) -> None:
    assert _template(Api.JOIN_GROUP, 5).written(message, 1) is None


def test_only_answers_that_each_member_is_given_have_a_template() -> None:
    shape = message_shape(shape_of(Api.HEARTBEAT, 4, "response"), Api.HEARTBEAT, "response")

    assert shape is not None
    assert template_of(Api.HEARTBEAT, shape, b"") is None
    assert template_of(Api.JOIN_GROUP, shape, b"") is None, "another dialect may bring a class of its own"


def test_a_refusal_is_written_after_the_assignment_of_a_generation() -> None:
    member = JoinGroupResponse(generation_id=1, protocol_name="range", leader="m", member_id="m")
    for answer in (member, replace(member, error_code=ErrorCode.UNKNOWN_MEMBER_ID), member):
        assert write_answer(answer, 5, 1) == _written(Api.JOIN_GROUP, 5, answer, 1)
