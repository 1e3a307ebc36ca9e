"""The columns of observations: what judges rely on, and nothing that a trace must not hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.observation_columns import FrameColumns, registered_columns, request_columns, response_columns
from groupproof.protocol.wire.subscription import Assignment, Subscription, encode_assignment, encode_subscription

MEMBER = {"group_id": "g", "generation_id": 3, "member_id": "m", "group_instance_id": "i"}
WHO = {"group": "g", "generation": 3, "member": "m", "instance": "i"}


@pytest.mark.parametrize("api", [Api.HEARTBEAT, Api.SYNC_GROUP, Api.OFFSET_COMMIT])
def test_a_members_request_tells_who_asks(api: Api) -> None:
    assert request_columns(api, MEMBER)[0] == WHO


def test_a_join_tells_what_the_member_owns() -> None:
    blob = encode_subscription(Subscription(topics=("t",), owned=(("t", 1),), version=1))
    body = {"group_id": "g", "member_id": "", "protocol_type": "consumer", "protocols": ({"name": "range", "metadata": blob},)}

    who, columns = request_columns(Api.JOIN_GROUP, body)
    assert (who["group"], who["member"]) == ("g", "")
    assert columns["partitions"] == (("t", 1),)


@pytest.mark.parametrize("blob", [b"", b"\xff\xff", b"\0\1\0\0\0\1"])
def test_a_subscription_that_cannot_be_read_owns_nothing(blob: bytes) -> None:
    body = {"group_id": "g", "member_id": "m", "protocol_type": "consumer", "protocols": ({"name": "range", "metadata": blob},)}

    assert request_columns(Api.JOIN_GROUP, body)[1]["partitions"] == ()


def test_a_heartbeat_of_a_consumer_group_tells_the_member_s_epoch() -> None:
    body = {"group_id": "g", "member_id": "m", "instance_id": None, "member_epoch": 4, "topic_partitions": ()}

    who, columns = request_columns(Api.CONSUMER_GROUP_HEARTBEAT, body)

    assert who == {"group": "g", "member": "m", "instance": None, "member_epoch": 4}
    assert columns == {"body": body}


@pytest.mark.parametrize(("error", "epoch"), [(0, 5), (110, None)])
def test_the_epoch_in_an_answer_is_reported_unless_it_is_an_error(error: int, epoch: int | None) -> None:
    answer = {"error_code": error, "member_id": "m", "member_epoch": 5 if not error else 0}

    fields = response_columns(Api.CONSUMER_GROUP_HEARTBEAT, {"group_id": "g", "member_id": ""}, answer)

    assert (fields["member"], fields["member_epoch"], fields["error"]) == ("m", epoch, error)
    assert "generation" not in fields


def test_a_heartbeat_of_a_consumer_group_tells_what_the_member_owns_and_is_to_own() -> None:
    topics = ({"topic_id": "id-of-t", "partitions": (0, 2)},)
    named = {"id-of-t": "t"}.__getitem__

    owns = request_columns(Api.CONSUMER_GROUP_HEARTBEAT, {"topic_partitions": topics}, named)[1]
    columns = response_columns(Api.CONSUMER_GROUP_HEARTBEAT, {}, {"error_code": 0, "assignment": {"topic_partitions": topics}}, named)
    assert owns["partitions"] == columns["partitions"] == (("t", 0), ("t", 2))
    assert response_columns(Api.CONSUMER_GROUP_HEARTBEAT, {}, {"assignment": {"topic_partitions": topics}})["partitions"][0] == ("id-of-t", 0)
    assert "partitions" not in response_columns(Api.CONSUMER_GROUP_HEARTBEAT, {}, {"error_code": 0, "assignment": None}, named)


def test_a_dialect_brings_columns_for_frames_that_had_none() -> None:
    body = {"group_id": "g", "members": ({"assigned": (1,)},)}
    columns = FrameColumns(
        request=lambda body, named: ({"group": body["group_id"]}, {}), response=lambda body, request, named: {"member": named("a")}
    )

    with registered_columns({Api.DESCRIBE_CLUSTER: columns}):
        assert request_columns(Api.DESCRIBE_CLUSTER, body) == ({"group": "g"}, {"body": body})
        assert response_columns(Api.DESCRIBE_CLUSTER, {}, body, str.upper) == {"member": "A", "error": 0, "body": body}
    assert request_columns(Api.DESCRIBE_CLUSTER, body) == ({}, {"body": {"group_id": "g"}})


def test_a_commit_tells_its_offsets() -> None:
    body = {**MEMBER, "topics": ({"name": "t", "partitions": ({"partition_index": 1, "committed_offset": 9},)},)}

    assert request_columns(Api.OFFSET_COMMIT, body)[1]["offsets"] == (("t", 1, 9),)


def test_a_leave_tells_the_first_who_leaves() -> None:
    who, _ = request_columns(Api.LEAVE_GROUP, {"group_id": "g", "members": ({"member_id": "m", "group_instance_id": "i"}, {"member_id": "n"})})

    assert who == {"group": "g", "member": "m", "instance": "i"}


def test_a_search_for_a_coordinator_names_the_group_and_no_transaction() -> None:
    assert request_columns(Api.FIND_COORDINATOR, {"coordinator_keys": ("g",), "key_type": 0})[0] == {"group": "g"}
    assert request_columns(Api.FIND_COORDINATOR, {"coordinator_keys": ("x",), "key_type": 1})[0] == {}


def test_a_fetch_of_records_tells_where_from_and_of_offsets_what_is_asked() -> None:
    body = {"topics": ({"topic": "t", "partitions": ({"partition": 2, "fetch_offset": 5},)},), "max_wait_ms": 500}
    assert request_columns(Api.FETCH, body)[1]["offsets"] == (("t", 2, 5),)
    by_id = {"topics": ({"topic_id": "u-1", "partitions": ({"partition": 2, "fetch_offset": 5},)},)}
    assert request_columns(Api.FETCH, by_id)[1]["offsets"] == (("u-1", 2, 5),)
    assert request_columns(Api.FETCH, by_id, {"u-1": "t"}.__getitem__)[1]["offsets"] == (("t", 2, 5),)

    groups = ({"group_id": "g", "topics": ({"name": "t", "partition_indexes": (0, 1)},)},)
    who, columns = request_columns(Api.OFFSET_FETCH, {"groups": groups})
    assert (who["group"], columns["partitions"]) == ("g", (("t", 0), ("t", 1)))


def test_a_sync_answer_tells_the_assignment_unless_it_refuses_or_is_anothers() -> None:
    body = {"error_code": 0, "assignment": encode_assignment(Assignment(partitions=(("t", 0), ("t", 1))))}

    assert response_columns(Api.SYNC_GROUP, {"protocol_type": "consumer"}, body)["partitions"] == (("t", 0), ("t", 1))
    assert "partitions" not in response_columns(Api.SYNC_GROUP, {"protocol_type": "connect"}, body)
    assert "partitions" not in response_columns(Api.SYNC_GROUP, {}, {"error_code": 27, "assignment": b""})
    assert "partitions" not in response_columns(Api.SYNC_GROUP, {}, {"error_code": 0, "assignment": b"\1"})


def test_a_join_answer_tells_id_and_generation() -> None:
    columns = response_columns(Api.JOIN_GROUP, {"member_id": ""}, {"error_code": 0, "member_id": "m", "generation_id": 4})
    assert (columns["member"], columns["generation"], columns["error"]) == ("m", 4, 0)

    refused = response_columns(Api.JOIN_GROUP, {"member_id": "m"}, {"error_code": 25, "member_id": "", "generation_id": -1})
    assert (refused["member"], refused["error"]) == ("m", 25)


def test_an_offset_answer_tells_offsets_and_the_first_error() -> None:
    partitions = ({"partition_index": 0, "committed_offset": 5, "error_code": 0}, {"partition_index": 1, "committed_offset": -1, "error_code": 16})
    body = {"groups": ({"group_id": "g", "error_code": 0, "topics": ({"name": "t", "partitions": partitions},)},)}

    columns = response_columns(Api.OFFSET_FETCH, {}, body)
    assert (columns["offsets"], columns["error"]) == ((("t", 0, 5), ("t", 1, -1)), 16)


SECRETS: list[tuple[Api, dict[str, Any]]] = [
    (Api.SASL_AUTHENTICATE, {"auth_bytes": b"secret"}),
    (Api.PRODUCE, {"acks": 1, "topic_data": ({"name": "t", "partition_data": ({"index": 0, "records": b"secret"},)},)}),
    (Api.FETCH, {"responses": ({"topic": "t", "partitions": ({"partition_index": 0, "records": b"secret"},)},)}),
]


@pytest.mark.parametrize(("api", "body"), SECRETS)
def test_records_and_credentials_are_never_in_the_trace(api: Api, body: dict[str, Any]) -> None:
    text = repr(request_columns(api, body)) + repr(response_columns(api, {}, body))

    assert "secret" not in text


def test_topics_are_kept_small() -> None:
    body = {
        "error_code": 0,
        "brokers": ({"node_id": 0},),
        "topics": ({"name": "t", "partitions": tuple({"partition_index": number} for number in range(99))},),
    }

    assert json.loads(json.dumps(response_columns(Api.METADATA, {}, body)["body"])) == {"error_code": 0, "topics": [{"name": "t", "partitions": 99}]}
