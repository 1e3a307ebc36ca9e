"""The real coordinator does what the naive one does, in every history that Hypothesis can think of."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from tests.stateful.any_history import AnyHistory
from tests.stateful.naive_phases import Release

RELEASES: tuple[Release, ...] = ((4, 1), (3, 9), (2, 5), (1, 1))
STEPS = 40


def _check_agreement(release: Release, histories: int, steps: int = STEPS) -> None:
    machine = type("AnyHistory", (AnyHistory,), {"release": release})
    run_state_machine_as_test(machine, settings=settings(max_examples=histories, stateful_step_count=steps))


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_machine_and_model_agree_in_any_history(release: Release) -> None:
    _check_agreement(release, histories=15)


@pytest.mark.soak
@pytest.mark.parametrize("release", RELEASES)
def test_machine_and_model_agree_in_thousands_of_long_histories(release: Release) -> None:
    _check_agreement(release, histories=3_000, steps=80)
