from __future__ import annotations

import sys
import types
from typing import Any

import pytest
from tests.chaos.spark.fake_third_party import Place

from groupproof.chaos.spark.members.kafka_python_member import KafkaPythonMember, config_of
from groupproof.chaos.spark.members.load_order import MemberOrder

MEMBER = MemberOrder(client="m0", group="g", actions=())


class NotCoordinator(Exception):
    pass


class Client:
    """kafka-python's consumer as far as a member uses it."""

    def __init__(self, **config: Any) -> None:
        self.config, self.calls, self.error = config, list[Any](), None
        self._coordinator = types.SimpleNamespace(maybe_leave_group=lambda **_: self.calls.append("left"))

    def subscribe(self, *, topics: list[str], listener: Any) -> None:
        self.topics, self.listener = topics, listener

    def poll(self, *, timeout_ms: int) -> None:
        self.calls.append(timeout_ms)

    def commit(self) -> None:
        if self.error is not None:
            raise self.error

    def close(self, autocommit: bool = True, timeout_ms: int | None = None) -> None:
        self._coordinator.maybe_leave_group(timeout_ms=timeout_ms)
        self.calls.append(("close", autocommit))


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    kafka, errors = types.ModuleType("kafka"), types.ModuleType("kafka.errors")
    kafka.__dict__.update(KafkaConsumer=Client, ConsumerRebalanceListener=object)
    errors.__dict__.update(KafkaError=NotCoordinator)
    monkeypatch.setitem(sys.modules, "kafka", kafka)
    monkeypatch.setitem(sys.modules, "kafka.errors", errors)
    return []


def test_settings_become_kafka_pythons_own() -> None:
    config = config_of(MEMBER, [("h", 1)], {"session_timeout_ms": 9_000, "close_timeout_ms": 1})

    assert (config["bootstrap_servers"], config["session_timeout_ms"]) == (["h:1"], 9_000)
    assert "close_timeout_ms" not in config


def test_a_member_polls_commits_and_tells_its_callbacks(reports: list[object]) -> None:
    member = KafkaPythonMember(MEMBER, ["t"], [("h", 1)], {}, lambda *item: reports.append(item))
    client = member._consumer

    member.poll(0.25)
    assert member.commit() is None
    client.error = NotCoordinator()
    assert member.commit() == "NotCoordinator"
    client.listener.on_partitions_assigned([Place("t", 1)])
    client.listener.on_partitions_revoked([])

    assert client.calls == [250]
    assert reports == [("partitions_assigned", [("t", 1)], None), ("partitions_revoked", [], None)]


def test_a_member_that_leaves_reports_it_and_one_that_dies_does_not(reports: list[object]) -> None:
    leaver, dier = (KafkaPythonMember(MEMBER, ["t"], [("h", 1)], {}, lambda *_: None) for _ in range(2))
    leaver.leave()
    dier.die()

    assert leaver._consumer.calls == ["left", ("close", False)]
    assert dier._consumer.calls == [("close", False)]
