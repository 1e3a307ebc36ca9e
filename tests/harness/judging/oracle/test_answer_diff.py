from __future__ import annotations

from typing import Any

import pytest

from groupproof.harness.judging.oracle.answer_diff import as_answered, differences
from groupproof.protocol.vocabulary import Api

JOINED: dict[str, Any] = {
    "error_code": 0,
    "generation_id": 2,
    "leader": "a",
    "member_id": "a",
    "members": [{"member_id": "a", "metadata": b"x"}, {"member_id": "b", "metadata": b"y"}],
}


def paths(expected: dict[str, Any], observed: dict[str, Any]) -> list[str]:
    return [difference.path for difference in differences(expected, observed)]


def test_the_order_of_members_is_the_brokers_own_affair() -> None:
    assert paths(JOINED, {**JOINED, "members": JOINED["members"][::-1]}) == []


@pytest.mark.parametrize(
    ("observed", "path"),
    [
        ({"generation_id": 3}, "generation_id"),
        ({"members": [{"member_id": "a", "metadata": b"x"}]}, "members[b]"),
        ({"members": [{"member_id": "a", "metadata": b"x"}, {"member_id": "b", "metadata": b"z"}]}, "members[b].metadata"),
        ({"members": [*JOINED["members"], {"member_id": "b", "metadata": b"y"}]}, "members[b]"),
    ],
)
def test_a_difference_is_named_by_the_keys_on_its_way(observed: dict[str, Any], path: str) -> None:
    assert paths(JOINED, {**JOINED, **observed}) == [path]


def test_the_error_code_is_reported_first() -> None:
    assert paths(JOINED, {**JOINED, "generation_id": -1, "error_code": 25}) == ["error_code", "generation_id"]


def test_fields_of_a_refusal_are_idle_unless_its_code_differs() -> None:
    refused = {"error_code": 25, "generation_id": -1}

    assert [difference.is_idle for difference in differences(refused, {"error_code": 25, "generation_id": 0})] == [True]
    assert [difference.is_idle for difference in differences(refused, {"error_code": 22, "generation_id": 0})] == [False, False]
    assert [difference.is_idle for difference in differences({"error_code": 79, "member_id": "a"}, {"error_code": 79, "member_id": "b"})] == [False]


@pytest.mark.parametrize(("field", "is_idle"), [("member_id", False), ("generation_id", True), ("leader", True), ("protocol_name", True)])
def test_beside_an_id_that_is_handed_out_nothing_but_the_id_is_read(field: str, is_idle: bool) -> None:
    handed_out = {"error_code": 79, "member_id": "a", "generation_id": -1, "leader": "", "protocol_name": None}

    assert [difference.is_idle for difference in differences(handed_out, {**handed_out, field: "x"})] == [is_idle]


def test_beside_the_error_of_one_group_or_partition_nothing_of_it_is_read() -> None:
    partition = {"partition_index": 0, "error_code": 88, "committed_offset": -1}
    refused = {"groups": [{"group_id": "g", "error_code": 113, "topics": []}]}

    (of_partition,) = differences({"partitions": [partition]}, {"partitions": [{**partition, "committed_offset": 4}]})
    (of_group,) = differences(refused, {"groups": [{**refused["groups"][0], "topics": [{"name": "t", "partitions": []}]}]})
    (of_code,) = differences({"partitions": [partition]}, {"partitions": [{**partition, "error_code": 3}]})

    assert (of_partition.is_idle, of_group.is_idle, of_code.is_idle) == (True, True, False)


def test_what_a_version_cannot_say_holds_its_default() -> None:
    body = {"error_code": 0, "protocol_type": "consumer", "protocol_name": "range", "assignment": b"x", "throttle_time_ms": 12}

    assert as_answered(Api.SYNC_GROUP, 3, body) == {"error_code": 0, "protocol_type": None, "protocol_name": None, "assignment": b"x"}
    assert as_answered(Api.SYNC_GROUP, 5, body)["protocol_name"] == "range"


def test_members_of_a_leave_are_one_code_in_old_versions() -> None:
    body = {"error_code": 0, "members": ({"member_id": "a", "group_instance_id": None, "error_code": 25},)}

    assert as_answered(Api.LEAVE_GROUP, 2, body) == {"error_code": 25, "members": []}


@pytest.mark.parametrize(("metadata", "differ"), [(None, False), ("", False), ("m", True)])
def test_null_beside_an_offset_says_what_the_empty_text_says(metadata: str | None, differ: bool) -> None:
    partition = {"partition_index": 0, "metadata": ""}

    assert bool(paths({"partitions": [partition]}, {"partitions": [{**partition, "metadata": metadata}]})) is differ


def test_a_body_that_no_frame_can_have_is_used_as_it_is() -> None:
    assert as_answered(Api.HEARTBEAT, 3, {"error_code": "none"}) == {"error_code": "none"}


@pytest.mark.parametrize(("epoch", "is_idle"), [(-1, True), (-2, True), (0, False), (3, False)])
def test_nobody_who_leaves_reads_when_to_come_again(epoch: int, is_idle: bool) -> None:
    expected = {"error_code": 0, "member_epoch": epoch, "heartbeat_interval_ms": 0}

    (difference,) = differences(expected, {**expected, "heartbeat_interval_ms": 5_000})

    assert difference.is_idle is is_idle
