"""Errors that are not about the subject's protocol, by cause. Each kind has its exit code (contract, "Exit codes").

A subject that breaks the protocol never causes an exception; it causes a `Finding`. An exception of this module ends a run or one case of it. Its
message is one line that says what happened and what to do.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = ["BrokenEnvironment", "BrokenShim", "KitFailure", "RunError", "WrongUsage"]


class RunError(Exception):
    """Something that is not the subject's protocol went wrong. `str()` is one line for a person."""

    exit_code: ClassVar[int] = 5


class WrongUsage(RunError):
    """The command line, a user's file, or the pairing makes no sense."""

    exit_code = 3


class BrokenEnvironment(RunError):
    """The environment lacks something: a port, a folder, a runtime, a download."""

    exit_code = 4


class BrokenShim(RunError):
    """The shim reported falsely, broke the contract, or died before its client connected. It proves nothing about the client."""

    exit_code = 4


class KitFailure(RunError):
    """groupproof itself is wrong. The message carries the seed, so that the failure can be repeated."""

    exit_code = 5
