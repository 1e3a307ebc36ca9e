"""A Python in which no package of an extra is installed, as after `make setup` alone: calls `groupproof` with each list of words, and prints what came out.

Reads a JSON list of lists of words; prints for each a line of JSON with the exit code, and what it printed. What runs until Ctrl-C gets one.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import io
import json
import os
import signal
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from groupproof.harness.commands.base.boundary import run
from groupproof.harness.running.extras import EXTRAS

HIDDEN = frozenset(name for names in EXTRAS.values() for name in names)
UNTIL_INTERRUPTED = {"serve", "tap", "worker"}


class Bare(importlib.machinery.PathFinder):
    """Finds everything but the packages of the extras."""

    @classmethod
    def find_spec(cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return None if fullname.partition(".")[0] in HIDDEN else super().find_spec(fullname, path, target)


def called(words: Sequence[str]) -> dict[str, object]:
    output = io.StringIO()
    if UNTIL_INTERRUPTED & set(words[:2]):
        signal.setitimer(signal.ITIMER_REAL, 1.0)
    with contextlib.redirect_stderr(output), contextlib.redirect_stdout(output):
        code = run(words)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return {"words": words, "code": code, "said": output.getvalue()}


if __name__ == "__main__":
    sys.meta_path[:] = [Bare if protocol is importlib.machinery.PathFinder else protocol for protocol in sys.meta_path]
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    for call in json.load(sys.stdin):
        print(json.dumps(called(call)), flush=True)
