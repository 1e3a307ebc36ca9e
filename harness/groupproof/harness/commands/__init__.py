"""The command line: `groupproof` (contract, "Commands", "Exit codes"). Heavy modules are imported inside the commands that need them."""

from __future__ import annotations

import sys

from groupproof.harness.commands.base.boundary import run

__all__ = ["main"]


def main() -> int:
    """Run the command that the process was started with and return its exit code."""
    return run(sys.argv[1:])
