"""`groupproof history` over kept records: the page and the summary; and what is wrong usage, told before Spark is started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.chaos.spark.conftest import MASTER
from tests.chaos.spark.offsets.test_partition_files import keep
from tests.chaos.spark.offsets.test_record_fold import storm_records

from groupproof.chaos.spark.offsets.history_command import PAGE, SUMMARY, command
from groupproof.harness.model.errors import WrongUsage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("source", ["empty", "nowhere"])
def test_what_holds_no_records_and_what_is_no_address_is_wrong_usage(source: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    named = str(tmp_path / source) if source == "empty" else source
    ran = CliRunner().invoke(command, [named, "--output", str(tmp_path / "out")], standalone_mode=False)

    assert isinstance(ran.exception, WrongUsage)
    assert ("holds neither records" if source == "empty" else "'nowhere' is no address") in str(ran.exception)


@pytest.mark.soak
@pytest.mark.java
def test_kept_records_become_a_page_and_a_summary(spark: SparkSession, tmp_path: Path) -> None:
    keep(tmp_path / "night" / "records", "0", storm_records(range(1, 8)))
    ran = CliRunner().invoke(
        command, [str(tmp_path / "night"), "--output", str(tmp_path / "out"), "--master", MASTER, "--json"], standalone_mode=False
    )

    assert ran.exception is None, ran.output
    assert ran.return_value == 0
    summary = json.loads((tmp_path / "out" / SUMMARY).read_text())
    assert (summary["records"], summary["rebalances"], len(summary["storms"])) == (7, 7, 1)
    assert "Storms" in (tmp_path / "out" / PAGE).read_text()
    assert spark.read.parquet(str(tmp_path / "out" / "all-facts")).where("kind = 'rebalance'").count() == 7
