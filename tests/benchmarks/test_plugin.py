from __future__ import annotations

import pytest
from tests.benchmarks.plugin import START_MS_MAX, started


@pytest.mark.soak
def test_a_session_that_does_not_use_the_plugin_starts_as_fast() -> None:
    with_it, without = started(7)

    assert with_it - without <= START_MS_MAX
