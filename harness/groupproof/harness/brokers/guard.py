"""A program that runs another one, and ends it when whoever started this one is gone, however that ended: by Ctrl-C, a crash, or SIGKILL.

It is started by its path, in an isolated interpreter. Its one argument is JSON: `argv` to run, `after` (commands to run when that has ended),
`remove` (files and folders to delete then). It waits on its standard input: the end of it is the order to end.
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
from contextlib import suppress
from pathlib import Path

__all__ = ["main"]

_PR_SET_PDEATHSIG = 1
_AFTER_S = 30


def main(plan: str) -> int:
    """Run what the plan says and return its exit status, 128 and the signal's number where a signal ended it."""
    given = json.loads(plan)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    process = subprocess.Popen(given["argv"], stdin=subprocess.DEVNULL, preexec_fn=_die_with_this_process)
    threading.Thread(target=_end_with_input, args=(process,), daemon=True).start()
    status = process.wait()
    for argv in given.get("after", ()):
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_AFTER_S, check=False)
    for each in map(Path, given.get("remove", ())):
        with suppress(OSError):
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        # The folder of the whole run goes with the last of its nodes.
        with suppress(OSError):
            each.parent.rmdir()
    return status if status >= 0 else 128 - status


def _die_with_this_process() -> None:
    """On Linux the kernel sees to it that even SIGKILL of this process ends the child; the signals ignored here are the child's again."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _end_with_input(process: subprocess.Popen[bytes]) -> None:
    """Ask the program to end in order at a word on the input, and end it at once when the input ends."""
    while os.read(0, 4096):
        process.terminate()
    process.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
