"""How the drawing of a history asks for its chances, whoever draws: Hypothesis does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

__all__ = ["Drawer"]

Chosen = TypeVar("Chosen")


class Drawer(Protocol):
    """Decides what is left to chance."""

    def number(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        ...

    def chance(self, of: int) -> bool:
        """Return True one time in `of`."""
        ...

    def one_of(self, options: Sequence[Chosen]) -> Chosen:
        """Return one of the options, of which there is at least one."""
        ...
