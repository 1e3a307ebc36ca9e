"""`watch` and `history` through TLS and SASL, on a real Apache Kafka: by each mechanism, once and as the topic grows."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
import trio
from tests.harness.subjects.brokers.apache.secure_kafka import USERS, made_keys, properties_file, secure_kafka

from groupproof.harness.subjects.networks.client_properties import parse_properties, security_of
from groupproof.harness.subjects.networks.request_connection import asking
from groupproof.harness.subjects.networks.secure_connection import Connector
from groupproof.protocol.vocabulary import Api

pytestmark = [
    pytest.mark.java, pytest.mark.network, pytest.mark.soak,
    pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="absent: Java and Maven, which run Apache Kafka"),
]  # fmt: skip

COMMITS = 20
NO_FACTS = 2
"""What `history` ends with where there are commits and nothing else."""


async def _commit(port: int, properties: str) -> None:
    """Commit as nobody's member: the first one makes the topic."""
    connect = Connector.of(security_of(parse_properties(properties))).connect
    async with asking(await connect("127.0.0.1", port)) as asker:
        created = await asker.ask(
            Api.CREATE_TOPICS, {"topics": ({"name": "mine", "num_partitions": 1, "replication_factor": 1},), "timeout_ms": 10_000}
        )
        assert created["topics"][0]["error_code"] == 0
        body = {"topics": ({"name": "mine", "partitions": ({"partition_index": 0, "committed_offset": 1},)},)}
        done = 0
        while done < COMMITS:
            await asker.ask(Api.FIND_COORDINATOR, {"coordinator_keys": ("g",)})
            answer = await asker.ask(Api.OFFSET_COMMIT, {"group_id": "g", "generation_id": -1, "member_id": "", **body}, newest=8)
            done += not answer["topics"][0]["partitions"][0]["error_code"]


async def _groupproof(*words: str) -> str:
    ran = await trio.run_process([str(Path(sys.executable).with_name("groupproof")), *words], capture_stdout=True, capture_stderr=True, check=False)
    assert ran.returncode in (0, NO_FACTS), (ran.stdout + ran.stderr).decode()
    return ran.stdout.decode()


def test_the_topic_is_read_through_tls_and_sasl(tmp_path: Path) -> None:
    keys, found = made_keys(tmp_path), list[tuple[int, int]]()
    files = {mechanism: properties_file(tmp_path, keys, mechanism, password) for mechanism, password in USERS.items()}

    plain = files["PLAIN"].read_text()

    async def main() -> None:
        async with secure_kafka(keys, tmp_path) as port:
            address = f"127.0.0.1:{port}"
            await _commit(port, plain)
            for mechanism, file in files.items():
                watched = json.loads(await _groupproof("watch", address, "--properties", str(file), "--json"))
                follows = ("--follow", "--for", "15s") if mechanism == "PLAIN" else ()
                text = await _groupproof("history", address, "--properties", str(file), "--output", str(tmp_path / mechanism), "--json", *follows)
                history = json.loads(text)
                found.append((watched["topic"]["records"]["OffsetCommit"], history["records"]))

    trio.run(main)
    assert found == [(COMMITS, COMMITS)] * 3
