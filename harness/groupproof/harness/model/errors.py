"""What can go wrong beside the subject's protocol, by whose fault it is; each kind has its exit code (contract, "Exit codes").

A subject that breaks the protocol is never an exception: it is a `Finding`. What is raised here ends a run, or one case of it, and is told
in one line that says what was met and what to do.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = ["BrokenEnvironment", "BrokenShim", "KitFailure", "RunError", "WrongUsage"]


class RunError(Exception):
    """Something that is not the subject's protocol went wrong; `str()` is one line for a person."""

    exit_code: ClassVar[int] = 5


class WrongUsage(RunError):
    """The command line, a file given by the user, or the pairing makes no sense."""

    exit_code = 3


class BrokenEnvironment(RunError):
    """The machine lacks something: a port, a folder, a runtime, a download."""

    exit_code = 4


class BrokenShim(RunError):
    """The shim lied, broke the contract, or died before its client spoke: it says nothing about the client."""

    exit_code = 4


class KitFailure(RunError):
    """groupproof itself is wrong; the message carries the seed, so that the failure can be repeated."""

    exit_code = 5
