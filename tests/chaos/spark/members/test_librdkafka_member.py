from __future__ import annotations

import sys

import pytest
from tests.chaos.spark.fake_third_party import Consumer, Error, KafkaException, Place, confluent

from groupproof.chaos.spark.members.librdkafka_member import LibrdkafkaMember, config_of
from groupproof.chaos.spark.members.load_order import MemberOrder

MEMBER = MemberOrder(client="m0", group="g", actions=())


@pytest.fixture
def reports() -> list[object]:
    return []


@pytest.fixture
def member(reports: list[object], monkeypatch: pytest.MonkeyPatch) -> LibrdkafkaMember:
    monkeypatch.setitem(sys.modules, "confluent_kafka", confluent())
    return LibrdkafkaMember(MEMBER, ["t"], [("h", 1)], {}, lambda *item: reports.append(item))


def test_settings_become_librdkafkas_own() -> None:
    config = config_of(MEMBER, [("h", 1), ("h", 2)], {"session_timeout_ms": 10_000, "max_poll_interval_ms": 5_000, "assignors": ["roundrobin"]})

    assert config["bootstrap.servers"] == "h:1,h:2"
    assert (config["session.timeout.ms"], config["max.poll.interval.ms"]) == (10_000, 10_000)
    assert config["partition.assignment.strategy"] == "roundrobin"
    assert config["enable.auto.commit"] is False


def test_in_the_consumer_protocol_the_coordinator_has_the_times() -> None:
    config = config_of(MEMBER, [("h", 1)], {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000, "assignors": ["range"], "by_epochs": True})

    assert config["group.protocol"] == "consumer"
    assert not config.keys() & {"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"}


def test_callbacks_tell_their_partitions(member: LibrdkafkaMember, reports: list[object]) -> None:
    [consumer] = Consumer.made
    consumer.callbacks["on_assign"](consumer, [Place("t", 1)])
    consumer.callbacks["on_lost"](consumer, [])

    assert reports == [("partitions_assigned", [("t", 1)], "id"), ("partitions_lost", [], "id")]


def test_a_commit_ends_well_with_nothing_to_commit_or_with_an_error(member: LibrdkafkaMember) -> None:
    [consumer] = Consumer.made
    failed = Place("t", 0, Error(22, "ILLEGAL_GENERATION"))
    consumer.commits = [[failed], KafkaException(Error(27, "REBALANCE_IN_PROGRESS")), KafkaException(Error(Error._NO_OFFSET)), [Place("t", 0)]]

    assert [member.commit() for _ in range(4)] == [None, None, "REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION"]


def test_only_a_fatal_error_ends_a_poll(member: LibrdkafkaMember) -> None:
    [consumer] = Consumer.made

    class Message:
        def __init__(self, error: Error | None) -> None:
            self._error = error

        def error(self) -> Error | None:
            return self._error

    consumer.messages = [Message(Error(1, fatal=True)), Message(Error(1)), Message(None)]
    member.poll(0.1)
    member.poll(0.1)
    with pytest.raises(KafkaException):
        member.poll(0.1)


def test_a_member_that_leaves_closes_and_one_that_dies_is_released(member: LibrdkafkaMember) -> None:
    [consumer] = Consumer.made
    member.die()
    assert not consumer.closed
    assert member._consumer is None

    other = LibrdkafkaMember(MEMBER, ["t"], [("h", 1)], {}, lambda *_: None)
    other.leave()
    assert Consumer.made[-1].closed
