"""The server-side assignors beside Kafka's own classes, over groups that no file holds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.coordinator.server_groups import RELEASES, SOURCE, drawn_groups, kafkas, results_of
from tests.soaking import SEED

from groupproof.clients.registry.install_cache import default_cache, entry
from groupproof.clients.registry.toolchains.java_archives import compile_java, copy_artifacts
from groupproof.coordinator.assignors.spec_order import VIEW_SINCE

GROUPS = 400
MODULES = ("kafka-clients", "kafka-group-coordinator", "kafka-group-coordinator-api", "kafka-server-common", "kafka-coordinator-common")

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="absent: Java and Maven, which bring Kafka's own assignors"),
]


@pytest.mark.parametrize("release", RELEASES)
def test_every_result_is_that_of_kafkas_own_classes(release: str, tmp_path: Path) -> None:
    artifacts = [*(f"org.apache.kafka:{module}:{release}" for module in MODULES), "org.slf4j:slf4j-api:1.7.36", "org.slf4j:slf4j-nop:1.7.36"]
    jars = entry(default_cache(), f"java/server-assignors-{release}", lambda folder: copy_artifacts(artifacts, folder), print)
    compile_java(SOURCE, jars, tmp_path)
    groups = drawn_groups(SEED, GROUPS)
    is_view = tuple(map(int, release.split(".")[:2])) >= VIEW_SINCE

    pairs = zip(groups, kafkas(groups, tmp_path, jars), strict=True)
    assert [group for group, results in pairs if list(results_of(group, is_view=is_view)) != results] == []
