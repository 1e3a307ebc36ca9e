"""Imports that leave out what a library would load beside itself, only because it is installed.

kio loads Hypothesis wherever it is there, to register strategies for its types, and `trio.testing` loads pytest: in an environment with both a command
took twice as long to begin, and needed neither.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Final

__all__ = ["without"]

_NOT_THERE: Final[ModuleType] = None  # type: ignore[assignment] # what stands for a module that can't be imported (importlib's reference, `sys.modules`)


@contextmanager
def without(package: str) -> Iterator[None]:
    """Let who imports `package` meanwhile find that it is not installed, unless it has been imported already."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = _NOT_THERE
    try:
        yield
    finally:
        del sys.modules[package]
