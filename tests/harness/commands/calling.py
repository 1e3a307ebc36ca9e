"""What a call of the command line leaves, and command lines of shims that are odd."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def odd(oddity: str) -> tuple[str, ...]:
    """Return the end of a command line that names a shim which is odd in one way."""
    return ("--", sys.executable, str(ODD_SHIM), oddity)
