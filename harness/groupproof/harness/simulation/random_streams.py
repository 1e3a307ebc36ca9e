"""Named random streams from one seed. The draws of one part of a run never change those of another part."""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ["Streams"]


class Streams:
    """The streams of one run. A name's stream is the same in every process, for any PYTHONHASHSEED."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def named(self, *name: str | int) -> random.Random:
        """Return a new generator at the start of the stream with that name."""
        return random.Random(f"{self._seed}/{'/'.join(map(str, name))}")

    def drawing(self, *name: str | int) -> Callable[[], float]:
        """Return a function that draws from the stream with that name.

        It seeds the generator at the first draw, because seeding is slow and few members draw.
        """
        chance: random.Random | None = None

        def draw() -> float:
            nonlocal chance
            if chance is None:
                chance = self.named(*name)
            return chance.random()

        return draw
