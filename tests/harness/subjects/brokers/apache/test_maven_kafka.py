from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.harness.subjects.brokers.programs import folders_in, program

from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.subjects.brokers.apache.layout import KafkaNode, Layout
from groupproof.harness.subjects.brokers.apache.maven_kafka import is_fetched, provision_maven
from groupproof.harness.subjects.processes.broker_process import Command

FORMAT = """case "$*" in
*version*) echo 'openjdk version "17.0.1"' >&2;;
*StorageTool*)
  for each; do file=$each; done
  while read -r line; do case $line in log.dirs=*) folder=${line#log.dirs=};; esac; done < "$file"
  echo "#a comment" > "$folder/meta.properties"
  echo "version=1" >> "$folder/meta.properties"
  echo "node.id=1" >> "$folder/meta.properties"
  echo "directory.id=abc" >> "$folder/meta.properties"
  echo "cluster.id=xyz" >> "$folder/meta.properties";;
esac"""


def _guarded(command: Command) -> tuple[list[str], list[str]]:
    plan = json.loads(command.argv[-1])
    return plan["argv"], plan["remove"]


def test_a_release_is_fetched_and_formatted_once(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder, "java", FORMAT)
    program(bin_folder, "mvn", f"echo fetched >> {tmp_path}/calls")
    lines: list[str] = []
    first = provision_maven("4.1.0", tmp_path / "cache", lines.append)

    assert provision_maven("4.1.0", tmp_path / "cache", lines.append) == first
    assert first.provided_by == "maven"
    assert (tmp_path / "calls").read_text().splitlines() == ["fetched"]
    assert [name.split()[0] for name in lines] == ["fetching", "formatting"]
    assert is_fetched("4.1.0", tmp_path / "cache")
    assert not is_fetched("4.0.0", tmp_path / "cache")


def test_a_node_gets_storage_under_its_own_ids(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder, "java", FORMAT)
    program(bin_folder, "mvn", "exit 0")
    own = folders_in(tmp_path)
    node = KafkaNode(node_id=7, data=own.data / "broker-7", port=9001, controller_port=9002)
    layout = Layout(nodes=(node,), zookeeper_port=0, fixed={}, asked={})
    command = provision_maven("4.1.0", tmp_path / "cache", print).node(layout, node, own)
    argv, remove = _guarded(command)

    meta = dict(line.split("=") for line in (node.data / "meta.properties").read_text().splitlines())
    assert (meta["node.id"], meta["cluster.id"]) == ("7", "xyz")
    assert len(meta["directory.id"]) == 22
    assert argv[-2:] == ["kafka.Kafka", str(own.data / "7.properties")]
    assert "node.id=7\n" in (own.data / "7.properties").read_text()
    assert remove == [str(node.data), str(own.data / "7.properties")]
    assert (command.title, command.log) == ("broker 7", tmp_path / "logs" / "broker-7.log")


def test_a_node_whose_disk_can_be_slowed_has_the_library_before_its_own(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder, "java", FORMAT)
    program(bin_folder, "mvn", "exit 0")
    own = folders_in(tmp_path)
    node = KafkaNode(node_id=7, data=own.data / "broker-7", port=9001, controller_port=9002)
    layout = Layout(nodes=(node,), zookeeper_port=0, fixed={}, asked={})
    jars = replace(provision_maven("4.1.0", tmp_path / "cache", print), slowing=Path("/slow_disk.so"))
    argv, remove = _guarded(jars.node(layout, node, own))

    slowing = [f"GROUPPROOF_SLOW_DISK={own.data}/disk-7", f"GROUPPROOF_SLOW_FOLDER={node.data}/"]
    assert argv[:5] == ["env", "LD_PRELOAD=/slow_disk.so", *slowing, jars.java]
    assert remove[-1] == str(own.data / "disk-7")


def test_a_release_with_zookeeper_has_one_of_its_own(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder, "java", FORMAT)
    program(bin_folder, "mvn", "exit 0")
    own = folders_in(tmp_path)
    jars = provision_maven("1.1.0", tmp_path / "cache", print)
    argv, _ = _guarded(jars.zookeeper(2181, own))

    assert argv[-2:] == ["org.apache.zookeeper.server.quorum.QuorumPeerMain", str(own.data / "zookeeper.properties")]
    assert any(name.startswith("-Dlog4j.configuration=") for name in argv)
    assert "clientPort=2181\n" in (own.data / "zookeeper.properties").read_text()
    assert jars.formatted is None


def test_without_java_it_is_said_what_to_install(bin_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BrokenEnvironment, match="no java here: install a JDK 17"):
        provision_maven("4.1.0", tmp_path, print)


def test_a_jdk_that_is_too_old_is_reported(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder, "java", """echo 'openjdk version "11.0.2"' >&2""")

    with pytest.raises(BrokenEnvironment, match=r"apache-kafka@4\.1\.0 needs Java >=17, this is 11\.0\.2"):
        provision_maven("4.1.0", tmp_path, print)


def test_without_maven_it_is_said_what_to_install(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder, "java", FORMAT)

    with pytest.raises(BrokenEnvironment, match="no mvn here: install Maven"):
        provision_maven("4.1.0", tmp_path, print)


def test_a_release_that_the_repository_lacks_is_wrong_usage(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder, "java", FORMAT)
    program(bin_folder, "mvn", "echo '[ERROR] Could not find artifact org.apache.kafka:kafka_2.13:jar:4.9.9 in central'; exit 1")

    with pytest.raises(WrongUsage, match=r"apache-kafka has no release 4\.9\.9: .*known are 1\.1\.0"):
        provision_maven("4.9.9", tmp_path, print)


def test_a_storage_that_cannot_be_formatted_is_reported_with_what_was_said(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder, "java", """case "$*" in *version*) echo 'openjdk version "17.0.1"' >&2;; *) echo 'no such option'; exit 1;; esac""")
    program(bin_folder, "mvn", "exit 0")

    with pytest.raises(BrokenEnvironment, match=r"StorageTool could not format a folder \(status 1\): no such option"):
        provision_maven("4.1.0", tmp_path / "cache", print)


def test_a_training_broker_writes_the_archive_that_later_ones_read(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder, "java", FORMAT)
    program(bin_folder, "mvn", "exit 0")
    own = folders_in(tmp_path)
    node = KafkaNode(node_id=0, data=own.data / "broker-0", port=9001, controller_port=9002)
    layout = Layout(nodes=(node,), zookeeper_port=0, fixed={}, asked={})
    jars = provision_maven("4.1.0", tmp_path / "cache", print)
    assert not jars.is_trained
    (option,) = [name for name in _guarded(replace(jars, trains=True).node(layout, node, own))[0] if "ArchiveClassesAtExit" in name]
    Path(option.partition("=")[2]).write_text("classes")
    jars.keep_archive()

    assert jars.is_trained
    assert jars.archive is not None
    assert "jdk-17.0.1" in jars.archive.name
    assert f"-XX:SharedArchiveFile={jars.archive}" in _guarded(jars.node(layout, node, own))[0]


def test_an_old_jvm_is_not_trained(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder, "java", FORMAT.replace("17.0.1", "11.0.2"))
    program(bin_folder, "mvn", "exit 0")

    assert provision_maven("1.1.0", tmp_path / "cache", print).is_trained
