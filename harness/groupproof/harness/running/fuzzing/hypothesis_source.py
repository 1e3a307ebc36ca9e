"""Hypothesis as the source of random choices: the same seed gives the same choices. It comes with the extra `fuzz`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

from groupproof.harness.running.fuzzing.choice_source import ChoiceSource

# Hypothesis asks the garbage collector who refers to a generator. It finds nobody where the collector has set trio's generator aside (`gc_pauses`),
# nor for its own generator in a worker thread. Both live long enough. trio's is registered as Hypothesis is imported.
warnings.filterwarnings("ignore", message="It looks like `register_random` was passed")

import hypothesis  # noqa: E402  # the filter above comes first
import hypothesis.strategies as st  # noqa: E402  # the filter above comes first

__all__ = ["drawn"]

Chosen = TypeVar("Chosen")
Made = TypeVar("Made")


def drawn(make: Callable[[ChoiceSource], Made], *, seed: int, count: int) -> list[Made]:
    """Return `count` results of `make`, the same ones for the same seed; fewer only where no more different ones exist."""
    made: list[Made] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count, phases=(hypothesis.Phase.generate,), database=None, deadline=None, derandomize=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(st.data())
    def collect(data: st.DataObject) -> None:
        made.append(make(_Hypothesis(data)))

    collect()
    return made


class _Hypothesis:
    """Hypothesis as the `ChoiceSource`.

    Numbers are drawn bit by bit: Hypothesis sometimes draws an integer that it found in the source of imported modules, so that the
    same seed would give other numbers beside other modules.
    """

    def __init__(self, data: st.DataObject) -> None:
        self._draw = data.conjecture_data.draw_boolean

    def number(self, low: int, high: int) -> int:
        while (number := low + self._bits((high - low).bit_length())) > high:
            pass
        return number

    def chance(self, of: int) -> bool:
        return self.number(0, of - 1) == of - 1

    def one_of(self, options: Sequence[Chosen]) -> Chosen:
        return options[self.number(0, len(options) - 1)]

    def _bits(self, count: int) -> int:
        number = 0
        for _ in range(count):
            number = 2 * number + self._draw(0.5)
        return number
