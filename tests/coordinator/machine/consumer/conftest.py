from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.coordinator.machine.consumer.dialect_at_hand import dialect_is_there


@pytest.fixture(autouse=True)
def _the_dialect_is_there() -> Iterator[None]:
    with dialect_is_there():
        yield
