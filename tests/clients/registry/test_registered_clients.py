"""The registry: names, aliases, releases, and what each release needs."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.version import Version

from groupproof.clients.registry.registered_clients import (
    RegisteredClient,
    UnknownClient,
    WrongPairing,
    check_profile,
    names,
    nearest_releases,
    newest_fitting,
    registered,
    resolve,
)
from groupproof.protocol.schemas import validate

THIRD_PARTIES = [client for client in registered() if client.shim is not None]
PINNED = {
    "python": r"^[^=]+==[\d.]+$", "java": r"^[^:]+:[^:]+:[\d.]+$", "go": r"^[^@]+@v[\d.]+$", "javascript": r"^@?[^@]+@[\d.]+$",
    "rust": r"^[^@]+@[\d.]+$", "c": r"^(rdkafka-sys@[\d.]+(\+[\d.]+)?|confluent-kafka==[\d.]+|apt:librdkafka(1|-dev)=[\d.]+-1)$",
}  # fmt: skip


def test_a_name_alone_is_the_default_release() -> None:
    client = resolve("kafka-python")

    assert (client.name, client.release, str(client)) == ("kafka-python", "3.0.12", "kafka-python@3.0.12")


def test_a_release_is_chosen_after_an_at_sign() -> None:
    assert resolve("java@3.1.1").release == "3.1.1"
    assert resolve("java@3.1.1").pins()[0] == "org.apache.kafka:kafka-clients:3.1.1"


@pytest.mark.parametrize(("alias", "name"), [("rdkafka", "rust-rdkafka"), ("kafka-clients", "java"), ("reference", "groupproof")])
def test_a_client_is_found_by_its_alias(alias: str, name: str) -> None:
    assert resolve(alias).name == name


def test_a_wrong_name_is_answered_with_the_nearest_right_ones() -> None:
    with pytest.raises(UnknownClient, match=r"no registered client is called 'kafka-pyton'; did you mean kafka-python"):
        resolve("kafka-pyton")


def test_a_name_like_no_other_is_answered_with_all_of_them() -> None:
    with pytest.raises(UnknownClient, match="there are: " + ", ".join(names())):
        resolve("zzz")


def test_a_release_that_is_no_number_is_unknown() -> None:
    with pytest.raises(UnknownClient, match=r"'newest' is not a release number; of java there are .*4\.4\.0"):
        resolve("java@newest")


def test_a_release_newer_than_this_kit_is_left_to_the_package_registry() -> None:
    client = resolve("aiokafka@99.0")

    assert not client.is_listed
    assert client.pins()[0] == "aiokafka==99.0"
    assert nearest_releases(client) == ("0.13.0", "0.14.0")


def test_a_release_of_sarama_from_before_its_cooperative_assignor_is_built_without_it() -> None:
    assert resolve("sarama@1.60.0").environment.build_tags == ("eager_only",)
    assert resolve("sarama@1.60.1").environment.build_tags == ()


def test_the_projects_own_member_has_no_releases() -> None:
    with pytest.raises(UnknownClient, match="has no releases to choose from"):
        resolve("groupproof@0.1")


def test_a_release_older_than_any_that_runs_is_a_wrong_pairing() -> None:
    with pytest.raises(WrongPairing, match=r"kafka-python@1\.0\.2 cannot be run by this kit; its releases from 1\.4\.4 on can"):
        resolve("kafka-python@1.0.2").pins()


@pytest.mark.parametrize(("name", "fitting"), [("sarama@1.38.1", "kafka-3.9"), ("java@4.4.0", "kafka-4.1"), ("java@2.2.2", "kafka-4.1")])
def test_the_newest_profile_of_a_client_is_one_that_it_speaks_to(name: str, fitting: str) -> None:
    profiles = ["kafka-1.1", "kafka-3.9", "kafka-4.0", "kafka-4.1", "datalink"]

    assert newest_fitting(resolve(name), profiles) == fitting
    assert newest_fitting(resolve("java@4.4.0"), ["kafka-1.1", "datalink"]) is None


def test_a_client_that_dropped_old_brokers_is_not_paired_with_one() -> None:
    with pytest.raises(WrongPairing, match=r"java@4\.4\.0 speaks to brokers >=2\.1, not to profile kafka-1\.1"):
        check_profile(resolve("java"), "kafka-1.1")
    check_profile(resolve("java"), "kafka-4.1")
    check_profile(resolve("java@3.9.1"), "kafka-1.1")
    check_profile(resolve("java"), "datalink")


def test_one_client_can_stand_on_the_data_of_another() -> None:
    verifiable, client = resolve("verifiable-confluent"), resolve("confluent-kafka")

    assert (verifiable.package, verifiable.releases, verifiable.environments) == (client.package, client.releases, client.environments)
    assert (verifiable.level, verifiable.multi, verifiable.shim != client.shim) == (0, False, True)


@pytest.mark.parametrize("entry", THIRD_PARTIES, ids=str)
def test_every_listed_release_has_an_environment_with_pinned_parts(entry: RegisteredClient) -> None:
    clients = [resolve(f"{entry.name}@{release}") for release in entry.releases]

    assert [client.release for client in clients if not client.is_listed] == []
    assert [client.release for client in clients if not any(client.release in pin for pin in client.pins())] == []
    assert [pin for client in clients for pin in client.pins() if not re.search(PINNED[client.language], pin)] == []


@pytest.mark.parametrize("entry", THIRD_PARTIES, ids=str)
def test_the_data_of_a_client_is_in_order(entry: RegisteredClient) -> None:
    assert entry.release == entry.default_release == max(entry.releases, key=Version)
    assert list(entry.releases) == sorted(set(entry.releases), key=Version)
    assert entry.multi is (entry.members_max > 1)


@pytest.mark.parametrize("name", names())
def test_every_client_ships_an_expectations_file_of_the_contracts_form(name: str) -> None:
    validate("expectations", tomllib.loads(resolve(name).expectations.read_text("utf-8")))
