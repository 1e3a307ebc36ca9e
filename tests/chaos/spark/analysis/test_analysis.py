from __future__ import annotations

from pathlib import Path

import pytest
from tests.chaos.spark.analysis.findings import results

from groupproof.chaos.spark.analysis import analysis
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.protocol.schemas import validate


def test_the_summary_is_as_its_schema_says() -> None:
    summary = results().to_json()

    validate("analysis", summary)
    assert summary["rebalances"] == {"formed": 6, "members_only": 0, "coordinator_only": 0}
    (zombies,) = (query for query in summary["queries"] if query["name"] == "zombie-commits")
    assert zombies["all"] == [{"outcome": "accepted", "commits": 1, "offsets": 2.5}]
    assert set(zombies["by"]) == {"case", "group", "client", "release", "member"}


def test_a_trace_without_groups_is_empty() -> None:
    assert results(is_empty=True).is_empty
    assert not results().is_empty


def test_what_spark_found_on_the_disk_is_reported_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    from pyspark.errors import PySparkException

    with (
        pytest.raises(BrokenEnvironment, match=r"can't write the analysis to .*: No space left on device; choose another --output"),
        analysis._writable(tmp_path),
    ):
        raise PySparkException("Job aborted.\njava.io.IOException: No space left on device\n at x")
    with pytest.raises(PySparkException, match="else"), analysis._writable(tmp_path):
        raise PySparkException("something else")
    with pytest.raises(BrokenEnvironment, match="Read-only file system"), analysis._writable(tmp_path):
        raise OSError(30, "Read-only file system")
