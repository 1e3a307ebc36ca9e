"""Hypothesis profiles, the same limits everywhere and in CI new examples on each run with a blob that replays a failure; and what is left to `make soak`."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# A busy machine must not fail a property: time is judged by no example.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

SOAKS = os.environ.get("GROUPPROOF_SOAK") == "1"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The tests of `make soak` are those marked so, and no others; everywhere else they are deselected, which pytest counts aloud."""
    left_out = [item for item in items if (item.get_closest_marker("soak") is not None) != SOAKS]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
