"""A program that runs another one and ends it when its own parent is gone, after Ctrl-C, a crash or SIGKILL.

It is started by its path, in an isolated interpreter. Its one argument is JSON: `argv` to run, `again` to run on a restart (else `argv`), `orders`
(commands for pause, resume and kill, where a signal to the program is not enough), `after` (commands to run when all has ended), `remove` (files
and folders to delete then). It obeys the lines of its standard input, and answers there if that is a socket: pause, resume, kill (which keeps
everything for a restart), start, end. The end of its input is the order to end at once.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["main"]

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)  # loaded here: between fork and exec nothing should take a lock
_ORDER_S = 30
_MOMENT_S = 0.005
_MOMENTS = 6_000
_SIGNALS = {"pause": signal.SIGSTOP, "resume": signal.SIGCONT, "kill": signal.SIGKILL}


def main(plan: str) -> int:
    """Run the plan and return its exit status: 128 plus the signal's number where a signal ended it."""
    arguments = json.loads(plan)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    program = _Program(arguments)
    threading.Thread(target=_obey, args=(program,), daemon=True).start()
    status = program.wait()
    for argv in arguments.get("after", ()):
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ORDER_S, check=False)
    for path in map(Path, arguments.get("remove", ())):
        with suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        # The folder of the whole run is deleted with the last of its nodes.
        with suppress(OSError):
            path.parent.rmdir()
    return status if status >= 0 else 128 - status


class _Program:
    """The program, in its own process group. One thread calls `wait`, another the orders."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._plan = plan
        self._process = _spawned(plan["argv"])
        self._is_kept = False
        self._is_over = False
        self._wanted = threading.Event()
        self._begun = threading.Event()

    def wait(self) -> int:
        """Wait until it ends, and restart it as long as that is ordered. Return the last exit status."""
        while True:
            status = self._process.wait()
            if self._is_kept:
                self._wanted.wait()
            if not self._is_kept or self._is_over:
                return status
            self._wanted.clear()
            self._is_kept = False
            self._process = _spawned(self._plan.get("again", self._plan["argv"]))
            self._begun.set()

    def pause(self) -> None:
        self._do("pause")

    def resume(self) -> None:
        self._do("resume")

    def kill(self) -> None:
        self._is_kept = True
        try:
            self._do("kill")
            self._process.wait(_ORDER_S)
        except BaseException:
            self._is_kept = False
            raise

    def start(self) -> None:
        if self._is_kept:
            self._begun.clear()
            self._wanted.set()
            self._begun.wait(_ORDER_S)

    def end(self) -> None:
        """Ask it to end in order."""
        self._signal(signal.SIGCONT)
        self._process.terminate()

    def end_at_once(self) -> None:
        self._is_over = True
        self._wanted.set()
        self._signal(signal.SIGKILL)

    def _do(self, order: str) -> None:
        argv = self._plan.get("orders", {}).get(order)
        if argv is None:
            self._signal(_SIGNALS[order])
            if order == "pause":
                self._wait_until_stopped()
            return
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ORDER_S, check=False)
        if done.returncode != 0:
            raise OSError(" ".join((done.stderr or done.stdout).split())[-300:])

    def _wait_until_stopped(self) -> None:
        """Return when it is stopped. On a busy computer that takes a moment."""
        waitid: Any = getattr(os, "waitid", None)  # not on every macOS
        with suppress(ChildProcessError):
            for _ in range(_MOMENTS if waitid else 0):
                if waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOHANG):
                    return
                time.sleep(_MOMENT_S)

    def _signal(self, number: int) -> None:
        process = self._process
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)


def _spawned(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, preexec_fn=_die_with_this_process, process_group=0)


def _die_with_this_process() -> None:
    """On Linux the kernel ends the child even if SIGKILL ends this process. The child again handles the signals that are ignored here."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _obey(program: _Program) -> None:
    """Obey each line of the input, and end the program at once when the input ends."""
    orders: dict[str, Callable[[], None]] = {name: getattr(program, name) for name in ("pause", "resume", "kill", "start", "end")}
    try:
        for line in _lines():
            answer = _answer(orders.get(line), line)
            with suppress(OSError):
                os.write(0, f"{answer}\n".encode())
    finally:
        program.end_at_once()


def _answer(order: Callable[[], None] | None, line: str) -> str:
    if order is None:
        return f"there is no order {line!r}"
    try:
        order()
    except (OSError, subprocess.SubprocessError) as error:
        return f"{line} failed: {error}"
    return "done"


def _lines() -> Iterator[str]:
    pending = b""
    with suppress(ConnectionError):
        while some := os.read(0, 4096):
            *whole, pending = (pending + some).split(b"\n")
            yield from (line.decode(errors="replace") for line in whole)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
