"""The interface by which a random history asks for its choices. Hypothesis implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

__all__ = ["Drawer", "weighed"]

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


def weighed(drawer: Drawer, options: Mapping[Chosen, int]) -> Chosen:
    """Return one of the options, each as likely as its weight says."""
    return drawer.one_of([option for option, weight in options.items() for _ in range(weight)])
