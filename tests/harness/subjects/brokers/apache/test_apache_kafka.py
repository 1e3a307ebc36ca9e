from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.apache import apache_kafka as module
from groupproof.harness.subjects.brokers.apache.apache_kafka import ApacheKafka
from groupproof.harness.subjects.brokers.apache.docker_kafka import Image
from groupproof.harness.subjects.processes.folders import Folders


def _subject(tmp_path: Path, release: str = "4.1.0", **more: Any) -> ApacheKafka:
    return ApacheKafka(release=release, cache=tmp_path, say=print, **more)


def test_it_says_who_it_is(tmp_path: Path) -> None:
    subject = _subject(tmp_path, "2.4.1", spec="apache-kafka@2.4.1")

    assert (subject.name, subject.release, subject.version, subject.profile) == ("apache-kafka", "2.4.1", "2.4.1", "kafka-2.4")
    assert not subject.is_virtual
    assert _subject(tmp_path, asked_profile="kafka-3.9").profile == "kafka-3.9"


@pytest.mark.parametrize(
    ("release", "brokers", "controllers", "has_zookeeper"),
    [("4.1.0", 1, 1, False), ("4.1.0", 2, 1, False), ("1.1.0", 1, 0, True), ("1.1.0", 2, 0, True)],
)
def test_one_controller_and_as_many_brokers_as_wanted(tmp_path: Path, release: str, brokers: int, controllers: int, has_zookeeper: bool) -> None:
    layout = _subject(tmp_path, release, extra={"x.y": "1"})._layout(Folders(data=tmp_path, logs=tmp_path), {"group.max.size": 2}, brokers)

    assert [node.node_id for node in layout.brokers] == list(range(brokers))
    assert sum(bool(node.controller_port) for node in layout.nodes) == controllers
    assert bool(layout.zookeeper_port) is has_zookeeper
    ports = [port for node in layout.nodes for port in (node.port, node.controller_port) if port]
    assert len(set(ports)) == len(ports)
    assert layout.properties(layout.brokers[0]).items() >= {("group.max.size", "2"), ("x.y", "1")}


@pytest.mark.parametrize(
    ("release", "provider", "is_cached", "image", "expected"),
    [
        ("4.1.0", None, False, True, "docker pulls=True"),
        ("4.1.0", None, True, True, "docker pulls=False"),
        ("4.1.0", "docker", True, True, "docker pulls=True"),
        ("4.1.0", None, False, False, "maven"),
        ("4.1.0", "maven", False, True, "maven"),
        ("1.1.0", None, False, True, "maven"),
    ],
)
def test_the_image_is_used_where_there_is_one_else_the_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, provider: str | None, is_cached: bool, image: bool, expected: str
) -> None:
    def docker(release: str, say: object, *, pulls: bool) -> Any:
        return SimpleNamespace(provided_by=f"docker pulls={pulls}", node=Image.node, zookeeper=Image.zookeeper) if image else None

    monkeypatch.setattr(module, "provision_docker", docker)
    monkeypatch.setattr(module, "provision_maven", lambda *_: SimpleNamespace(provided_by="maven"))
    monkeypatch.setattr(module, "is_fetched", lambda *_: is_cached)

    assert _subject(tmp_path, release, provider=provider)._provision().provided_by == expected


def test_a_user_that_requires_a_container_gets_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "provision_docker", lambda *_, **__: None)

    with pytest.raises(BrokenEnvironment, match=r"apache-kafka 4\.1\.0 has no image here: .* `make images`"):
        _subject(tmp_path, "4.1.0", provider="docker")._provision()


@pytest.mark.parametrize("is_new", [True, False])
def test_the_new_coordinator_is_a_setting_of_every_node(tmp_path: Path, is_new: bool) -> None:
    layout = _subject(tmp_path, "3.7.2", is_new=is_new)._layout(Folders(data=tmp_path, logs=tmp_path), {}, 1)

    assert ("group.coordinator.new.enable" in layout.fixed) is is_new
