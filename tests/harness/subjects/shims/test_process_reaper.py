"""What the reaper keeps ends with the kit, be it stopped; what has ended is kept no more."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from groupproof.harness.subjects.shims import process_reaper as module
from groupproof.harness.subjects.shims.process_reaper import ProcessReaper, main

pytestmark = pytest.mark.slow

KEEPING = """
import importlib.util, os, signal, subprocess, sys, time
spec = importlib.util.spec_from_file_location("process_reaper", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
os.killpg(child.pid, signal.SIGSTOP)
module.process_reaper.keep("group", child.pid)
print("kept", flush=True)
time.sleep(600)
"""


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], start_new_session=True) as process:
        yield process
        process.kill()


def test_a_stopped_group_ends_with_the_kit_that_was_killed() -> None:
    argv = [sys.executable, "-I", "-S", "-c", KEEPING, str(module.__file__)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as kit:
        assert kit.stdout is not None
        assert kit.stdout.readline() == "kept\n"
        kit.kill()
        # The child holds the pipe's other end: it closes when the child is gone.
        assert kit.stdout.read() == ""


def test_what_was_let_go_lives_on(sleeper: subprocess.Popen[bytes]) -> None:
    process_reaper = ProcessReaper()
    process_reaper.keep("group", sleeper.pid)
    process_reaper.let_go("group", sleeper.pid)
    process_reaper.close()

    assert sleeper.poll() is None


def test_a_reaper_that_was_killed_is_replaced_by_one_that_knows_all(sleeper: subprocess.Popen[bytes]) -> None:
    process_reaper = ProcessReaper()
    process_reaper.keep("group", sleeper.pid)
    assert process_reaper._process is not None
    with process_reaper._process as process:
        process.kill()
    process_reaper.keep("container", "none")
    process_reaper.close()

    assert sleeper.wait(120) == -signal.SIGKILL


def test_containers_are_removed_and_what_is_not_there_is_no_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    docker = tmp_path / "docker"
    docker.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/told\n')
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    sleeper.kill()
    sleeper.wait()

    main([f"+ group {sleeper.pid}", "+ container a", "+ container b", "- container a", "- container c"])

    assert (tmp_path / "told").read_text() == "rm --force --volumes b\n"
