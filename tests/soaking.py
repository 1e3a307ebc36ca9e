"""The seed of `make soak`: a commit, so that each is searched elsewhere and any run can be had again.

It comes by the environment (`GROUPPROOF_SOAK`), is printed first, and stands in each failure as the line that has just that test again. Hypothesis
and pytest-randomly are given it whole; a test that counts seeds itself begins at `SEED`, one that is cut into parts gives each part its own.
"""

from __future__ import annotations

import os
import shlex
import zlib
from typing import Final

__all__ = ["NAME", "SEED", "SOAKS", "replay_line", "seeds"]

NAME: Final = os.environ.get("GROUPPROOF_SOAK", "")
"""The commit, or what `make soak SEED=...` says; empty wherever else tests are run."""

SOAKS: Final = bool(NAME)
SEED: Final = zlib.crc32(NAME.encode())


def seeds(count: int, *, part: int = 0) -> range:
    """Return as many seeds, for each part others."""
    return range(SEED + part * count, SEED + (part + 1) * count)


def replay_line(nodeid: str) -> str:
    return f"make soak SEED={NAME} ARGS={shlex.quote(shlex.quote(nodeid))}"
