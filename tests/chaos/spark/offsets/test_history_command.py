"""`groupproof history` over kept records: the page, the summary and its exit codes; and what is wrong usage, told before Spark is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.chaos.spark.offsets.test_record_fold import storm_records
from tests.chaos.spark.offsets.test_record_tables import keep
from tests.harness.commands.calling import Call


def test_a_folder_without_records_is_wrong_usage(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("history", str(tmp_path), "--output", str(tmp_path / "out"))

    assert called.code == 3
    assert "holds no records that groupproof history kept" in called.complaint


def test_what_is_neither_a_folder_nor_an_address_is_wrong_usage(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("history", "nowhere", "--output", str(tmp_path / "out"))

    assert called.code == 3
    assert "'nowhere' is no address" in called.complaint


@pytest.mark.soak
@pytest.mark.java
def test_kept_records_become_a_page_and_a_summary(groupproof: Call, tmp_path: Path) -> None:
    keep(tmp_path / "night" / "records", "0", storm_records(range(1, 8)))
    called = groupproof("history", str(tmp_path / "night"), "--output", str(tmp_path / "out"), "--json")

    assert called.code == 0
    assert called.json == json.loads((tmp_path / "out" / "history.json").read_text())
    assert (called.json["records"], called.json["rebalances"], len(called.json["storms"])) == (7, 7, 1)
    assert "Storms" in (tmp_path / "out" / "history.html").read_text()
