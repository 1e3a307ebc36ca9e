"""Histories for the tests of fuzzing, drawn without Hypothesis where one chance has to be settled."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.harness.running.fuzzing.histories.model_state import ModelState
from groupproof.protocol.wire.message_codec import VERSIONS

__all__ = ["SETTINGS", "Dice", "model"]

SETTINGS = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}

Chosen = TypeVar("Chosen")


class Dice:
    """A `ChoiceSource` with a seed."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def chance(self, of: int) -> bool:
        return self._random.randrange(of) == 0

    def one_of(self, options: Sequence[Chosen]) -> Chosen:
        return self._random.choice(options)


def model(profile: str = "kafka-4.1") -> ModelState:
    return ModelState(profile=profile, settings=Settings.of(SETTINGS, profile), ranges=VERSIONS, random=random.Random(0))
