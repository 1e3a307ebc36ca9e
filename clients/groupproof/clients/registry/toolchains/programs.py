"""Runs package registry clients and compilers: one program at a time, with a time limit. A failure becomes one line."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from groupproof.clients.registry.install_cache import ProvisionError

__all__ = ["NoSuchRelease", "Tool", "last_words", "run"]

INSTALL_S_MAX = 900
"""The time limit of one installation in seconds."""


class NoSuchRelease(Exception):
    """The package registry has no such release. `offered` are the releases that it named."""

    def __init__(self, wanted: str, offered: Sequence[str] = ()) -> None:
        super().__init__(wanted)
        self.offered = tuple(offered)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A program that a toolchain needs, its purpose, and the command that installs it.

    `find` locates a program that is not on PATH. `version` are the arguments that print its release, if it has any.
    """

    name: str
    program: str
    needed_for: str
    remedy: str
    version: tuple[str, ...] = ("--version",)
    find: Callable[[], str | None] | None = None

    def path(self) -> str | None:
        """Return the path of the program, or None if it is missing."""
        return shutil.which(self.program) if self.find is None else self.find()

    def required(self) -> str:
        """Return the path of the program. Raise `ProvisionError` with the remedy if it is missing."""
        path = self.path()
        if path is None:
            raise ProvisionError(f"no {self.program} here: {self.remedy}; it is needed for {self.needed_for}")
        return path


def run(argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, without input. Raise `ProvisionError` if it takes too long."""
    try:
        return subprocess.run(
            argv,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_S_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProvisionError(f"{Path(argv[0]).name} took longer than {INSTALL_S_MAX} s: {' '.join(argv[1:4])} …") from None


def last_words(text: str) -> str:
    """Return the first line that reports an error, otherwise the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["nothing was said"]
    return next((line for line in lines if line.lstrip("[").upper().startswith("ERROR")), lines[-1])[:300]
