"""The container engine for tests that need one: absent, they say so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from groupproof.chaos.images.container_engine import Engine, engine
from groupproof.harness.model.errors import BrokenEnvironment

__all__ = ["running_engine"]


@pytest.fixture(scope="session")
def running_engine() -> Iterator[Engine]:
    try:
        with engine() as containers:
            yield containers
    except BrokenEnvironment as error:
        pytest.skip(f"absent: {error}")
