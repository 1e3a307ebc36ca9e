"""What one request touches on its way through the product: which calls are made in which files, between two instants.

A reader who follows the request opens these files and changes between them so often. Text that was compiled from a message's shape is no file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

from tests.project import ROOT

COMPONENTS = ("protocol", "coordinator", "clients", "harness", "chaos")


@dataclass(slots=True)
class Way:
    """The calls in their order: the file of each, from the component on, and the function."""

    calls: list[tuple[str, str]] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        """Return the files in the order in which they are come to first."""
        return list(dict.fromkeys(file for file, _ in self.calls))

    @property
    def changes(self) -> int:
        """Return how often the next call is in another file."""
        return sum(before != after for (before, _), (after, _) in pairwise(self.calls))

    def called(self, function: str) -> int:
        """Return how often a function was called."""
        return sum(name == function for _, name in self.calls)


@contextmanager
def followed() -> Iterator[Way]:
    """Note the product's calls of Python functions on this thread, as long as the context lasts."""
    way = Way()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and (file := _product_file(code.co_filename)) is not None:
            way.calls.append((file, code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield way
    finally:
        sys.setprofile(before)


def _product_file(name: str) -> str | None:
    path = Path(name)
    if not path.is_relative_to(ROOT):
        return None
    file = path.relative_to(ROOT)
    return file.as_posix() if file.parts[0] in COMPONENTS else None
