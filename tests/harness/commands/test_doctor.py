from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness.commands.calling import Call

from groupproof.harness.commands.work import environment
from groupproof.harness.commands.work.environment import Part
from groupproof.harness.subjects.brokers.apache.maven_kafka import key_of
from groupproof.harness.subjects.brokers.kfake import pinned


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make a machine with Python and nothing else."""
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("GROUPPROOF_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("bare")
def test_what_is_missing_is_told_with_how_to_get_it(groupproof: Call) -> None:
    called = groupproof("doctor")

    assert called.code == 0
    assert "java        missing, needed for the Java client and Apache Kafka: install a JDK, 17 or newer (Debian: default-jdk-headless)" in called.out
    assert "maven       missing" in called.out
    assert "clients     none installed yet" in called.out
    assert "go          missing, needed for kfake: install Go 1.26" in called.out
    assert "docker      missing, needed for Apache Kafka by its official image" in called.out
    assert "brokers     none installed yet" in called.out
    assert "leftovers   none" in called.out
    assert "toxiproxy   missing, needed for impaired ways on the wire (groupproof chaos): install Go 1.26" in called.out


@pytest.mark.usefixtures("bare")
def test_an_extra_that_is_missing_is_told_with_its_cure(groupproof: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "toxiproxy", None)
    monkeypatch.setitem(sys.modules, "kazoo", None)

    lines = {line.split()[0]: line for line in groupproof("doctor").out.splitlines()}

    assert lines["fuzz"] == "fuzz        hypothesis"
    assert lines["chaos"].startswith("chaos       missing, needed for a Toxiproxy between members and brokers (groupproof chaos run --client, ")
    assert lines["chaos"].endswith("-m pip install 'groupproof[chaos]'")
    assert "pip install 'groupproof[zookeeper]'" in lines["zookeeper"]


def test_containers_of_killed_runs_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_answer", lambda argv: None)
    monkeypatch.setattr(environment, "left", lambda: ["groupproof-1", "groupproof-2"])
    told = next(part.found for part in environment.examine() if part.name == "leftovers")

    assert told == "groupproof-1, groupproof-2; the next run with containers removes them"


def test_a_toxiproxy_is_found_as_a_run_would_take_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there: dict[str, str] = {}
    monkeypatch.setattr(environment, "_answer", lambda argv: there.get(argv[0]))
    monkeypatch.setattr(shutil, "which", lambda name, path=None: there.get(name))
    monkeypatch.setenv("GROUPPROOF_CACHE", str(tmp_path))

    def found() -> str | None:
        return next(part.found for part in environment.examine() if part.name == "toxiproxy")

    told = [found()]
    there["go"] = "/usr/bin/go"
    told.append(found())
    server = tmp_path / "go" / "toxiproxy-2.12.0" / "server"
    server.parent.mkdir(parents=True)
    server.touch()
    told.append(found())
    there["toxiproxy-server"] = "toxiproxy-server version 2.12.0, /usr/bin/toxiproxy-server"
    told.append(found())
    there["docker"] = "sha256:1, /usr/bin/docker"
    told.append(found())

    by_go = f"built by Go, {server}"
    assert told == [None, "built by Go when it is first needed", by_go, there["toxiproxy-server"], "image ghcr.io/shopify/toxiproxy:2.12.0"]


@pytest.mark.usefixtures("bare")
def test_brokers_that_are_installed_are_named(groupproof: Call, tmp_path: Path) -> None:
    (tmp_path / "cache" / "go" / f"kfake-{pinned()}-0").mkdir(parents=True)
    (tmp_path / "cache" / key_of("2.4.1")).mkdir(parents=True)

    assert "brokers     apache-kafka@2.4.1, kfake\n" in groupproof("doctor").out


@pytest.mark.usefixtures("bare")
def test_a_machine_on_which_nothing_can_be_certified_is_4(groupproof: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_loopback", lambda: None)

    called = groupproof("doctor", "--json")

    assert called.code == 4
    assert [part["name"] for part in called.json if part["is_vital"] and not part["found"]] == ["loopback"]


def test_a_cache_that_cannot_be_made_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    monkeypatch.setenv("GROUPPROOF_CACHE", "/proc/groupproof")

    cache: Part = next(part for part in environment.examine() if part.name == "cache")

    assert cache.found is None
    assert "set GROUPPROOF_CACHE to a folder that is" in cache.remedy


@pytest.mark.parametrize(("status", "said", "found"), [(0, "go 1.26\nmore", "go 1.26, /bin/go"), (1, "broken", None), (0, "", None)])
def test_a_program_counts_when_it_answers(status: int, said: str, found: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, path=None: f"/bin/{name}")

    assert environment._answer(("go", "version"), lambda *_, **__: subprocess.CompletedProcess([], status, said, "")) == found
