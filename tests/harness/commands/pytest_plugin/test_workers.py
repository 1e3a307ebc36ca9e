from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from tests.harness.commands.pytest_plugin import held_run
from tests.harness.commands.pytest_plugin.clients_at_hand import pytest_in
from tests.harness.commands.pytest_plugin.made import CASE, OTHER
from tests.harness.subjects.shims.leaving import MARK, marked, wait_until_gone

pytestmark = pytest.mark.slow

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:randomly", "-p", "no:cacheprovider")
TWO_CASES = (
    "--groupproof-client", "python -m groupproof.clients.shims.reference", "--groupproof-only", CASE.id, "--groupproof-only", OTHER.id,
    "--groupproof-output", "out", "--groupproof-jobs", "1", "--groupproof-timeout", "3600",
)  # fmt: skip
"""One at a time, with an hour for either."""

CONFIGURED = f"[pytest]\ngroupproof_only =\n  {CASE.id}\n  {OTHER.id}\n  find\n  poll\n"


def test_workers_run_each_case_once_and_leave_one_report(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(CONFIGURED)
    (tmp_path / "test_own.py").write_text("def test_own(): pass\n")

    done = pytest_in(tmp_path, "-n", "2", "-W", "error", "--groupproof-client", "groupproof", path="")

    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "reports" / next((tmp_path / "reports").iterdir()).name / "report.json").read_text())
    ids = [case["id"] for case in report["cases"]]
    assert len(ids) == len(set(ids)) == report["totals"]["OK"] > 10
    assert f"{len(ids) + 1} passed" in done.stdout
    assert report["run"]["environment"]["processes"] == 2
    assert not report["run"]["interrupted"]


def test_an_interruption_ends_every_process_and_writes_what_was_reached(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    shutil.copy(held_run.__file__, tmp_path / "conftest.py")
    reading, writing = os.pipe()
    env = {**os.environ, MARK: mark, held_run.HELD: str(writing)}
    running = subprocess.Popen([*PYTEST, *TWO_CASES], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True, pass_fds=(writing,))
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        word = pipe.read(len("held"))  # nothing where pytest has ended before

    had = marked(mark)
    running.send_signal(signal.SIGINT)
    printed, _ = running.communicate()
    for process in had:
        wait_until_gone(process)

    assert word == b"held", printed
    assert running.returncode == 2, printed
    assert len(had) > 1
    assert marked(mark) == []
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["run"]["interrupted"]
    assert len(report["cases"]) == 1


def test_the_first_failure_can_stop_the_rest(tmp_path: Path) -> None:
    variant = "python -m groupproof.clients.shims.reference --variant retries-join-24"
    only = ("--groupproof-only", "join/classic/invalid-group-id", "--groupproof-only", "join/classic/inconsistent-group-protocol")

    done = pytest_in(tmp_path, "-x", "--groupproof-client", variant, *only, "--groupproof-fail-on", "non-strict", path="")

    assert done.returncode == 1, done.stdout
    assert "1 failed" in done.stdout
    assert "stopping after 1 failures" in done.stdout
    assert (tmp_path / "reports").is_dir()
