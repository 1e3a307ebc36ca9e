from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire import messages
from groupproof.protocol.wire.kafka_shapes import shape_of
from groupproof.protocol.wire.message_codec import (
    VERSIONS,
    WireError,
    frame,
    read_request,
    read_response,
    write_answer,
    write_request,
    write_response,
)
from groupproof.protocol.wire.message_conversion import (
    GROUP_APIS,
    body_maker,
    body_of,
    is_whole,
    message_shape,
    registered_messages,
    request_of,
    response_of,
)
from groupproof.protocol.wire.messages import ClassicRequest, ClassicResponse, JoinGroupRequest, JoinProtocol, OffsetFetchRequest


def any_message(message: Any) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(message, vars(messages))
    return st.builds(
        message, **{field.name: any_value(hints[field.name]) for field in fields(message) if field.name != "retention_time_ms"}
    )  # v2 to v4 alone


def any_value(hint: Any) -> st.SearchStrategy[Any]:
    if hint in PLAIN:
        return PLAIN[hint]
    parts = typing.get_args(hint)
    if type(None) in parts:
        return st.none() | any_value(parts[0])
    if parts:
        return st.lists(any_value(parts[0]), max_size=2).map(tuple)
    return any_message(hint)


PLAIN: dict[Any, st.SearchStrategy[Any]] = {int: st.integers(-1, 127), ErrorCode | int: st.integers(-1, 127), str: st.text(max_size=3), bytes: st.binary(max_size=3), bool: st.booleans()}  # fmt: skip
requests = st.one_of([any_message(message) for message in typing.get_args(ClassicRequest)])
responses = st.one_of([any_message(message) for message in typing.get_args(ClassicResponse)])


@given(requests)
def test_a_request_crosses_the_wire_in_its_newest_version(message: Any) -> None:
    version = VERSIONS[message.api][1] - (message.api in {Api.OFFSET_COMMIT, Api.OFFSET_FETCH})  # v10 names topics by id, not by name
    assert read_request(write_request(message.api, version, 1, "m0", body_of(message))).message == message


@given(responses)
def test_a_response_crosses_the_wire_in_its_newest_version(message: Any) -> None:
    version = VERSIONS[message.api][1] - (message.api in {Api.OFFSET_COMMIT, Api.OFFSET_FETCH})
    _, body = read_response(message.api, version, write_response(message.api, version, 1, body_of(message)))
    assert response_of(message.api, body) == message


def outcome(read: Callable[[], Any]) -> Any:
    """Return what `read` returns, or why it does not."""
    try:
        return read()
    except (ValueError, WireError) as error:
        return str(error)


def ordered(value: Any) -> Any:
    """Return a body with the order of its fields."""
    if isinstance(value, dict):
        return [(name, ordered(item)) for name, item in value.items()]
    return tuple(map(ordered, value)) if isinstance(value, tuple) else value


@given(requests, st.data())
def test_a_request_is_the_same_read_as_a_message_and_read_as_a_body(message: Any, data: st.DataObject) -> None:
    version = data.draw(st.integers(*VERSIONS[message.api]))
    payload = outcome(lambda: write_request(message.api, version, 1, "m0", body_of(message)))
    assume(isinstance(payload, bytes))
    as_body, as_message = read_request(payload), read_request(payload, is_for_machine=True)

    assert as_message.message == as_body.message
    assert ordered(as_message.body) == ordered(as_body.body)


@given(requests, st.data())
def test_a_frame_that_was_cut_is_refused_alike_by_both_readers(message: Any, data: st.DataObject) -> None:
    payload = write_request(message.api, VERSIONS[message.api][1], 1, "m0", {})
    whole = outcome(lambda: write_request(message.api, VERSIONS[message.api][1], 1, "m0", body_of(message)))
    payload = whole if isinstance(whole, bytes) else payload
    cut = payload[: data.draw(st.integers(0, len(payload)))]

    assert outcome(lambda: read_request(cut)) == outcome(lambda: read_request(cut, is_for_machine=True))


@given(responses, st.data())
def test_an_answer_has_the_bytes_that_its_body_has(message: Any, data: st.DataObject) -> None:
    version = data.draw(st.integers(*VERSIONS[message.api]))

    assert outcome(lambda: write_answer(message, version, 7)) == outcome(lambda: frame(write_response(message.api, version, 7, body_of(message))))


@pytest.mark.parametrize("api", [Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT])
def test_what_members_send_again_and_again_is_read_as_a_message_in_every_version(api: Api) -> None:
    for version in range(VERSIONS[api][0], VERSIONS[api][1] + 1):
        shape = message_shape(shape_of(api, version, "request"), api, "request")
        assert shape is not None
        assert is_whole(shape)
        assert list(body_maker(shape)(request_of(api, {name: () for name in shape.names}))) == list(shape.names)


def test_a_request_that_says_more_than_its_class_holds_is_not_read_as_a_message() -> None:
    shape = message_shape(shape_of(Api.OFFSET_FETCH, 10, "request"), Api.OFFSET_FETCH, "request")

    assert shape is not None
    assert not is_whole(shape)  # topic ids, and a member's epoch (KIP-848)
    assert message_shape(shape_of(Api.METADATA, 9, "request"), Api.METADATA, "request") is None


def test_fields_that_a_body_lacks_hold_the_default() -> None:
    assert request_of(
        Api.JOIN_GROUP, {"group_id": "g", "session_timeout_ms": 1, "protocols": ({"name": "range", "metadata": b""},)}
    ) == JoinGroupRequest(group_id="g", session_timeout_ms=1, protocols=(JoinProtocol(name="range", metadata=b""),))


def test_fields_that_a_message_does_not_know_are_left_out() -> None:
    assert request_of(Api.OFFSET_FETCH, {"groups": (), "require_stable": True, "other": 1}) == OffsetFetchRequest(groups=(), require_stable=True)


def test_asking_for_all_topics_stays_null() -> None:
    message = request_of(Api.OFFSET_FETCH, {"groups": ({"group_id": "g", "topics": None},)})

    assert body_of(message)["groups"][0]["topics"] is None


@pytest.mark.parametrize("make", [request_of, response_of])
def test_an_api_without_typed_messages_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="Metadata has no typed message"):
        make(Api.METADATA, {})
    assert Api.METADATA not in GROUP_APIS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ping:
    api: ClassVar[Api] = Api.DESCRIBE_TOPIC_PARTITIONS
    group_id: str = ""
    member_epoch: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pong:
    api: ClassVar[Api] = Api.DESCRIBE_TOPIC_PARTITIONS
    error_code: int = 0


def test_classes_that_are_registered_stand_for_their_api_meanwhile() -> None:
    body = {"group_id": "g", "member_epoch": 3, "rack_id": None}
    with registered_messages([(_Ping, _Pong)]):
        assert Api.DESCRIBE_TOPIC_PARTITIONS in GROUP_APIS
        ping: Any = request_of(Api.DESCRIBE_TOPIC_PARTITIONS, body)
        assert ping == _Ping(group_id="g", member_epoch=3)
        assert body_of(ping) == {"group_id": "g", "member_epoch": 3}
        pong: Any = response_of(Api.DESCRIBE_TOPIC_PARTITIONS, {"error_code": 25})
        assert pong == _Pong(error_code=25)
    assert Api.DESCRIBE_TOPIC_PARTITIONS not in GROUP_APIS
    with pytest.raises(ValueError, match="has no typed message"):
        request_of(Api.DESCRIBE_TOPIC_PARTITIONS, body)
