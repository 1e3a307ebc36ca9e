"""Sticky and cooperative-sticky against Kafka's own, out of the jar of its Java client, over groups drawn by a seed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.clients.real_assignors import SOURCE, Group, drawn, kafkas
from tests.soaking import SEED

from groupproof.clients.assignors.assignment import Assignment
from groupproof.clients.assignors.range_and_roundrobin import ASSIGNORS
from groupproof.clients.registry.install_cache import default_cache, entry
from groupproof.clients.registry.toolchains.java_archives import compile_java, copy_artifacts

RELEASE = "4.1.1"
GROUPS = 2_000

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="absent: Java and Maven, which bring Kafka's own assignors"),
]


@pytest.fixture(scope="module")
def jars() -> Path:
    artifacts = [f"org.apache.kafka:kafka-clients:{RELEASE}", "org.slf4j:slf4j-api:1.7.36", "org.slf4j:slf4j-nop:1.7.36"]
    return entry(default_cache(), f"java/assignors-{RELEASE}", lambda folder: copy_artifacts(artifacts, folder), print)


@pytest.fixture(scope="module")
def classes(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    compile_java(SOURCE, jars, folder)
    return folder


def _ours(group: Group) -> Assignment:
    assignor, members, cluster = group
    return ASSIGNORS[assignor](members, cluster)


@pytest.mark.requirement("ASSIGN-06")
def test_members_of_one_subscription_are_given_what_kafka_gives_them_in_its_order(classes: Path, jars: Path) -> None:
    groups = drawn(SEED, GROUPS, alike=True)

    assert [group for group, theirs in zip(groups, kafkas(groups, classes, jars), strict=True) if _ours(group) != theirs] == []


@pytest.mark.requirement("ASSIGN-06")
def test_members_of_several_subscriptions_are_given_what_kafka_gives_them(classes: Path, jars: Path) -> None:
    groups = drawn(SEED, GROUPS, alike=False)

    pairs = [(group, _sorted(_ours(group)), _sorted(theirs)) for group, theirs in zip(groups, kafkas(groups, classes, jars), strict=True)]
    assert [group for group, ours, theirs in pairs if ours != theirs] == []


def _sorted(assignment: Assignment) -> Assignment:
    """Return the assignment without its order, which no member can tell from another."""
    return {member: sorted(owned) for member, owned in assignment.items()}
