"""The library, compiled and loaded before a program that writes: only what is below the folder waits, and only while the file says so."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.slow_disk import control_of, prepared, provision_library, slow_down
from groupproof.harness.subjects.processes.folders import Folders

WRITING = """
import os, sys, time
for line in sys.stdin:
    began = time.monotonic()
    with open(line.strip(), "ab", buffering=0) as file:
        file.write(b"x")
        os.fsync(file.fileno())
    print(round((time.monotonic() - began) * 1000), flush=True)
"""
HOUR_MS = 3_600_000
"""No machine is so busy that what is not slowed takes as long."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("cc"), reason="absent: a Linux with a C compiler")
def test_writes_below_the_folder_wait_while_the_file_says_so_and_others_do_not(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    library = provision_library(tmp_path / "cache", print)
    control = control_of(Folders(data=tmp_path, logs=tmp_path), 0)
    env = {**os.environ, **prepared(library, control, tmp_path / "data")}

    with subprocess.Popen([sys.executable, "-I", "-S", "-c", WRITING], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        try:
            slow_down(control, 200)
            assert _took(writer, tmp_path / "data" / "log") >= 400, "a write and its fsync"
            slow_down(control, HOUR_MS)
            assert _took(writer, tmp_path / "beside") < HOUR_MS
            slow_down(control, 0)
            assert _took(writer, tmp_path / "data" / "log") < HOUR_MS
        finally:
            writer.kill()


def _took(writer: subprocess.Popen[str], path: Path) -> int:
    """Return how many milliseconds the writer took; what waits for an hour is not waited for."""
    assert writer.stdin is not None
    assert writer.stdout is not None
    writer.stdin.write(f"{path}\n")
    writer.stdin.flush()
    is_written, _, _ = select.select([writer.stdout], [], [], 120)
    return int(writer.stdout.readline()) if is_written else HOUR_MS


def test_without_a_compiler_it_is_said_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BrokenEnvironment, match=r"no C compiler here, which slows a broker's disk: install a C compiler"):
        provision_library(tmp_path, print)


def test_a_source_that_does_not_compile_is_reported_in_the_compilers_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho no dlfcn.h here >&2; exit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BrokenEnvironment, match=r"can't be compiled: no dlfcn\.h here; install a C compiler"):
        provision_library(tmp_path / "cache", print)


def test_elsewhere_than_on_linux_it_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(BrokenEnvironment, match="only on Linux"):
        provision_library(tmp_path, print)
