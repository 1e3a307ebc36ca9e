"""The interface through which random histories and plans draw their choices. Hypothesis implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

__all__ = ["ChoiceSource", "weighted_choice"]

Chosen = TypeVar("Chosen")


class ChoiceSource(Protocol):
    """Makes the random choices."""

    def number(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        ...

    def chance(self, of: int) -> bool:
        """Return True one time in `of`."""
        ...

    def one_of(self, options: Sequence[Chosen]) -> Chosen:
        """Return one of the options; there is at least one."""
        ...


def weighted_choice(choices: ChoiceSource, options: Mapping[Chosen, int]) -> Chosen:
    """Return one of the options, with a probability by its weight."""
    return choices.one_of([option for option, weight in options.items() for _ in range(weight)])
