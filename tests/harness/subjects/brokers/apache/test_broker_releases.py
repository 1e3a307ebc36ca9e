from __future__ import annotations

import pytest
from packaging.version import Version

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.brokers.apache.broker_releases import releases
from groupproof.protocol.rules.classic.releases import OPTIONAL, RELEASES
from groupproof.protocol.rules.profiles import default_profiles, profile_of


@pytest.mark.parametrize("release", releases().numbers)
def test_every_known_release_has_one_entry_and_a_profile_of_its_own(release: str) -> None:
    assert len([need for need in releases().needs if need.releases.contains(release)]) == 1
    assert profile_of(Version(release).release) == f"kafka-{Version(release).major}.{Version(release).minor}"


def test_every_profile_has_a_known_release() -> None:
    assert {profile_of(Version(release).release) for release in releases().numbers} == set(default_profiles())
    assert {
        profile_of(Version(release).release, optional=True) for release in releases().numbers if releases().new.releases.contains(release)
    } == set(OPTIONAL)
    assert {release for release in RELEASES.values()} == {Version(release).release for release in releases().numbers}


@pytest.mark.parametrize(
    ("release", "zookeeper", "artifact"),
    [
        ("1.1.0", True, "org.apache.kafka:kafka_2.12:1.1.0"),
        ("2.4.1", True, "org.apache.kafka:kafka_2.12:2.4.1"),
        ("2.8.2", True, "org.apache.kafka:kafka_2.13:2.8.2"),
        ("3.9.1", False, "org.apache.kafka:kafka_2.13:3.9.1"),
        ("4.1.0", False, "org.apache.kafka:kafka_2.13:4.1.0"),
        ("3.5.2", False, "org.apache.kafka:kafka_2.13:3.5.2"),
    ],
)
def test_a_release_tells_its_artifact_and_whether_it_needs_zookeeper(release: str, zookeeper: bool, artifact: str) -> None:
    needs = releases().needs_of(release)

    assert needs.zookeeper is zookeeper
    assert needs.artifacts(release)[0] == artifact
    assert all(artifact.count(":") == 2 for artifact in needs.artifacts(release))


@pytest.mark.parametrize(("release", "stands_in"), [("1.1.0", False), ("2.0.1", True), ("2.3.1", True), ("2.4.1", False)])
def test_a_client_of_zookeeper_stands_in_where_the_releases_own_fails_on_a_newer_java(release: str, stands_in: bool) -> None:
    assert ("org.apache.zookeeper:zookeeper:3.4.10" in releases().needs_of(release).artifacts(release)) is stands_in


def test_an_unknown_release_is_handled_by_its_range() -> None:
    assert releases().needs_of("4.7.0") is releases().needs_of("4.1.0")
    assert releases().needs_of("2.6.0") is releases().needs_of("2.8.2")


def test_a_release_is_followed_by_new_where_it_has_another_coordinator() -> None:
    assert releases().with_new("3.7.2") == ("3.7.2", False)
    assert releases().with_new("3.7.2-new") == ("3.7.2", True)
    with pytest.raises(
        WrongUsage, match=r"apache-kafka@4\.0\.0-new: brokers of .* are available with a new coordinator, others have only one coordinator"
    ):
        releases().with_new("4.0.0-new")


def test_names_are_the_known_releases_and_their_new_coordinators() -> None:
    assert [name for name in releases().names if name not in releases().numbers] == ["3.7.2-new", "3.9.1-new"]


def test_the_default_is_a_known_release() -> None:
    assert releases().default in releases().numbers


def test_images_begin_with_3_7() -> None:
    assert not releases().images.contains("3.6.2")
    assert releases().images.contains("3.7.0")


def test_what_is_no_release_number_is_answered_with_the_nearest_right_ones() -> None:
    with pytest.raises(WrongUsage, match=r"'4\.1\.x' is not a release number; of apache-kafka there are 4\.1\.0, 4\.4\.0"):
        releases().needs_of("4.1.x")


def test_a_release_older_than_any_that_can_be_run_says_which_can() -> None:
    with pytest.raises(WrongUsage, match=r"apache-kafka@0\.8\.2 cannot be run by this kit; 1\.1\.0, "):
        releases().needs_of("0.8.2")
