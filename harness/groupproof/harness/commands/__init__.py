"""The command line: `groupproof` (contract, "Commands", "Exit codes"). Heavy modules are imported inside the commands that need them."""

from __future__ import annotations

import gc
import sys

from groupproof.harness.commands.base.boundary import run

__all__ = ["main"]

_NEW_OBJECTS_MAX = 50_000
"""The garbage collector's threshold for young objects; older generations follow from it."""


def main() -> int:
    """Run the command line of this process and return its exit code.

    A command's imports and first objects stay. With Python's threshold the garbage collector would walk them dozens of times, an eighth of a
    short command's time.
    """
    gc.set_threshold(_NEW_OBJECTS_MAX)
    return run(sys.argv[1:])
