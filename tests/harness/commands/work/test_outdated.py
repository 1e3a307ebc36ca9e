"""Which registered subjects are behind their registry; the registries are played."""

from __future__ import annotations

import pytest
from tests.harness.commands.calling import Call

from groupproof.clients.registry.install_cache import ProvisionError
from groupproof.clients.registry.registered_clients import registered
from groupproof.harness.commands.work.outdated import outdated, packages

NAMES = [subject.name for subject in packages()]


def test_every_client_with_releases_and_the_broker_is_a_package() -> None:
    assert {client.name for client in registered() if client.package and client.releases} | {"apache-kafka"} == set(NAMES)
    assert all(subject.package and subject.release for subject in packages())


def test_a_subject_with_a_newer_release_is_listed_and_one_that_is_the_newest_is_not() -> None:
    def newest(language: str, package: str, *, registered: str) -> str | None:
        return "999.0.0" if package == "kafkajs" else registered

    assert [row["name"] for row in outdated(NAMES, newest)] == ["kafkajs"]
    assert next(outdated(NAMES, newest))["state"] == "the registry has 999.0.0"


def test_an_older_release_of_the_registry_is_none_to_register() -> None:
    assert list(outdated(NAMES, lambda _language, _package, *, registered: "0.0.1")) == []


def test_what_could_not_be_asked_is_listed_with_the_reason() -> None:
    def newest(language: str, package: str, *, registered: str) -> str | None:
        if language == "go":
            raise ProvisionError("no go here")
        return None if language == "c" else registered

    states = {row["name"]: row["state"] for row in outdated(NAMES, newest)}
    assert states["franz-go"] == "not asked: no go here"
    assert states["librdkafka"] == "not asked: no registry has it"
    assert "kafkajs" not in states


def test_the_command_lists_them_and_takes_patterns(groupproof: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "groupproof.harness.commands.work.outdated.newest_release"
    monkeypatch.setattr(asked, lambda _language, _package, *, registered: "999.0.0")
    called = groupproof("list", "subjects", "--outdated", "--only", "kafkajs", "--only", "apache-kafka", "--json")

    assert [(row["name"], row["side"], row["newest"]) for row in called.json] == [
        ("kafkajs", "client", "999.0.0"),
        ("apache-kafka", "coordinator", "999.0.0"),
    ]
    assert groupproof("list", "cases", "--outdated").code == 3
