"""Named streams of chance, all from one seed: what one part of a run draws never changes what another draws."""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ["Streams"]


class Streams:
    """The streams of one run. A name's stream is the same in every process, whatever PYTHONHASHSEED is."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def named(self, *name: str | int) -> random.Random:
        """Return a new generator at the beginning of the stream of that name."""
        return random.Random(f"{self._seed}/{'/'.join(map(str, name))}")

    def drawing(self, *name: str | int) -> Callable[[], float]:
        """Return what draws from the stream of that name: to seed a generator takes longer than most members of a run live, and few of them draw."""
        chance: random.Random | None = None

        def draw() -> float:
            nonlocal chance
            if chance is None:
                chance = self.named(*name)
            return chance.random()

        return draw
