"""One Spark session for all tests of a process: it takes longer to start than they take."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groupproof.harness.subjects.java_for_spark import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2,2]"


def _collected() -> None:
    """Let go of what PySpark leaves to the garbage collector here, where that is no test's fault: sockets to the JVM, one a thread and one a result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(here) and item.get_closest_marker("java") is not None:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@pytest.fixture(autouse=True)
def without_leftovers(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if request.node.get_closest_marker("java") is not None:
        _collected()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'groupproof[spark]'")
    if find_java() is None:
        pytest.skip("no Java here that Spark runs on")
    from groupproof.chaos.spark.session import session

    made = session("groupproof tests", master=MASTER)
    yield made
    made.stop()
    _collected()
