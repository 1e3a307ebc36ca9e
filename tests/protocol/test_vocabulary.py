from __future__ import annotations

import pytest
from kio.index import load_request_schema
from kio.schema.errors import ErrorCode as KafkaError

from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState, Level, MemberState, api_named, error_named
from groupproof.protocol.wire.message_codec import VERSIONS


@pytest.mark.parametrize("api", Api)
def test_an_api_has_kafkas_key_and_name(api: Api) -> None:
    schema = load_request_schema(int(api), VERSIONS[api][1])

    assert schema.__name__ == f"{api.title}Request"
    assert api_named(api.title) is api


def test_an_unknown_api_has_no_name() -> None:
    with pytest.raises(KeyError):
        api_named("Joingroup")


@pytest.mark.parametrize("error", ErrorCode)
def test_an_error_has_kafkas_code_and_name(error: ErrorCode) -> None:
    assert KafkaError(int(error)).name == error.name.lower()
    assert error_named(error.value) == error.name


def test_a_code_that_is_not_known_is_named_by_its_number() -> None:
    assert error_named(9999) == "UNKNOWN(9999)"


def test_group_states_are_spelled_as_in_describe_groups() -> None:
    assert [state.value for state in GroupState] == ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"]
    assert [state.value for state in MemberState] == ["UNJOINED", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE"]


def test_levels_come_from_the_most_severe_down() -> None:
    assert [level.value for level in Level] == ["MUST", "SHOULD", "INFO"]
