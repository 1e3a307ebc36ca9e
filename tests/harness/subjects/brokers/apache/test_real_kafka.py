"""Apache Kafka itself, started once in its oldest and in its newest profile, and once with TLS and SASL."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from tests.harness.subjects.brokers.apache.secure_kafka import SETTINGS, USERS, made_keys, properties_file, secure_kafka

from groupproof.clients.registry.install_cache import default_cache
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.apache.apache_kafka import ApacheKafka
from groupproof.harness.subjects.brokers.broker_providers import subject_named
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.readiness import wait_until_coordinating
from groupproof.harness.subjects.networks.client_properties import parse_properties, security_of
from groupproof.harness.subjects.networks.request_connection import asking
from groupproof.harness.subjects.networks.secure_connection import Connector
from groupproof.protocol.vocabulary import Api

pytestmark = [
    pytest.mark.java, pytest.mark.network, pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="absent: Java and Maven, which run Apache Kafka"),
]  # fmt: skip


def _running(release: str, logs: Path, work: Callable[[RunningCluster], Awaitable[None]], *, brokers: int = 1, **more: Any) -> None:
    async def main() -> None:
        subject = ApacheKafka(release=release, cache=default_cache(), say=print, provider="maven", logs=logs, extra=more.pop("extra", {}))
        async with subject.cluster(**{"settings": SETTINGS, "brokers": brokers, "topics": {"t": 4}, **more}) as running:
            await work(running)

    trio.run(main)


@pytest.mark.parametrize(("release", "unknown"), [("1.1.0", {"group.max.size"}), ("4.1.0", set())])
def test_a_release_comes_up_with_its_settings_and_topics_and_leaves_nothing(release: str, unknown: set[str], tmp_path: Path) -> None:
    entries: list[Path] = []

    async def work(running: RunningCluster) -> None:
        assert set(running.unmet) == unknown
        assert (running.provided_by, running.deaths()) == ("maven", [])
        async with asking(await running.connect(*running.addresses[0])) as asker:
            answer = await asker.ask(Api.METADATA, {"topics": ({"name": "t"},)}, newest=8)
            joining = {"group_id": "g", "session_timeout_ms": 100, "rebalance_timeout_ms": 1000, "member_id": "", "protocol_type": "consumer"}
            joined = await asker.ask(Api.JOIN_GROUP, {**joining, "protocols": ({"name": "range", "metadata": b""},)}, version=2)
        assert [len(topic["partitions"]) for topic in answer["topics"]] == [4]
        assert (joined["error_code"], joined["generation_id"]) == (0, 1)
        entries.extend(running.logs())

    _running(release, tmp_path, work, settings={**SETTINGS, "group.max.size": 10})
    assert all(log.stat().st_size for log in entries)
    assert not [name for name in os.listdir("/proc") if name.isdigit() and _runs(name, f"groupproof-kafka-{release}", str(os.getpid()))]


def _runs(pid: str, program: str, parent: str) -> bool:
    """Tell whether a process of `parent` has `what` in its command line."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return status[1] == parent and program in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def test_groups_move_when_a_broker_is_killed(tmp_path: Path) -> None:
    async def work(running: RunningCluster) -> None:
        await running.stop(0)
        await wait_until_coordinating(running.connect, running.addresses[0], 5, running.deaths)
        assert running.deaths() == []

    _running("4.1.0", tmp_path, work, brokers=2)


def test_a_broker_that_refuses_its_settings_is_reported_with_its_last_words(tmp_path: Path) -> None:
    async def work(running: RunningCluster) -> None:
        raise AssertionError(f"{running} must not come up")

    with pytest.raises(BrokenEnvironment, match=r"did not come up: broker 0 ended with status 1; its last words: .*group\.max\.size"):
        _running("4.1.0", tmp_path, work, settings={"group.max.size": "many"})


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_keys(tmp_path_factory.mktemp("keys"))


def test_an_address_is_reached_by_tls_and_each_mechanism_and_left_as_it_was(keys: Path, tmp_path: Path) -> None:
    lines: list[str] = []

    async def by(port: int, mechanism: str, password: str) -> None:
        properties = properties_file(tmp_path, keys, mechanism, password)
        subject = subject_named(f"127.0.0.1:{port}", properties=properties, say=lines.append)
        async with subject.cluster(settings={**SETTINGS, "group.max.size": 7}, brokers=1, topics={"mine": 2}) as running:
            assert set(running.unmet) == {"group.max.size"}
            async with asking(await running.connect(*running.addresses[0])) as asker:
                commit = {"topics": ({"name": "mine", "partitions": ({"partition_index": 0, "committed_offset": 1},)},)}
                answer = await asker.ask(Api.OFFSET_COMMIT, {"group_id": "left", "generation_id": -1, "member_id": "", **commit}, newest=8)
            assert answer["topics"][0]["partitions"][0]["error_code"] == 0
            running.used(["left"])

    async def remaining(port: int) -> tuple[list[str], list[int]]:
        connect = Connector.of(security_of(parse_properties(properties_file(tmp_path, keys, "PLAIN", USERS["PLAIN"]).read_text()))).connect
        async with asking(await connect("127.0.0.1", port)) as asker:
            groups = [group["group_id"] for group in (await asker.ask(Api.LIST_GROUPS, {}))["groups"]]
            topics = (await asker.ask(Api.METADATA, {"topics": ({"name": "mine"},), "allow_auto_topic_creation": False}, newest=8))["topics"]
            return groups, [result["error_code"] for result in topics]

    async def main() -> None:
        async with secure_kafka(keys, tmp_path) as port:
            for mechanism, password in USERS.items():
                await by(port, mechanism, password)
                with pytest.raises(BrokenEnvironment, match=f"'alice' by {mechanism}"):
                    await by(port, mechanism, "wrong")
            assert await remaining(port) == ([], [3])

    trio.run(main)
    assert lines == []
