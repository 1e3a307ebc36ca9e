"""Imports without the optional packages that a library loads only because they are installed.

kio loads Hypothesis to register strategies for its types, and `trio.testing` loads pytest. With both installed a command took twice as long to start,
and needed neither.
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
    """Let imports of `package` fail as if it were not installed, unless it is loaded already."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = _NOT_THERE
    try:
        yield
    finally:
        del sys.modules[package]
