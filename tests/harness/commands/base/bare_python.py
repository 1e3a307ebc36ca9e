"""A Python in which no package of an extra is installed, as after `make setup` alone: calls `groupproof` with each list of words, and prints what came out.

Reads a JSON list of lists of words; prints for each a line of JSON with the exit code, and what it printed. What runs until Ctrl-C gets one as soon as
it has nothing to do but to wait.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import io
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import trio

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
    ending = interrupted() if UNTIL_INTERRUPTED & set(words[:2]) else contextlib.nullcontext()
    with contextlib.redirect_stderr(output), contextlib.redirect_stdout(output), ending:
        code = run(words)
    return {"words": words, "code": code, "said": output.getvalue()}


class CtrlC(trio.abc.Instrument):
    """Interrupts this process as soon as all of its tasks wait."""

    def before_io_wait(self, timeout: float) -> None:
        if timeout > 0:
            trio.lowlevel.remove_instrument(self)
            os.kill(os.getpid(), signal.SIGINT)


@contextlib.contextmanager
def interrupted() -> Iterator[None]:
    """Interrupt the command once it minds signals, and all of its tasks wait."""
    receive: Any = trio.open_signal_receiver

    @contextlib.contextmanager
    def receiving(*signals: signal.Signals) -> Iterator[object]:
        with receive(*signals) as received:
            trio.lowlevel.add_instrument(CtrlC())
            yield received

    trio.open_signal_receiver = receiving  # type: ignore[assignment] # for as long as the command runs
    try:
        yield
    finally:
        trio.open_signal_receiver = receive


if __name__ == "__main__":
    sys.meta_path[:] = [Bare if protocol is importlib.machinery.PathFinder else protocol for protocol in sys.meta_path]
    for call in json.load(sys.stdin):
        print(json.dumps(called(call)), flush=True)
