from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.subjects.brokers.unlike_brokers import unlike

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.brokers.broker_providers import ALIASES, NAMES, _refuted, addressed, meet, subject_named
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.brokers.release_guess import guessed
from groupproof.harness.subjects.brokers.running_broker import AddressedBrokers
from groupproof.harness.subjects.networks.client_properties import Security
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.rules.profiles import api_versions


@pytest.mark.parametrize("name", [*NAMES, *ALIASES])
def test_every_name_has_a_subject_that_keeps_what_the_user_wrote(name: str, tmp_path: Path) -> None:
    subject = subject_named(name, cache=tmp_path)

    assert subject.spec == name
    assert subject.name == ALIASES.get(name, name)
    assert subject.profile.startswith("kafka-")


def test_a_release_is_named_after_the_at() -> None:
    subject = subject_named("apache-kafka@1.1.0")

    assert (subject.release, subject.profile, subject.is_virtual) == ("1.1.0", "kafka-1.1", False)


def test_the_new_coordinator_of_a_release_is_judged_by_a_profile_of_its_own() -> None:
    subject = subject_named("apache-kafka@3.7.2-new")

    assert (subject.release, subject.profile, subject.spec) == ("3.7.2", "kafka-3.7-new", "apache-kafka@3.7.2-new")
    assert subject_named("apache-kafka@3.9.1-new").profile == "kafka-3.9-new"


def test_a_profile_that_is_asked_for_comes_before_the_releases_own() -> None:
    assert subject_named("apache-kafka@4.1.0", profile="kafka-4.0").profile == "kafka-4.0"
    assert subject_named("groupproof", profile="kafka-1.1").profile == "kafka-1.1"


def test_a_wrong_name_is_answered_with_the_nearest_right_ones() -> None:
    with pytest.raises(WrongUsage, match=r"no registered coordinator is called 'apache-kafak@4'; did you mean apache-kafka"):
        subject_named("apache-kafak@4")
    with pytest.raises(WrongUsage, match=r"'zzz'; there are: apache-kafka, .*HOST:PORT"):
        subject_named("zzz")


def test_a_release_that_is_no_number_is_wrong_usage() -> None:
    with pytest.raises(WrongUsage, match="is not a release number"):
        subject_named("apache-kafka@latest")


def test_the_projects_own_coordinator_has_no_releases() -> None:
    with pytest.raises(WrongUsage, match="no releases to choose from"):
        subject_named("groupproof@1.0")


def test_properties_are_for_brokers_that_are_there_already(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="--properties is for a broker that already runs"):
        subject_named("apache-kafka", properties=tmp_path / "client.properties")


def test_addresses_are_brokers_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text("security.protocol=SSL\nssl.truststore.location=/ca.pem\n")
    subject = subject_named("h1:9092, [::1]:9093", properties=tmp_path / "client.properties", profile="kafka-1.1")

    assert isinstance(subject, AddressedBrokers)
    assert subject.bootstrap == [("h1", 9092), ("::1", 9093)]
    assert subject.security == Security(uses_tls=True, ca="/ca.pem")
    assert (subject.profile, subject.is_virtual) == ("kafka-1.1", False)


def test_a_port_that_cannot_be_is_wrong_usage() -> None:
    with pytest.raises(WrongUsage, match="h:99999: a port is a number from 1 to 65535"):
        subject_named("h:99999")


def test_properties_that_cannot_be_read_are_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match=r"--properties .*none\.properties can't be read: .*No such file"):
        subject_named("h:9092", properties=tmp_path / "none.properties")


def test_brokers_that_are_there_are_asked_for_their_versions_unless_the_user_names_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    async def learn(self: AddressedBrokers) -> None:
        self.guess = guessed(api_versions("kafka-2.8"))

    async def reach(self: AddressedBrokers) -> None:
        reached.append(self)

    monkeypatch.setattr(AddressedBrokers, "learn", learn)
    monkeypatch.setattr(AddressedBrokers, "reach", reach)
    reached: list[AddressedBrokers] = []
    lines: list[str] = []
    subject, entry = subject_named("h:9092"), subject_named("h:9092", profile="kafka-4.1")
    for item in (subject, entry, subject_named("groupproof")):
        meet(item, lines.append)

    assert lines == [guessed(api_versions("kafka-2.8")).sentence]
    assert (subject.profile, entry.profile) == ("kafka-2.8", "kafka-4.1")
    assert reached == [entry]


@pytest.mark.parametrize(
    ("claimed", "message"), [({}, ""), ({"group.max.size": "it takes 8 members into a group"}, "is not what h:9092 has: it takes 8 members")]
)
def test_a_setting_that_the_wire_refutes_is_reported_before_anything_is_judged_by_it(
    claimed: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuted(subject: AddressedBrokers, prefix: str) -> dict[str, str]:
        assert (subject.by_hand, prefix) == ({"group.max.size": 3}, "p-")
        return claimed

    async def reach(self: AddressedBrokers) -> None:
        """Answer at once."""

    monkeypatch.setattr(AddressedBrokers, "reach", reach)
    monkeypatch.setattr("groupproof.harness.subjects.brokers.broker_providers._refuted", refuted)
    subject = subject_named("h:9092", profile="kafka-4.1", by_hand=["group.max.size=3"])
    if message:
        with pytest.raises(WrongUsage, match=f"--set group.max.size=3 {message}"):
            meet(subject, print, "p-")
    else:
        meet(subject, print, "p-")


def test_settings_are_for_running_brokers_or_for_the_reference() -> None:
    subject, reference = subject_named("h:9092", by_hand=["group.max.size=3"]), subject_named("groupproof", by_hand=["group.max.size=3"])

    assert isinstance(subject, AddressedBrokers)
    assert isinstance(reference, ReferenceBrokers)
    assert subject.by_hand == reference.own == {"group.max.size": 3}
    with pytest.raises(WrongUsage, match="--set is for a broker that already runs; the kit starts kfake"):
        subject_named("kfake", by_hand=["group.max.size=3"])


def test_brokers_that_are_there_are_named_by_their_addresses_alone() -> None:
    assert addressed("h:1, [::1]:2", None) == ([("h", 1), ("::1", 2)], Security())
    with pytest.raises(WrongUsage, match="write HOST:PORT"):
        addressed("apache-kafka", None)


@pytest.mark.parametrize(
    ("claimed", "why"),
    [
        (3, "at broker 1, the broker has 9, 3 is needed"),
        (9, "at broker 0, the broker has 3, 9 is needed"),
        (5, "the broker has 3, 5 is needed"),
    ],
)
def test_a_setting_that_one_of_the_brokers_does_not_have_is_refuted_with_the_broker(claimed: int, why: str) -> None:
    found: dict[str, str] = {}

    async def main() -> None:
        by_hand = {"group.max.size": claimed}
        async with unlike([{"group.max.size": 3}, {"group.max.size": 9}], by_hand=by_hand) as subject:
            found.update(await _refuted(subject, "p-"))

    run_virtually(main, seed=1)

    assert found == {"group.max.size": why}
