"""What a call of the command line leaves, and command lines of shims that are odd."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groupproof.harness.commands.base.boundary import run

ODD_SHIM = Path(__file__).with_name("odd_shim.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """Return the one line on stderr."""
        (line,) = self.err.splitlines()
        return line


Call = Callable[..., Called]


def called(*arguments: str | Path) -> Called:
    """Call `groupproof` in this process, which has imported it already."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = run([str(argument) for argument in arguments])
    return Called(code=code, out=out.getvalue(), err=err.getvalue())


def odd(oddity: str) -> tuple[str, ...]:
    """Return the end of a command line that names a shim which is odd in one way."""
    return ("--", sys.executable, str(ODD_SHIM), oddity)
