"""The rebalances are provoked anew, on Apache Kafka as it is and with real clients, and told by their right causes from what its brokers log."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest
from tests.harness.judging.diagnosis.provocations import EXPECTED, PROVOCATIONS
from tests.harness.judging.diagnosis.provoked import provoke
from tests.harness.judging.diagnosis.recordings import causes
from tests.harness.judging.diagnosis.test_group_diagnosis import FROM_2_4, NEVER_LOGGED
from tests.harness.judging.diagnosis.trimming import trim

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of
from groupproof.harness.running.importing.import_files import import_files
from groupproof.protocol.trace import write_trace

needs_java = pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="absent: Java and Maven, which run Apache Kafka")


@pytest.mark.soak
@pytest.mark.network
@pytest.mark.java
@needs_java
@pytest.mark.parametrize("release", ["1.1.0", "4.1.0"])
def test_what_is_provoked_again_is_explained_by_its_cause(release: str, tmp_path: Path) -> None:
    done = provoke(release, tmp_path / "run")
    files = done.logs if release == "1.1.0" else [_at_info(log) for log in done.logs]
    log, wire = causes(rebalances_of(import_files(files))), causes(rebalances_of(done.trace))

    for group, expected in EXPECTED.items():
        if release == "1.1.0" and group in FROM_2_4:
            continue
        logged = [Cause.UNREPORTED if release == "1.1.0" and (group, number) in NEVER_LOGGED else cause for number, cause in enumerate(expected)]
        assert log[group][: len(expected)] == logged, group
        assert wire[group][: len(expected)] == list(expected), group


def _at_info(log: Path) -> Path:
    """Return a copy of a broker's log as it is at INFO."""
    kept = log.with_suffix(".info")
    kept.write_text("".join(line for line in log.read_text("utf-8", "replace").splitlines(keepends=True) if " DEBUG " not in line))
    return kept


def test_there_is_a_provocation_for_every_group_and_each_is_of_a_cause_of_its_own() -> None:
    assert set(EXPECTED) == {*PROVOCATIONS, "coordinator-moved"}
    assert len({cause for expected in EXPECTED.values() for cause in expected}) >= 14


def test_what_the_tests_keep_tells_the_same_as_the_whole_run(tmp_path: Path) -> None:
    """Lines that tell of no group, and heartbeats that found nothing, are left out."""
    run = tmp_path / "run"
    run.mkdir()
    form = "[2024-02-15 12:34:56,789] {} [GroupCoordinator 0]: {} (kafka.coordinator.group.GroupCoordinator)\n"
    marker, left = (
        form.format("INFO", "Stabilized group g generation 1 (__consumer_offsets-3)"),
        form.format("DEBUG", "Member m0-1 in group g has left, removing it from the group"),
    )
    (run / "broker-0.log").write_text(marker + form.format("INFO", "Startup complete.") + left)
    (run / "client.log").write_text("noise\n")
    (run / "wire.ndjson").write_text("".join(f"{line}\n" for line in write_trace([])))

    trim(run, tmp_path / "kept")

    assert (tmp_path / "kept/server-0.log").read_text() == marker
    assert gzip.decompress((tmp_path / "kept/debug-0.log.gz").read_bytes()).decode() == left
    assert (tmp_path / "kept/client.log").read_text() == ""
