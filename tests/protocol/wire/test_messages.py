from __future__ import annotations

import typing
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire import messages
from groupproof.protocol.wire.message_codec import VERSIONS, read_request, read_response, write_request, write_response
from groupproof.protocol.wire.message_conversion import response_of
from groupproof.protocol.wire.messages import ClassicRequest, ClassicResponse, HeartbeatRequest, JoinGroupRequest, OffsetFetchRequest

REQUESTS = typing.get_args(ClassicRequest)
RESPONSES = typing.get_args(ClassicResponse)


def test_every_group_api_has_one_request_and_one_response() -> None:
    assert [message.api for message in REQUESTS] == [message.api for message in RESPONSES]
    assert len({message.api for message in REQUESTS}) == len(REQUESTS)


@pytest.mark.parametrize(
    "name", sorted(set(messages.__all__) - {"ClassicRequest", "ClassicResponse", "DialectMessage", "GroupRequest", "GroupResponse"})
)
def test_a_message_cannot_be_changed_or_given_a_field_it_lacks(name: str) -> None:
    message = getattr(messages, name)
    blank = message(**{field.name: None for field in fields(message)})
    with pytest.raises(FrozenInstanceError):
        setattr(blank, fields(message)[0].name, 1)
    assert not hasattr(blank, "__dict__")


def test_messages_of_the_same_content_are_equal() -> None:
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")

    assert beat == HeartbeatRequest(group_id="g", generation_id=1, member_id="m", group_instance_id=None)
    assert beat != HeartbeatRequest(group_id="g", generation_id=2, member_id="m")


def test_a_join_without_a_rebalance_timeout_says_minus_one() -> None:
    """TIMER-25: in v0 the session timeout serves."""
    assert JoinGroupRequest(group_id="g", session_timeout_ms=6000).rebalance_timeout_ms == -1


@pytest.mark.parametrize("message", [response for response in RESPONSES if not any(field.name == "groups" for field in fields(response))])
def test_the_defaults_of_a_response_are_the_schemas_own(message: Any) -> None:
    version = VERSIONS[message.api][1]
    _, body = read_response(message.api, version, write_response(message.api, version, 1, {}))

    required = {"coordinators": ()} if message.api is Api.FIND_COORDINATOR else {}
    assert response_of(message.api, body) == message(**required)


def test_asking_for_no_group_at_all_is_an_empty_batch() -> None:
    assert read_request(write_request(Api.OFFSET_FETCH, 9, 1, None, {})).message == OffsetFetchRequest(groups=())
