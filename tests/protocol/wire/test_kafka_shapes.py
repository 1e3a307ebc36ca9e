"""Kafka's schemas as shapes."""

from __future__ import annotations

import pytest

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.kafka_shapes import VERSIONS, field_names, has_flexible_header, shape_of


def test_a_shape_names_what_its_version_has_and_what_only_others_have() -> None:
    shape = shape_of(Api.JOIN_GROUP, 0, "request")

    assert [column.name for column in shape.columns] == ["group_id", "session_timeout_ms", "member_id", "protocol_type", "protocols"]
    assert dict(shape.absent) == {"rebalance_timeout_ms": -1, "group_instance_id": None, "reason": None}
    assert set(shape.names) == field_names(Api.JOIN_GROUP, "request")


@pytest.mark.parametrize(("version", "is_flexible"), [(3, False), (4, True)])
def test_a_heartbeat_has_tagged_fields_since_version_4(version: int, is_flexible: bool) -> None:  # KIP-482
    assert has_flexible_header(Api.HEARTBEAT, version, "request") is is_flexible
    assert shape_of(Api.HEARTBEAT, version, "request").is_flexible is is_flexible


@pytest.mark.parametrize("api", Api)
def test_every_version_has_a_shape_of_both_sides(api: Api) -> None:
    low, high = VERSIONS[api]

    for version in range(low, high + 1):
        assert shape_of(api, version, "request").title == f"{api.title} v{version} request"
        assert shape_of(api, version, "response").title == f"{api.title} v{version} response"


def test_a_version_that_kafka_4_dropped_has_a_shape_still() -> None:
    assert VERSIONS[Api.OFFSET_COMMIT][0] == 1
    (topics,) = (column for column in shape_of(Api.OFFSET_COMMIT, 1, "request").columns if column.name == "topics")
    assert topics.is_array
