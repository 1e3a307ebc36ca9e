from __future__ import annotations

import typing
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire import messages
from groupproof.protocol.wire.message_codec import VERSIONS, message_of, read_request, read_response, write_request, write_response
from groupproof.protocol.wire.message_conversion import GROUP_APIS, body_of, request_of, response_of
from groupproof.protocol.wire.messages import GroupRequest, GroupResponse, JoinGroupRequest, JoinProtocol, OffsetFetchRequest


def any_message(message: Any) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(message, vars(messages))
    return st.builds(
        message, **{each.name: any_value(hints[each.name]) for each in fields(message) if each.name != "retention_time_ms"}
    )  # v2 to v4 alone


def any_value(hint: Any) -> st.SearchStrategy[Any]:
    parts = typing.get_args(hint)
    if type(None) in parts:
        return st.none() | any_value(parts[0])
    if parts:
        return st.lists(any_value(parts[0]), max_size=2).map(tuple)
    return any_message(hint) if is_dataclass(hint) else PLAIN[hint]


PLAIN = {int: st.integers(-1, 127), str: st.text(max_size=3), bytes: st.binary(max_size=3), bool: st.booleans()}
requests = st.one_of([any_message(message) for message in typing.get_args(GroupRequest)])
responses = st.one_of([any_message(message) for message in typing.get_args(GroupResponse)])


@given(requests)
def test_a_request_crosses_the_wire_in_its_newest_version(message: Any) -> None:
    version = VERSIONS[message.api][1] - (message.api in {Api.OFFSET_COMMIT, Api.OFFSET_FETCH})  # v10 names topics by id, not by name
    assert message_of(read_request(write_request(message.api, version, 1, "m0", body_of(message)))) == message


@given(responses)
def test_a_response_crosses_the_wire_in_its_newest_version(message: Any) -> None:
    version = VERSIONS[message.api][1] - (message.api in {Api.OFFSET_COMMIT, Api.OFFSET_FETCH})
    _, body = read_response(message.api, version, write_response(message.api, version, 1, body_of(message)))
    assert response_of(message.api, body) == message


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
