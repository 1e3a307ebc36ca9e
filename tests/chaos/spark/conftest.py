"""One Spark session for all tests of a process: it takes longer to start than they take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from groupproof.harness.java_for_spark import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2,2]"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'groupproof[spark]'")
    if find_java() is None:
        pytest.skip("no Java here that Spark runs on")
    from groupproof.chaos.spark.session import session

    made = session("groupproof tests", master=MASTER)
    yield made
    made.stop()
