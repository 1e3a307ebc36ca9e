from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from tests.harness.commands.calling import Call

from groupproof.harness.commands.work import environment
from groupproof.harness.subjects.brokers.apache.maven_kafka import key_of
from groupproof.harness.subjects.brokers.kfake import pinned


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make a machine with Python and nothing else."""
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("GROUPPROOF_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("bare")
def test_what_is_missing_is_reported_with_how_to_get_it(groupproof: Call) -> None:
    called = groupproof("doctor")

    assert called.code == 0
    assert "java        missing, needed for the Java client and Apache Kafka: install a JDK 17 or later (Debian" in called.out
    assert "maven       missing" in called.out
    assert "clients     none installed yet" in called.out
    assert "go          missing, needed for Go clients, kfake and Toxiproxy: install Go 1.26" in called.out
    assert "docker      missing, needed for Apache Kafka by its official image" in called.out
    assert "brokers     none installed yet" in called.out
    assert "leftovers   none" in called.out
    assert "toxiproxy   missing, needed for impaired ways on the wire (groupproof chaos): install Go 1.26" in called.out


@pytest.mark.usefixtures("bare")
def test_an_extra_that_is_missing_is_reported_with_its_cure(groupproof: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "toxiproxy", None)
    monkeypatch.setitem(sys.modules, "kazoo", None)

    lines = {line.split()[0]: line for line in groupproof("doctor").out.splitlines()}

    assert lines["fuzz"] == "fuzz        hypothesis"
    assert lines["chaos"].startswith("chaos       missing, needed for a Toxiproxy between members and brokers (groupproof chaos run --client, ")
    assert lines["chaos"].endswith("-m pip install 'groupproof[chaos]'")
    assert "pip install 'groupproof[zookeeper]'" in lines["zookeeper"]


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
