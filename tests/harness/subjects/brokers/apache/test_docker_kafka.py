from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.apache.docker_kafka import Image, provision_docker
from groupproof.harness.subjects.brokers.apache.layout import KafkaNode, Layout
from groupproof.harness.subjects.processes.folders import Folders
from groupproof.harness.subjects.processes.images import place


def test_an_image_that_is_here_is_used(docker: Path) -> None:
    image = provision_docker("4.1.0", print, pulls=True)

    assert image == Image(name="apache/kafka:4.1.0")
    assert image.provided_by == "docker (apache/kafka:4.1.0)"


def test_without_the_image_there_is_none(docker: Path) -> None:
    (docker / "refuses").write_text("image\n")

    assert provision_docker("4.1.0", print, pulls=False) is None


def test_an_image_built_here_is_used_if_the_official_one_cannot_be_pulled(docker: Path) -> None:
    program = docker / "bin" / "docker"
    program.write_text(program.read_text().replace('case "$*" in', 'case "$*" in pull*) exit 1;;').replace("$word*", "*$word*"))
    (docker / "refuses").write_text(" apache/kafka\n")

    assert provision_docker("4.1.0", print, pulls=True) == Image(name="groupproof/apache-kafka:4.1.0")
    assert provision_docker("4.1.0", print, pulls=False) is None


def test_a_node_is_a_container_on_the_hosts_loopback_that_is_removed_at_the_end(tmp_path: Path) -> None:
    own = Folders(data=tmp_path / "run-1", logs=tmp_path / "logs")
    own.data.mkdir()
    node = KafkaNode(node_id=0, data=own.data / "broker-0", port=9001, controller_port=9002)
    layout = Layout(nodes=(node,), zookeeper_port=0, fixed={"num.partitions": "1"}, asked={"group.max.size": 3})
    command = Image(name="apache/kafka:4.1.0").node(layout, node, own)
    plan = json.loads(command.argv[-1])

    labels = ["--label", f"groupproof.pid={os.getpid()}", "--label", f"groupproof.place={place()}"]
    assert plan["argv"][:10] == ["docker", "run", "--name", "run-1-0", *labels, "--network", "host"]
    assert plan["argv"][-1] == "apache/kafka:4.1.0"
    assert plan["after"] == [["docker", "rm", "--force", "--volumes", "run-1-0"]]
    text = (own.data / "config-0" / "server.properties").read_text()
    assert f"{own.data}/config-0:/mnt/shared/config:ro" in plan["argv"]
    assert "listeners=PLAINTEXT://127.0.0.1:9001,CONTROLLER://127.0.0.1:9002\n" in text
    assert "group.max.size=3\n" in text
    assert "log.dirs=/tmp/kraft-logs\n" in text


@pytest.mark.parametrize(("name", "is_slowed"), [("groupproof/apache-kafka:4.1.0", True), ("apache/kafka:4.1.0", False)])
def test_only_the_image_built_here_can_load_what_slows_a_disk(tmp_path: Path, name: str, is_slowed: bool) -> None:
    own = Folders(data=tmp_path / "run-1", logs=tmp_path / "logs")
    own.data.mkdir()
    node = KafkaNode(node_id=0, data=own.data / "broker-0", port=9001, controller_port=9002)
    layout = Layout(nodes=(node,), zookeeper_port=0, fixed={}, asked={})
    argv = json.loads(Image(name=name, slowing=Path("/cache/slow_disk.so")).node(layout, node, own).argv[-1])["argv"]

    assert ("LD_PRELOAD=/cache/slow_disk.so" in argv) is is_slowed
    assert ("GROUPPROOF_SLOW_FOLDER=/tmp/kraft-logs/" in argv) is is_slowed
    assert (own.data / "disk-0").is_file() is is_slowed


def test_an_image_has_no_zookeeper(tmp_path: Path) -> None:
    with pytest.raises(BrokenEnvironment, match="without ZooKeeper"):
        Image(name="apache/kafka:4.1.0").zookeeper(2181, Folders(data=tmp_path, logs=tmp_path))
