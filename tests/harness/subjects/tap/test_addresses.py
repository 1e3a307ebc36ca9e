"""Every version of the three APIs that name brokers, and of the two that name new leaders."""

from __future__ import annotations

from typing import Any

import pytest

from groupproof.harness.subjects.tap.addresses import NamedBroker, named_in, with_addresses
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import VERSIONS, read_response, write_response

FAR = [("kafka-0.example", 9092), ("kafka-1.example", 9093)]
NEAR = [("127.0.0.1", 40001), ("127.0.0.1", 40002)]
TOLD = dict(zip(FAR, NEAR, strict=True))
LEAST = {Api.PRODUCE: 10, Api.FETCH: 16}


def answer(api: Api, version: int, addresses: list[tuple[str, int]]) -> dict[str, Any]:
    brokers = [{"node_id": node, "host": host, "port": port} for node, (host, port) in enumerate(addresses)]
    if api is Api.METADATA:
        topic = {"name": "t", "partitions": ({"partition_index": 0, "leader_id": 1, "replica_nodes": (0, 1), "isr_nodes": (1,)},)}
        return {"brokers": tuple(brokers), "topics": (topic,)}
    if api is Api.FIND_COORDINATOR:
        found = [{"key": f"g{number}" if version >= 4 else "", **broker} for number, broker in enumerate(brokers)]
        return {"coordinators": tuple(found if version >= 4 else found[:1])}
    if api is Api.DESCRIBE_CLUSTER:
        return {"brokers": tuple({"broker_id": broker.pop("node_id"), **broker} for broker in brokers), "cluster_id": "c", "controller_id": 1}
    return {"node_endpoints": tuple(brokers), "responses": ()}


def every_version() -> list[tuple[Api, int]]:
    apis = (Api.METADATA, Api.FIND_COORDINATOR, Api.DESCRIBE_CLUSTER, Api.PRODUCE, Api.FETCH)
    return [(api, version) for api in apis for version in range(LEAST.get(api, VERSIONS[api][0]), VERSIONS[api][1] + 1)]


@pytest.mark.parametrize(("api", "version"), every_version())
def test_an_answer_of_any_version_names_the_tap_in_the_brokers_place(api: Api, version: int) -> None:
    payload = write_response(api, version, 5, answer(api, version, FAR))

    _, body = read_response(api, version, payload)
    rewritten = write_response(api, version, 5, with_addresses(api, body, TOLD))

    assert [item.address for item in named_in(api, body)] == FAR[: len(list(named_in(api, body)))] != []
    assert rewritten == write_response(api, version, 5, answer(api, version, NEAR))


@pytest.mark.parametrize(("api", "version"), every_version())
def test_an_answer_that_names_nobody_new_is_written_as_it_was(api: Api, version: int) -> None:
    payload = write_response(api, version, 5, answer(api, version, FAR))

    assert write_response(api, version, 5, with_addresses(api, read_response(api, version, payload)[1], {})) == payload


def test_brokers_are_named_with_their_ids() -> None:
    body = answer(Api.DESCRIBE_CLUSTER, 0, FAR)

    assert list(named_in(Api.DESCRIBE_CLUSTER, body)) == [NamedBroker(node=0, address=FAR[0]), NamedBroker(node=1, address=FAR[1])]


def test_a_batch_keeps_the_entries_that_refuse() -> None:
    refused = {"key": "g", "node_id": -1, "host": "", "port": -1, "error_code": 15}
    found = {"key": "h", "node_id": 1, "host": FAR[1][0], "port": FAR[1][1], "error_code": 0}

    rewritten = with_addresses(Api.FIND_COORDINATOR, {"coordinators": (refused, found)}, TOLD)

    assert rewritten["coordinators"] == (refused, {**found, "host": NEAR[1][0], "port": NEAR[1][1]})
    assert len(list(named_in(Api.FIND_COORDINATOR, rewritten))) == 1


def test_other_answers_name_nobody() -> None:
    assert list(named_in(Api.HEARTBEAT, {"error_code": 0})) == []
    assert with_addresses(Api.HEARTBEAT, {"error_code": 0}, TOLD) == {"error_code": 0}
