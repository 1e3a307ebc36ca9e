from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from groupproof.harness.subjects.brokers.apache.layout import CONTROLLER_ID, KafkaNode, Layout, rendered, zookeeper_properties

ALONE = KafkaNode(node_id=0, data=Path("/d/0"), port=9001, controller_port=9002)
PAIR = (KafkaNode(node_id=0, data=Path("/d/0"), port=9001), KafkaNode(node_id=1, data=Path("/d/1"), port=9002))
CONTROLLER = KafkaNode(node_id=CONTROLLER_ID, data=Path("/d/c"), controller_port=9100)


def _layout(*nodes: KafkaNode, zookeeper_port: int = 0, **asked: object) -> Layout:
    return Layout(nodes=nodes, zookeeper_port=zookeeper_port, fixed={"num.partitions": "1"}, asked=asked)


def test_a_single_broker_is_its_own_controller() -> None:
    properties = _layout(ALONE).properties(ALONE)

    assert properties["process.roles"] == "broker,controller"
    assert properties["controller.quorum.voters"] == "0@127.0.0.1:9002"
    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:9001,CONTROLLER://127.0.0.1:9002"
    assert properties["offsets.topic.replication.factor"] == "1"


def test_of_two_brokers_neither_is_the_controller() -> None:
    layout = _layout(CONTROLLER, *PAIR)
    broker, controller = layout.properties(PAIR[1]), layout.properties(CONTROLLER)

    assert broker["process.roles"] == "broker"
    assert broker["listeners"] == "PLAINTEXT://127.0.0.1:9002"
    assert controller["process.roles"] == "controller"
    assert controller["listeners"] == "CONTROLLER://127.0.0.1:9100"
    assert broker["controller.quorum.voters"] == controller["controller.quorum.voters"] == "100@127.0.0.1:9100"
    assert broker["offsets.topic.replication.factor"] == broker["default.replication.factor"] == "2"


def test_a_broker_that_others_can_take_over_from_is_missed_soon_and_a_single_one_as_kafka_has_it() -> None:
    names = {"zookeeper.session.timeout.ms", "broker.session.timeout.ms"}

    assert _layout(CONTROLLER, *PAIR).properties(PAIR[0])["broker.session.timeout.ms"] == "3000"
    assert _layout(*PAIR, zookeeper_port=2181).properties(PAIR[0])["zookeeper.session.timeout.ms"] == "3000"
    assert not names & _layout(ALONE).properties(ALONE).keys()
    assert not names & _layout(PAIR[0], zookeeper_port=2181).properties(PAIR[0]).keys()


@pytest.mark.parametrize("zookeeper_port", [0, 2181])
def test_behind_a_proxy_clients_get_its_address_and_brokers_their_own(zookeeper_port: int) -> None:
    node = replace(PAIR[0], advertised=("127.0.0.1", 7000), inner_port=9091)
    properties = _layout(CONTROLLER, node, PAIR[1], zookeeper_port=zookeeper_port).properties(node)

    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:9001,INNER://127.0.0.1:9091"
    assert properties["advertised.listeners"] == "PLAINTEXT://127.0.0.1:7000,INNER://127.0.0.1:9091"
    assert properties["inter.broker.listener.name"] == "INNER"
    assert "INNER:PLAINTEXT" in properties["listener.security.protocol.map"].split(",")
    assert "advertised.listeners" not in _layout(CONTROLLER, *PAIR, zookeeper_port=zookeeper_port).properties(PAIR[0])


def test_with_zookeeper_there_is_no_quorum() -> None:
    properties = _layout(*PAIR, zookeeper_port=2181).properties(PAIR[0])

    assert properties["broker.id"] == "0"
    assert properties["zookeeper.connect"] == "127.0.0.1:2181"
    assert int(properties["zookeeper.connection.timeout.ms"]) >= 60_000
    assert not {"process.roles", "node.id", "controller.quorum.voters"} & properties.keys()


def test_what_is_asked_comes_over_what_is_fixed() -> None:
    layout = Layout(nodes=(ALONE,), zookeeper_port=0, fixed={"a.b": "1", "c.d": "2"}, asked={"a.b": 7, "e.f": True})

    assert layout.properties(ALONE).items() >= {("a.b", "7"), ("c.d", "2"), ("e.f", "true")}


def test_nodes_say_what_they_are() -> None:
    assert [node.title for node in (ALONE, CONTROLLER)] == ["broker 0", "the controller"]
    assert _layout(CONTROLLER, *PAIR).brokers == PAIR


def test_zookeeper_listens_on_loopback_alone() -> None:
    properties = zookeeper_properties(2181, Path("/z"))

    assert properties["clientPortAddress"] == "127.0.0.1"
    assert int(properties["minSessionTimeout"]) < 3_000 < int(properties["maxSessionTimeout"])


def test_a_properties_file_keeps_backslashes() -> None:
    assert rendered({"a.b": "1", "log.dirs": "C:\\x"}) == "a.b=1\nlog.dirs=C:\\\\x\n"


@pytest.mark.parametrize(("name", "value"), [("a", "1\nb=2"), ("", "1"), ("a=b", "1"), ("#a", "1"), ("a b", "1")])
def test_what_would_be_read_back_as_something_else_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match="can't be written in a properties file"):
        rendered({name: value})
