"""Spark's own Kafka source for real, in a process of its own: the session of all tests has no connector."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from groupproof.chaos.spark.streaming.streaming_scenario_run import played
from groupproof.chaos.spark.streaming.streaming_scenarios import scenarios
from groupproof.harness.model.errors import WrongUsage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.java
@pytest.mark.network
@pytest.mark.soak
@pytest.mark.parametrize("coordinator", ["groupproof", "apache-kafka@4.1.0"])
def test_every_scenario_is_as_expected(coordinator: str, tmp_path: Path) -> None:
    argv = [
        str(Path(sys.executable).with_name("groupproof")),
        "chaos",
        "spark",
        "all",
        "--coordinator",
        coordinator,
        "--output",
        str(tmp_path),
        "--json",
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=900, check=False)

    assert done.returncode == 0, done.stderr[-2_000:]
    shared = next(scenario for scenario in json.loads(done.stdout)["scenarios"] if scenario["name"] == "shared-group")
    a, b = shared["queries"]
    assert (a["missed"], b["missed"]) == (0, b["due"] // 2)
    assert a["again"] > 0, "the partitions that come back when b goes are new to a, which reads them from their beginning"


def test_a_folder_that_holds_something_else_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(WrongUsage, match=r"holds something else \(thesis\.tex\); choose another --output"):
        played(cast("SparkSession", None), scenarios()[0], None, folder=tmp_path, profile="kafka-4.1", seed=1, topic="t", partitions=4, rate=5)
    assert (tmp_path / "thesis.tex").exists()
