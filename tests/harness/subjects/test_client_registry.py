from __future__ import annotations

from pathlib import Path

import pytest

from groupproof.clients.registry.provision import Launch, ProvisionError
from groupproof.clients.registry.registered_clients import RegisteredClient
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.subjects import client_registry
from groupproof.harness.subjects.client_registry import Candidate, candidate, check_profile_name, default_profile, shim_of
from groupproof.harness.subjects.subject import ProcessSubject
from groupproof.harness.subjects.verifiable_consumer import VerifiableSubject
from groupproof.protocol.rules.profiles import NEWEST


def named(name: str | None, *program: str, profile: str = "kafka-4.1", shim_level: int | None = None, jobs: int | None = None) -> Candidate:
    return candidate(name, program, profile=profile, seed=1, shim_level=shim_level, jobs=jobs, say=lambda _: None)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every registered client be installed already."""

    def provision(client: RegisteredClient, cache: Path, say: object) -> Launch:
        return Launch(
            argv=("shim", client.release), level=client.level, multi=client.multi, members_max=client.members_max, arguments=client.arguments
        )

    monkeypatch.setattr(client_registry, "provision", provision)


@pytest.mark.usefixtures("installed")
def test_a_registered_client_is_named_by_its_release_and_brings_its_known_failures() -> None:
    found = named("kafka-python@2.2.3")

    assert (found.name, found.release, found.spec) == ("kafka-python", "2.2.3", "kafka-python@2.2.3")
    assert isinstance(found.subject, ProcessSubject)
    assert found.subject.program.argv == ("shim", "2.2.3")
    assert found.expectations is not None
    assert found.expectations.name == "kafka-python.toml"


@pytest.mark.usefixtures("installed")
def test_a_registered_client_of_level_0_is_driven_by_its_options() -> None:
    assert isinstance(named("verifiable-confluent").subject, VerifiableSubject)
    with pytest.raises(WrongUsage, match="leave --shim-level out"):
        named("kafka-python", shim_level=0)
    with pytest.raises(WrongUsage, match="no commands to check"):
        shim_of("verifiable-confluent", lambda _: None)


def test_the_reference_runs_in_virtual_time() -> None:
    found = named("reference", jobs=3)

    assert found.subject.is_virtual
    assert (found.name, found.jobs) == ("groupproof", 3)


@pytest.mark.parametrize(("level", "kind"), [(None, ProcessSubject), (1, ProcessSubject), (0, VerifiableSubject)])
def test_any_program_is_a_subject_and_its_command_line_its_name(level: int | None, kind: type) -> None:
    found = named(None, "/opt/bin/my-shim", "--fast", shim_level=level)

    assert isinstance(found.subject, kind)
    assert (found.name, found.release, found.spec) == ("my-shim", None, ("/opt/bin/my-shim", "--fast"))


@pytest.mark.parametrize(
    ("name", "profile", "message"),
    [
        ("kafka-pyton", "kafka-4.1", "did you mean kafka-python"),
        ("java@4.1.1", "kafka-1.1", "not to profile kafka-1.1"),
        ("kafka-python", "kafka-41", "did you mean kafka-4.1"),
    ],
)
def test_a_wrong_name_or_pairing_is_wrong_usage(name: str, profile: str, message: str) -> None:
    with pytest.raises(WrongUsage, match=message):
        named(name, profile=profile)


def test_without_a_profile_an_old_client_meets_the_newest_broker_that_it_speaks_to() -> None:
    assert [default_profile(named) for named in ("sarama@1.38.1", "java", "no-such-client", None)] == ["kafka-3.9", NEWEST, NEWEST, NEWEST]


def test_what_cannot_be_installed_is_the_environments_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def provision(client: RegisteredClient, cache: Path, say: object) -> Launch:
        raise ProvisionError("no network")

    monkeypatch.setattr(client_registry, "provision", provision)

    with pytest.raises(BrokenEnvironment, match="no network"):
        named("kafka-python")


def test_a_profile_that_is_like_none_is_answered_with_all() -> None:
    with pytest.raises(WrongUsage, match=r"there are kafka-1\.1"):
        check_profile_name("zookeeper")
