"""A new project with one shim and one line of pytest configuration, by the wheel as it comes out of a clean clone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.harness.commands.pytest_plugin.clients_at_hand import ROOT, pytest_in, site_of

from groupproof.clients.registry.registered_clients import EXPECTATIONS

SHIM = ROOT / "clients" / "groupproof" / "clients" / "shims" / "python"
KNOWN = EXPECTATIONS / "kafka-python.toml"
STALE_COMMIT = "rebalance/classic/stale-commit-illegal-generation"
SOME = ("--groupproof-only", STALE_COMMIT)


def _wheel(folder: Path, *, source: Path) -> Path:
    """Build the wheel, and return a folder that holds it installed."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=source, capture_output=True, check=True)
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    zipfile.ZipFile(wheel).extractall(site)
    return site


def _project(folder: Path) -> Path:
    """Make the project: a shim, the known failures, and the line that names them."""
    shutil.copytree(SHIM, folder / "shim")
    (folder / "known.toml").write_text(_known_of_the_newest(), "utf-8")
    (folder / "pytest.ini").write_text("[pytest]\ngroupproof_client = python shim/kafka_python_shim.py\ngroupproof_expect = known.toml\n")
    return folder


def _known_of_the_newest() -> str:
    """Return the known failures without those that one older release has: this project meets that release for the first time."""
    head, *entries = KNOWN.read_text("utf-8").split("[[known]]")
    return "[[known]]".join((head, *(entry for entry in entries if 'subject = "==2.2.3"' not in entry)))


def _check_project(tmp_path: Path, source: Path, *selection: str) -> None:
    green, red = site_of("kafka-python@3.0.12"), site_of("kafka-python@2.2.3")
    site, project = _wheel(tmp_path / "wheel", source=source), _project(tmp_path / "project")

    newest = pytest_in(project, "-rs", *selection, path=f"{site}:{green}")
    older = pytest_in(project, *selection, path=f"{site}:{red}")

    assert newest.returncode == 0, newest.stdout
    assert "kafka-python 3.0.12 by kafka-4.1" in newest.stdout
    assert older.returncode == 1, older.stdout
    failure = older.stdout.partition(f"_ {STALE_COMMIT} _")[2]
    for part in ("requirement  ", "(MUST)", "expected  ", "observed  ", "frames  ", "JoinGroup", "replay  ", "groupproof replay reports/"):
        assert part in failure, older.stdout
    assert "Traceback" not in older.stdout
    written = json.loads((project / "reports" / "kafka-python-2.2.3" / "report.json").read_text())
    assert [case["verdict"] for case in written["cases"] if case["id"] == STALE_COMMIT] == ["FAILED"]


@pytest.mark.slow
def test_one_case_is_green_for_a_release_that_was_mended_and_red_for_the_one_before(tmp_path: Path) -> None:
    _check_project(tmp_path, ROOT, *SOME)


@pytest.mark.soak
@pytest.mark.network
def test_the_whole_suite_is_green_for_the_newest_and_red_for_an_older_one(tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(tmp_path / "clone")], check=True)

    _check_project(tmp_path, tmp_path / "clone")
