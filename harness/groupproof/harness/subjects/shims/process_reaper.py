"""A process that outlives the kit for a moment: it ends the programs that the kit could not end because the kit was killed.

A client's process that is stopped (SIGSTOP) does not notice that its standard input ends, and would stay forever; so would a paused container. The
reaper holds the other end of a pipe. When that closes, it kills the process groups and removes the containers and folders that are still kept. Run
by its path, this file is that process. It reads lines: `+ group 4711`, `- group 4711`, `+ container NAME`, `+ folder PATH`, …
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import IO

__all__ = ["ProcessReaper", "main", "process_reaper"]

_REMOVAL_S = 30
_TRIES = 50
_PAUSE_S = 0.1


def main(lines: Iterable[str]) -> None:
    """Follow `lines` to their end, then end everything that is kept."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    kept: dict[tuple[str, str], None] = {}
    for line in lines:
        sign, kind, name = line.rstrip("\n").split(" ", 2)
        if sign == "+":
            kept[kind, name] = None
        else:
            kept.pop((kind, name), None)
    for group in _of(kept, "group"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(int(group), signal.SIGKILL)
    if containers := _of(kept, "container"):
        with suppress(OSError, subprocess.SubprocessError):
            argv = ["docker", "rm", "--force", "--volumes", *containers]
            subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_REMOVAL_S, check=False)
    for folder in _of(kept, "folder"):
        _remove(folder)


def _of(kept: Iterable[tuple[str, str]], kind: str) -> list[str]:
    return [name for text, name in kept if text == kind]


def _remove(folder: str) -> None:
    """Remove a folder into which a process that is being ended may still write."""
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            return
        time.sleep(_PAUSE_S)


class ProcessReaper:
    """The kit's end of the pipe. The process starts with the first kept item. If it is gone, it is restarted with all items."""

    def __init__(self) -> None:
        self._kept: dict[str, None] = {}
        self._process: subprocess.Popen[str] | None = None

    def keep(self, kind: str, name: object) -> None:
        """Keep a process `group`, a `container` or a `folder`."""
        self._kept[f"{kind} {name}"] = None
        if self._process is None or self._process.poll() is not None:
            argv = [sys.executable, "-I", "-S", __file__]
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, start_new_session=True
            )
            self._tell(*(f"+ {name}" for name in self._kept))
        else:
            self._tell(f"+ {kind} {name}")

    def let_go(self, kind: str, name: object) -> None:
        """Stop keeping it: it has ended."""
        self._kept.pop(f"{kind} {name}", None)
        self._tell(f"- {kind} {name}")

    def close(self) -> None:
        """Let the process end everything that is still kept, and wait for it."""
        if self._process is not None:
            with suppress(OSError):
                self._input.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_REMOVAL_S)
        self._process = None

    def _tell(self, *lines: str) -> None:
        with suppress(BrokenPipeError):
            self._input.write("".join(f"{line}\n" for line in lines))
            self._input.flush()

    @property
    def _input(self) -> IO[str]:
        assert self._process is not None
        assert self._process.stdin is not None
        return self._process.stdin


process_reaper = ProcessReaper()
"""The reaper of this process."""

atexit.register(process_reaper.close)


if __name__ == "__main__":
    main(sys.stdin)
