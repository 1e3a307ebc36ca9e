"""Apache Kafka itself, started once in its oldest and in its newest profile, and once with TLS and SASL."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from groupproof.clients.registry.install_cache import default_cache
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.apache.apache_kafka import ApacheKafka
from groupproof.harness.subjects.brokers.apache.broker_releases import releases
from groupproof.harness.subjects.brokers.apache.kafka_cluster import RunningKafka
from groupproof.harness.subjects.brokers.apache.layout import KafkaNode, Layout
from groupproof.harness.subjects.brokers.apache.maven_kafka import Jars, provision_maven
from groupproof.harness.subjects.brokers.broker_providers import subject_named
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.readiness import wait_until_coordinating
from groupproof.harness.subjects.networks.client_properties import parse_properties, security_of
from groupproof.harness.subjects.networks.ports import reserve_port
from groupproof.harness.subjects.networks.request_connection import asking
from groupproof.harness.subjects.networks.secure_connection import Connector
from groupproof.harness.subjects.processes.folders import folders
from groupproof.protocol.vocabulary import Api

pytestmark = [
    pytest.mark.java, pytest.mark.network, pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="absent: Java and Maven, which run Apache Kafka"),
]  # fmt: skip

SETTINGS = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}
USERS = {"PLAIN": "alice-plain", "SCRAM-SHA-256": "alice-256", "SCRAM-SHA-512": "alice-512"}


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


def test_a_broker_that_refuses_its_settings_is_told_with_its_last_words(tmp_path: Path) -> None:
    async def work(running: RunningCluster) -> None:
        raise AssertionError(f"{running} must not come up")

    with pytest.raises(BrokenEnvironment, match=r"did not come up: broker 0 ended with status 1; its last words: .*group\.max\.size"):
        _running("4.1.0", tmp_path, work, settings={"group.max.size": "many"})


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for 127.0.0.1 that signs itself, as PEM and with its key as Java reads it."""
    folder = tmp_path_factory.mktemp("keys")
    keystore = ["-keystore", str(folder / "server.p12"), "-storetype", "PKCS12", "-storepass", "secret1"]
    subprocess.run(
        ["keytool", "-genkeypair", "-alias", "server", "-keyalg", "RSA", "-dname", "CN=127.0.0.1", "-ext", "SAN=ip:127.0.0.1", *keystore],
        check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run(
        ["keytool", "-exportcert", "-rfc", "-alias", "server", "-file", str(folder / "ca.pem"), *keystore], check=True, capture_output=True
    )
    return folder


def _secure(keys: Path, node: KafkaNode, port: int) -> Mapping[str, str]:
    """Return the settings of a node that listens on `port` besides, with TLS and every mechanism."""
    module = "org.apache.kafka.common.security"
    scram = {
        f"listener.name.sasl_ssl.{name}.sasl.jaas.config": f"{module}.scram.ScramLoginModule required;" for name in ("scram-sha-256", "scram-sha-512")
    }
    return {
        **releases().settings,
        "listeners": f"PLAINTEXT://127.0.0.1:{node.port},CONTROLLER://127.0.0.1:{node.controller_port},SASL_SSL://127.0.0.1:{port}",
        "ssl.keystore.location": str(keys / "server.p12"), "ssl.keystore.type": "PKCS12", "ssl.keystore.password": "secret1",
        "sasl.enabled.mechanisms": ",".join(USERS),
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{module}.plain.PlainLoginModule required user_alice="{USERS["PLAIN"]}";',
        **scram,
    }  # fmt: skip


async def _give_password(jars: Jars, node: KafkaNode, mechanism: str) -> None:
    """Let Kafka's own tool give alice her password."""
    argv = [
        jars.java, "-XX:TieredStopAtLevel=1", "-cp", f"{jars.jars}/*", "kafka.admin.ConfigCommand", "--bootstrap-server", f"127.0.0.1:{node.port}", "--alter",
        "--entity-type", "users", "--entity-name", "alice", "--add-config", f"{mechanism}=[password={USERS[mechanism]}]",
    ]  # fmt: skip
    done = await trio.run_process(argv, capture_stdout=True, capture_stderr=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-3000:]


@asynccontextmanager
async def _with_tls(keys: Path, tmp_path: Path) -> AsyncIterator[int]:
    """Yield the port of a broker's listener with TLS and SASL, where alice has a password for each mechanism."""
    jars, port = provision_maven("4.1.0", default_cache(), print), reserve_port()
    with folders("secure", cache=tmp_path, logs=tmp_path / "logs") as own:
        node = KafkaNode(node_id=0, data=own.data / "0", port=reserve_port(), controller_port=reserve_port())
        running = RunningKafka(jars, Layout(nodes=(node,), zookeeper_port=0, fixed=_secure(keys, node, port), asked=SETTINGS), own)
        try:
            await running.start()
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                await _give_password(jars, node, mechanism)
            yield port
        finally:
            await running.end()


def _properties(folder: Path, keys: Path, mechanism: str, password: str) -> Path:
    file = folder / f"{mechanism}-{password}.properties"
    jaas = f'a.LoginModule required username="alice" password="{password}";'
    file.write_text(
        f"security.protocol=SASL_SSL\nssl.truststore.type=PEM\nssl.truststore.location={keys / 'ca.pem'}\n"
        f"sasl.mechanism={mechanism}\nsasl.jaas.config={jaas}\n"
    )
    return file


def test_an_address_is_reached_by_tls_and_each_mechanism_and_left_as_it_was(keys: Path, tmp_path: Path) -> None:
    lines: list[str] = []

    async def by(port: int, mechanism: str, password: str) -> None:
        properties = _properties(tmp_path, keys, mechanism, password)
        subject = subject_named(f"127.0.0.1:{port}", properties=properties, say=lines.append)
        async with subject.cluster(settings={**SETTINGS, "group.max.size": 7}, brokers=1, topics={"mine": 2}) as running:
            assert set(running.unmet) == {"group.max.size"}
            async with asking(await running.connect(*running.addresses[0])) as asker:
                commit = {"topics": ({"name": "mine", "partitions": ({"partition_index": 0, "committed_offset": 1},)},)}
                answer = await asker.ask(Api.OFFSET_COMMIT, {"group_id": "left", "generation_id": -1, "member_id": "", **commit}, newest=8)
            assert answer["topics"][0]["partitions"][0]["error_code"] == 0
            running.used(["left"])

    async def remaining(port: int) -> tuple[list[str], list[int]]:
        connect = Connector.of(security_of(parse_properties(_properties(tmp_path, keys, "PLAIN", USERS["PLAIN"]).read_text()))).connect
        async with asking(await connect("127.0.0.1", port)) as asker:
            groups = [group["group_id"] for group in (await asker.ask(Api.LIST_GROUPS, {}))["groups"]]
            topics = (await asker.ask(Api.METADATA, {"topics": ({"name": "mine"},), "allow_auto_topic_creation": False}, newest=8))["topics"]
            return groups, [result["error_code"] for result in topics]

    async def main() -> None:
        async with _with_tls(keys, tmp_path) as port:
            for mechanism, password in USERS.items():
                await by(port, mechanism, password)
                with pytest.raises(BrokenEnvironment, match=f"'alice' by {mechanism}"):
                    await by(port, mechanism, "wrong")
            assert await remaining(port) == ([], [3])

    trio.run(main)
    assert lines == []
