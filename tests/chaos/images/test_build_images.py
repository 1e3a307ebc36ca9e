"""What images are built of, and what they are refused for; in `make soak` real ones, certified."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.chaos.engines import running_engine

from groupproof.chaos.images import build_images
from groupproof.chaos.images.build_images import build_client, build_kafka, client_image, main
from groupproof.chaos.images.container_engine import Engine
from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.registered_clients import resolve
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.apache.maven_kafka import provision_maven

__all__ = ["running_engine"]


class Noting:
    """An engine that notes what it is to build."""

    def __init__(self) -> None:
        self.built: dict[str, tuple[str, list[str]]] = {}

    def build(self, image: str, context: Path) -> None:
        self.built[image] = (context / "Dockerfile").read_text(), sorted(path.name for path in context.iterdir())


@pytest.fixture
def engine() -> Any:
    return Noting()


def test_a_proxys_image_has_the_server_that_go_built(engine: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server = tmp_path / "server"
    server.write_text("a program")
    monkeypatch.setattr(build_images, "build_toxiproxy", lambda *_: server)

    assert build_images.build_proxy(engine, tmp_path, print) == "groupproof/toxiproxy:2.12.0"
    dockerfile, files = engine.built["groupproof/toxiproxy:2.12.0"]
    assert ('ENTRYPOINT ["/toxiproxy"]' in dockerfile, files) == (True, ["Dockerfile", "server"])


def test_the_reference_and_releases_with_zookeeper_are_in_no_image(engine: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jars = SimpleNamespace(needs=SimpleNamespace(zookeeper=True))
    monkeypatch.setattr(build_images, "provision_maven", lambda *_: jars)
    with pytest.raises(BrokenEnvironment, match=r"apache-kafka 2\.4\.1 needs ZooKeeper"):
        build_kafka(engine, "2.4.1", tmp_path, print)
    with pytest.raises(BrokenEnvironment, match="groupproof runs in the kit's own process"):
        build_client(engine, resolve("groupproof"), tmp_path, print)
    with pytest.raises(BrokenEnvironment, match="no image is built for clients in go; franz-go runs without containers"):
        build_client(engine, resolve("franz-go"), tmp_path, print)
    assert engine.built == {}


def test_what_cannot_be_built_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "")

    assert main(["toxiproxy"]) == 2
    assert capsys.readouterr().err.startswith("groupproof: no container engine answers: ")


def _groupproof(*arguments: str, **env: str) -> str:
    argv = [str(Path(sys.executable).with_name("groupproof")), *arguments]
    done = subprocess.run(argv, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.soak
@pytest.mark.docker
@pytest.mark.java
@pytest.mark.network
def test_a_broker_in_a_container_is_certified(running_engine: Engine, tmp_path: Path) -> None:
    provision_maven("4.1.0", default_cache(), print)
    build_kafka(running_engine, "4.1.0", default_cache(), print)

    run_result = _groupproof(
        "certify", "coordinator", "apache-kafka@4.1.0", "--only", "leader*", "--output", str(tmp_path), GROUPPROOF_PROVIDER="docker"
    )

    assert " OK\n" in run_result
    assert "FAILED" not in run_result
    assert "docker (" in (tmp_path / "report.json").read_text()


@pytest.mark.soak
@pytest.mark.docker
@pytest.mark.network
def test_a_client_in_a_container_is_frozen_and_killed_as_any_other(running_engine: Engine, tmp_path: Path) -> None:
    client = resolve("kafka-python@2.2.3")
    build_client(running_engine, client, default_cache(), print)
    cases = ("--only", "heartbeat/classic/thrown-out", "--only", "rebalance/classic/member-crashes")
    run = ("docker", "run", "--rm", "--interactive", "--network", "host", client_image(client))

    run_result = _groupproof("certify", "client", *cases, "--output", str(tmp_path), "--", *run)

    assert "2 OK\n" in run_result
