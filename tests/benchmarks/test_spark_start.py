"""That the tuned session starts as much faster as it is worth; alone on the machine, so in the soak."""

from __future__ import annotations

import pytest
from tests.benchmarks.spark_start import RATIO_MAX, ratio


@pytest.mark.soak
@pytest.mark.java
def test_a_tuned_session_is_up_in_three_quarters_of_the_default_time() -> None:
    pytest.importorskip("pyspark")

    found, times = ratio(3)

    assert found <= RATIO_MAX, times
