from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.project import ROOT

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.toolchains.programs import NoSuchRelease
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects import spark_connector as module
from groupproof.harness.subjects.spark_connector import Connector, Jar, connector, connector_jars, fetched_connector

CONTENT = b"a jar"


def pinned(sha256: str = hashlib.sha256(CONTENT).hexdigest()) -> Connector:
    return Connector(pyspark="4.0", jars=(Jar(artifact="org.example:part:1.0", sha256=sha256),))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Maven is asked for, which it answers with jars of the same content."""
    asked: list[str] = []

    def copy(artifacts: Sequence[str], folder: Path) -> None:
        asked.extend(artifacts)
        for artifact in artifacts:
            _, name, version = artifact.split(":")
            (folder / f"{name}-{version}.jar").write_bytes(CONTENT)

    monkeypatch.setattr(module, "copy_artifacts", copy)
    return asked


def test_the_jars_are_fetched_once(tmp_path: Path, asked: list[str]) -> None:
    first = connector_jars(tmp_path, pinned=pinned())

    assert connector_jars(tmp_path, pinned=pinned()) == first
    assert [jar.read_bytes() for jar in first] == [CONTENT]
    assert asked == ["org.example:part:1.0"]


def test_a_jar_that_is_not_the_pinned_one_is_refused_and_not_kept(tmp_path: Path, asked: list[str]) -> None:
    with pytest.raises(BrokenEnvironment, match=r"org\.example:part:1\.0 is not the jar that is pinned: its SHA-256 is \w{64}, not 0000"):
        connector_jars(tmp_path, pinned=pinned("0000"))

    assert not list(tmp_path.rglob("*.jar"))


def test_a_jar_that_the_repository_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(artifacts: Sequence[str], folder: Path) -> None:
        raise NoSuchRelease(artifacts[0])

    monkeypatch.setattr(module, "copy_artifacts", missing)

    with pytest.raises(BrokenEnvironment, match=r"the Maven repository has no org\.example:part:1\.0, which Spark's Kafka connector needs"):
        connector_jars(tmp_path, pinned=pinned())


def test_what_is_pinned_is_for_the_pyspark_of_the_project_and_has_a_client_that_polls_as_the_deprecated_path_does() -> None:
    wanted = connector()

    assert wanted.release.startswith(f"{wanted.pyspark}.")
    assert f'pyspark=={wanted.pyspark}.*"' in (ROOT / "pyproject.toml").read_text("utf-8")
    assert any(jar.artifact.startswith("org.apache.kafka:kafka-clients:3.") for jar in wanted.jars), "4.0 has no Consumer.poll(long)"


def test_nothing_is_fetched_into_an_empty_cache_by_looking(tmp_path: Path) -> None:
    assert fetched_connector(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.network
@pytest.mark.java
def test_the_real_jars_are_those_that_are_pinned() -> None:
    assert all(jar.is_file() for jar in connector_jars(default_cache()))
