"""Whether a run that was ended leaves anything behind: processes by a mark in their environment, and its folder."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import uuid
from pathlib import Path

__all__ = ["MARK", "ended_by", "marked", "wait_until_gone"]

MARK = "GROUPPROOF_TEST_MARK"
_GONE_MS = 30_000


def marked(mark: str) -> list[int]:
    """Return the processes that have the mark, those excepted that have ended and wait to be asked for it."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _has(Path("/proc", name), mark)]


def _has(process: Path, mark: str) -> bool:
    try:
        return f"{MARK}={mark}".encode() in (process / "environ").read_bytes()
    except OSError:
        return False


def wait_until_gone(pid: int) -> None:
    """Wait, half a minute at most, until a process has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)
        waiting.poll(_GONE_MS)
    finally:
        os.close(handle)


def ended_by(number: int, cache: Path, image: str = "") -> tuple[int, int, list[int], bool]:
    """Let the fake kit come to the middle of its run and signal it: return how many processes it had, its status, those left, and whether its folder is."""
    mark = uuid.uuid4().hex
    argv = [sys.executable, str(Path(__file__).with_name("fake_kit.py")), str(cache), image]
    env = {**os.environ, MARK: mark, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=env, start_new_session=True) as kit:
        assert kit.stdout is not None
        folder = Path(kit.stdout.readline().strip())
        had = marked(mark)
        assert folder.is_dir()
        kit.send_signal(number)
        status = kit.wait(300)
    for pid in had:
        wait_until_gone(pid)
    return len(had), status, marked(mark), folder.exists()
