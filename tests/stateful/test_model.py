"""The real coordinator does what the naive one does, in every history that Hypothesis can think of."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from tests.soaking import SEED
from tests.stateful.any_history import AnyHistory
from tests.stateful.naive_phases import Release

RELEASES: tuple[Release, ...] = ((4, 1), (3, 9), (2, 5), (2, 4, 1), (1, 1))
STEPS = 40
PARTS = range(4)
"""In which thousands of histories are cut, so that they run side by side."""


def _machine(release: Release) -> type[AnyHistory]:
    return type("AnyHistory", (AnyHistory,), {"release": release})


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_machine_and_model_agree_in_any_history(release: Release) -> None:
    run_state_machine_as_test(_machine(release), settings=settings(max_examples=10, stateful_step_count=STEPS))


@pytest.mark.soak
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("release", RELEASES)
def test_machine_and_model_agree_in_thousands_of_long_histories(release: Release, part: int) -> None:
    machine = hypothesis.seed(SEED + part)(_machine(release))
    run_state_machine_as_test(machine, settings=settings(max_examples=500, stateful_step_count=2 * STEPS))
