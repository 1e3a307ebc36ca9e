from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
import trio
import trio.testing
from tests.harness.subjects.brokers.scripted_broker import ALL, ScriptedBroker, metadata

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster import CannotStop, KnownSetting, RunningCluster
from groupproof.harness.subjects.brokers.running_broker import AddressedBrokers
from groupproof.harness.subjects.networks.client_properties import Security
from groupproof.harness.subjects.networks.secure_connection import Connector
from groupproof.protocol.rules.profiles import api_versions, profiles
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import WireRequest

DELAY = "group.initial.rebalance.delay.ms"


class _Broker:
    """Has the topics of `has`, creates and deletes, and coordinates everything itself."""

    def __init__(self, *, deletes: int = 0, **has: int) -> None:
        self.topics = dict(has)
        self.deleted: list[str] = []
        self._deletes = deletes

    def __call__(self, request: WireRequest) -> Mapping[str, Any]:
        return getattr(self, request.api.name.lower())(request.body)  # type: ignore[no-any-return]  # one method for each API, below

    def metadata(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return metadata(topics={topic["name"]: self.topics.get(topic["name"], 0) for topic in body["topics"]})

    def create_topics(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        self.topics |= {topic["name"]: topic["num_partitions"] for topic in body["topics"]}
        return {"topics": tuple({"name": topic["name"]} for topic in body["topics"])}

    def delete_topics(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        self.deleted += body["topic_names"]
        return {"responses": tuple({"name": name} for name in body["topic_names"])}

    def delete_groups(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        self.deleted += body["groups_names"]
        return {"results": tuple({"group_id": name, "error_code": self._deletes} for name in body["groups_names"])}

    def find_coordinator(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"coordinators": tuple({"key": key, "host": "h", "port": 9092} for key in body["coordinator_keys"])}

    def heartbeat(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"error_code": 25 if body["group_id"] else 24}

    def consumer_group_heartbeat(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"error_code": 35 if body["group_id"] else 24, "member_id": None, "member_epoch": 0, "heartbeat_interval_ms": 0, "assignment": None}

    def describe_configs(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return {
            "results": tuple(
                {"resource_name": resource["resource_name"], "configs": ({"name": DELAY, "value": "3000"},)} for resource in body["resources"]
            )
        }


def _with(
    broker: _Broker, monkeypatch: pytest.MonkeyPatch, work: Callable[[RunningCluster], Awaitable[None]], *, versions: Any = ALL,
    by_hand: Mapping[str, int] | None = None, **more: Any,
) -> list[str]:  # fmt: skip
    """Return what was said while `work` had the cluster."""
    lines: list[str] = []

    async def main() -> None:
        async with ScriptedBroker.up(broker, versions) as scripted:
            monkeypatch.setattr(Connector, "connect", lambda _, host, port: scripted.connect(host, port))
            subject = AddressedBrokers(bootstrap=[("h", 9092)], security=Security(), say=lines.append, spec="h:9092", by_hand=by_hand or {})
            async with subject.cluster(**{"settings": {}, "brokers": 1, "topics": {}, **more}) as running:
                await work(running)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return lines


async def _nothing(running: RunningCluster) -> None:
    assert running.provided_by == "address"


def test_what_was_made_is_removed_and_what_was_there_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = _Broker(u=2)

    async def work(running: RunningCluster) -> None:
        assert broker.topics == {"u": 2, "t": 4}
        running.used(["g1", "g2", "g1"])

    assert _with(broker, monkeypatch, work, topics={"t": 4, "u": 2}) == []
    assert broker.deleted == ["g1", "g2", "t"]


def test_what_was_made_is_removed_after_a_failure_too(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = _Broker()

    async def work(running: RunningCluster) -> None:
        running.used(["g1"])
        raise KeyError

    with pytest.raises(ExceptionGroup) as caught:
        _with(broker, monkeypatch, work, topics={"t": 1})
    assert caught.group_contains(KeyError)
    assert broker.deleted == ["g1", "t"]


def test_topics_stay_until_the_last_cluster_that_uses_them_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = _Broker()

    async def main() -> None:
        async with ScriptedBroker.up(broker, ALL) as scripted:
            monkeypatch.setattr(Connector, "connect", lambda _, host, port: scripted.connect(host, port))
            subject = AddressedBrokers(bootstrap=[("h", 9092)], security=Security(), say=print, spec="h:9092")
            first, second = (subject.cluster(settings={}, brokers=1, topics={"t": 4}) for _ in range(2))
            await first.__aenter__()
            async with second:
                await first.__aexit__(None, None, None)
                assert broker.deleted == []
            assert broker.deleted == ["t"]

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_what_cannot_be_removed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(running: RunningCluster) -> None:
        running.used(["g1"])

    assert _with(_Broker(deletes=30), monkeypatch, work) == ["left behind on h:9092: group g1: GROUP_AUTHORIZATION_FAILED"]


def test_a_setting_that_the_broker_does_not_have_is_unmet(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(running: RunningCluster) -> None:
        assert running.unmet == {DELAY: "the broker has 3000, 0 is needed"}

    assert _with(_Broker(), monkeypatch, work, settings={DELAY: 0}) == []


def test_a_broker_that_reports_no_settings_has_no_setting_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(running: RunningCluster) -> None:
        why = "the broker does not report its settings: it does not speak DescribeConfigs; give them with --set NAME=VALUE"
        assert running.unmet == {DELAY: why}

    versions = {api: span for api, span in ALL.items() if api is not Api.DESCRIBE_CONFIGS}
    assert _with(_Broker(), monkeypatch, work, settings={DELAY: 0}, versions=versions) == []


def test_the_users_settings_hold_if_the_broker_reports_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(running: RunningCluster) -> None:
        assert running.unmet == {DELAY: "the broker has 500, 0 is needed"}
        assert running.known_settings == {DELAY: KnownSetting(500, "--set"), "group.max.size": KnownSetting(9, "--set")}

    versions = {api: span for api, span in ALL.items() if api is not Api.DESCRIBE_CONFIGS}
    by_name = {DELAY: 500, "group.max.size": 9}
    assert _with(_Broker(), monkeypatch, work, settings={DELAY: 0, "group.max.size": 9}, versions=versions, by_hand=by_name) == []


def test_what_it_tells_itself_comes_before_what_the_user_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(running: RunningCluster) -> None:
        assert running.known_settings == {DELAY: KnownSetting(3_000, "DescribeConfigs")}
        assert running.unmet == {DELAY: "the broker has 3000, 500 is needed"}

    assert _with(_Broker(), monkeypatch, work, settings={DELAY: 500}, by_hand={DELAY: 500}) == []


def test_its_brokers_are_not_ours_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(running: RunningCluster) -> None:
        with pytest.raises(CannotStop, match="the kit cannot stop it"):
            await running.stop(0)
        assert (running.logs(), running.deaths()) == ([], [])

    assert _with(_Broker(), monkeypatch, work) == []


def test_nobody_there_is_the_environments_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> trio.abc.Stream:
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(Connector, "connect", refuse)
    subject = AddressedBrokers(bootstrap=[("h", 9092)], security=Security(), say=print, spec="h:9092")
    with pytest.raises(BrokenEnvironment, match="no broker answers at h:9092 within 20 s: refused"):
        trio.run(subject.learn, clock=trio.testing.MockClock(autojump_threshold=0))


def test_a_subject_gets_its_profile_and_the_users_option_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with ScriptedBroker.up(_Broker(), api_versions(profiles()[0])) as broker:
            monkeypatch.setattr(Connector, "connect", lambda _, host, port: broker.connect(host, port))
            subject = AddressedBrokers(bootstrap=[("h", 9092)], security=Security(), say=print, spec="h:9092")
            await subject.learn()
            assert subject.profile == profiles()[0]
            subject.asked_profile = "kafka-4.1"
            assert subject.profile == "kafka-4.1"

    trio.run(main)
