"""Where the nodes are, and what they hold."""

from __future__ import annotations

import json

import pytest
from tests.clients.relatives.zookeeper.bench import BROKER

from groupproof.clients.relatives.zookeeper.paths import (
    GroupPaths,
    Unreadable,
    broker_data,
    broker_of,
    broker_path,
    consumer_id,
    parent_of,
    partitions_of,
    state_data,
    state_path,
    topic_data,
    topic_path,
)


@pytest.mark.requirement("ZK-26", "ZK-27")
@pytest.mark.reading("DISC-40")
def test_owners_and_offsets_end_in_the_partition_alone() -> None:
    paths = GroupPaths("g")

    assert paths.owner(("t", 3)) == "/consumers/g/owners/t/3"
    assert paths.offset(("t", 3)) == "/consumers/g/offsets/t/3"


@pytest.mark.requirement("ZK-20")
@pytest.mark.reading("DISC-41")
def test_a_brokers_node_holds_host_port_jmx_port_timestamp_and_version() -> None:
    data = broker_data(BROKER, 1_500_000_000_000)

    assert broker_path(3) == "/brokers/ids/3"
    assert json.loads(data) == {"jmx_port": -1, "timestamp": "1500000000000", "host": "broker", "version": 1, "port": 9092}
    assert broker_of(1, data) == BROKER


def test_a_broker_of_0_9_to_1_1_is_found_at_its_plain_endpoint() -> None:
    data = b'{"version":4,"host":null,"port":-1,"endpoints":["SSL://s:9093","PLAINTEXT://p:9092"],"jmx_port":-1,"timestamp":"1"}'

    assert (broker_of(1, data).host, broker_of(1, data).port) == ("p", 9092)


@pytest.mark.requirement("ZK-21", "TIMER-37")
def test_a_topics_node_holds_partitions_with_their_replicas() -> None:
    data = topic_data({10: [1], 2: [2, 1]})

    assert topic_path("topic1") == "/brokers/topics/topic1"
    assert json.loads(data) == {"version": 1, "partitions": {"10": [1], "2": [2, 1]}}
    assert partitions_of("topic1", data) == (2, 10)  # by number


@pytest.mark.requirement("ZK-22")
def test_a_partitions_state_names_the_leader_and_who_is_in_sync() -> None:
    assert state_path(("topic1", 0)) == "/brokers/topics/topic1/partitions/0/state"
    assert json.loads(state_data(2, [2, 3], leader_epoch=4, controller_epoch=5)) == {
        "controller_epoch": 5, "leader": 2, "version": 1, "leader_epoch": 4, "isr": [2, 3],
    }  # fmt: skip


@pytest.mark.requirement("ZK-25")
def test_consumers_of_one_host_and_moment_have_ids_of_their_own() -> None:
    assert consumer_id("g", "host", 1_500_000_000_000, 0x12AB) == "g_host-1500000000000-000012ab"
    assert consumer_id("g", "host", 1, 1 << 40 | 7) != consumer_id("g", "host", 1, 8)


def test_the_node_above_the_first_level_has_no_name() -> None:
    assert (parent_of("/a/b"), parent_of("/a")) == ("/a", "")


@pytest.mark.parametrize("data", [b"host:9092", b"[]", b'{"version":1}', b'{"version":2,"host":"h","port":1,"endpoints":7}'])
def test_a_brokers_node_that_cannot_be_read_says_so(data: bytes) -> None:
    with pytest.raises(Unreadable, match="/brokers/ids/1"):
        broker_of(1, data)


@pytest.mark.parametrize("data", [b"", b'{"partitions":{"x":[]}}', b'{"partitions":3}'])
def test_a_topics_node_that_cannot_be_read_says_so(data: bytes) -> None:
    with pytest.raises(Unreadable, match="/brokers/topics/t"):
        partitions_of("t", data)
