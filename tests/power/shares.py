"""What is run each time, and what is left to `make soak`: a share drawn by name, so that it is the same on every machine and another one for each variant.

Outside the soak its rows are not made at all: each of five workers would collect thousands of tests to leave them out.
Where a row is another program, that starts for seconds, or a second look at what was tried, the share is another one with each commit (`in_turn`).
"""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final, TypeVar

import pytest
from _pytest.mark import ParameterSet
from tests.project import ROOT
from tests.soaking import SOAKS

__all__ = ["PARTS", "in_turn", "is_drawn", "is_in_turn", "of_this_run", "parts"]

Row = TypeVar("Row", bound=tuple[Any, ...])


def of_this_run(rows: Iterable[ParameterSet]) -> list[ParameterSet]:
    """Return the rows without those that only the soak runs, where this is none."""
    return [row for row in rows if SOAKS or not any(getattr(mark, "name", "") == pytest.mark.soak.name for mark in row.marks)]


PARTS: Final = of_this_run([pytest.param(True, id="share"), pytest.param(False, id="rest", marks=pytest.mark.soak)])
"""For a test that goes through many cases: whether it takes the share, or all the others."""


def is_drawn(name: str, share: int) -> bool:
    """Tell whether a name belongs to the one in `share` that is run each time."""
    return zlib.crc32(name.encode()) % share == 0


def parts(item: Iterable[Row], is_in_share: Callable[[Row], bool]) -> list[ParameterSet]:
    """Return parameters, those outside the share marked for `make soak`."""
    return of_this_run(pytest.param(*one, marks=() if is_in_share(one) else pytest.mark.soak) for one in item)


def in_turn(names: Sequence[str], commit: str | None = None) -> str:
    """Return the name whose turn it is with this commit."""
    return names[zlib.crc32(f"{' '.join(names)} {_commit() if commit is None else commit}".encode()) % len(names)]


def is_in_turn(name: str, share: int, commit: str | None = None) -> bool:
    """Tell whether a name belongs to the one in `share` whose turn it is with this commit."""
    return is_drawn(f"{name} {_commit() if commit is None else commit}", share)


@cache
def _commit() -> str:
    """Return the commit, or nothing where the sources are no clone: then it is the same turn each time."""
    try:
        return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""
