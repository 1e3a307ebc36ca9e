"""The command line: `groupproof` (contract, "Commands", "Exit codes"). Heavy modules are imported inside the commands that need them."""

from __future__ import annotations

import gc
import sys

from groupproof.harness.commands.base.boundary import run

__all__ = ["main"]

_NEW_OBJECTS_MAX = 50_000
"""After so many the young ones are looked through, and in their turn the old."""


def main() -> int:
    """Run the command that the process was started with and return its exit code.

    What a command imports and makes at first stays. At Python's threshold the garbage collector looks through all of it dozens of times, an eighth of a
    short command.
    """
    gc.set_threshold(_NEW_OBJECTS_MAX)
    return run(sys.argv[1:])
