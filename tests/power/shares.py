"""What is run each time, and what is left to `make soak`: a share drawn by name, so that it is the same on every machine and another one for each variant."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import pytest
from _pytest.mark import ParameterSet

__all__ = ["PARTS", "is_drawn", "parts"]

Row = TypeVar("Row", bound=tuple[Any, ...])

PARTS: Final = (pytest.param(True, id="share"), pytest.param(False, id="rest", marks=pytest.mark.soak))
"""For a test that goes through many cases: whether it takes the share, or all the others."""


def is_drawn(name: str, share: int) -> bool:
    """Tell whether a name belongs to the one in `share` that is run each time."""
    return zlib.crc32(name.encode()) % share == 0


def parts(item: Iterable[Row], is_in_share: Callable[[Row], bool]) -> list[ParameterSet]:
    """Return parameters, those outside the share marked for `make soak`."""
    return [pytest.param(*one, marks=() if is_in_share(one) else pytest.mark.soak) for one in item]
