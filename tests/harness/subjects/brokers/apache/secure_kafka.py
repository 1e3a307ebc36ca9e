"""An Apache Kafka with TLS and SASL beside its plain listener: for whoever tries that an address is reached by them."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import trio

from groupproof.clients.registry.install_cache import default_cache
from groupproof.harness.subjects.brokers.apache.broker_releases import releases
from groupproof.harness.subjects.brokers.apache.kafka_cluster import RunningKafka
from groupproof.harness.subjects.brokers.apache.layout import KafkaNode, Layout
from groupproof.harness.subjects.brokers.apache.maven_kafka import Jars, provision_maven
from groupproof.harness.subjects.networks.ports import reserve_port
from groupproof.harness.subjects.processes.folders import folders

__all__ = ["SETTINGS", "USERS", "made_keys", "properties_file", "secure_kafka"]

SETTINGS: Final = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}
USERS: Final = {"PLAIN": "alice-plain", "SCRAM-SHA-256": "alice-256", "SCRAM-SHA-512": "alice-512"}


def made_keys(folder: Path) -> Path:
    """Write a certificate for 127.0.0.1 that signs itself, as PEM and with its key as Java reads it; return the folder."""
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
    """Let Kafka's own tool give alice her password; it starts as quickly as a broker does, with the classes that one has kept."""
    argv = jars._jvm(
        *jars._archiving(), "kafka.admin.ConfigCommand", "--bootstrap-server", f"127.0.0.1:{node.port}", "--alter",
        "--entity-type", "users", "--entity-name", "alice", "--add-config", f"{mechanism}=[password={USERS[mechanism]}]",
    )  # fmt: skip
    done = await trio.run_process(argv, capture_stdout=True, capture_stderr=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-3000:]


@asynccontextmanager
async def secure_kafka(keys: Path, tmp_path: Path) -> AsyncIterator[int]:
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


def properties_file(folder: Path, keys: Path, mechanism: str, password: str) -> Path:
    file = folder / f"{mechanism}-{password}.properties"
    jaas = f'a.LoginModule required username="alice" password="{password}";'
    file.write_text(
        f"security.protocol=SASL_SSL\nssl.truststore.type=PEM\nssl.truststore.location={keys / 'ca.pem'}\n"
        f"sasl.mechanism={mechanism}\nsasl.jaas.config={jaas}\n"
    )
    return file
