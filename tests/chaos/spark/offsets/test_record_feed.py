"""The feed of Spark's file source: nothing is left out, and the times of the files tell their order whatever the clock does."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.harness.subjects.offsets_topic.topic_logs import commit

from groupproof.chaos.spark.offsets.record_feed import RecordFeed
from groupproof.protocol.wire.log_batches import LogRecord


def _rows(*offsets: int) -> list[LogRecord]:
    return [(offset, *commit(offset, "g", 0, offset)) for offset in offsets]


def _fed(feed: RecordFeed) -> list[list[tuple[int, int]]]:
    """Return partitions and offsets by file, the files as Spark sorts them."""
    files = sorted(feed.folder.glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns // 1_000_000)
    return [[(row["partition"], row["offset"]) for row in pq.ParquetFile(file).read().to_pylist()] for file in files]


def test_files_come_in_the_order_in_which_they_were_fed_though_the_clock_is_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed = RecordFeed(tmp_path)
    for offset, seconds in enumerate((1_000.0, 1_000.0, 900.0)):
        monkeypatch.setattr("time.time", lambda seconds=seconds: seconds)
        feed.take(3, _rows(offset))
        feed.take(1, _rows(offset))
        feed.flush()
    feed.flush()
    again = RecordFeed(tmp_path)
    again.take(3, _rows(2, 3))
    again.flush()

    assert _fed(again) == [[(1, 0), (3, 0)], [(1, 1), (3, 1)], [(1, 2), (3, 2)], [(3, 3)]]
    assert again.positions == {3: 4, 1: 3}


def test_a_process_that_was_cut_short_before_it_wrote_its_place_feeds_nothing_twice(tmp_path: Path) -> None:
    feed = RecordFeed(tmp_path)
    feed.take(0, _rows(0))
    feed.flush()
    place = (tmp_path / "feed.json").read_text()
    feed.take(0, _rows(1))
    feed.flush()
    (tmp_path / "feed.json").write_text(place)
    again = RecordFeed(tmp_path)

    assert again.positions == {0: 2}
    again.take(0, _rows(1, 2))
    again.flush()
    assert _fed(again) == [[(0, 0)], [(0, 1)], [(0, 2)]]


def test_files_are_bounded(tmp_path: Path) -> None:
    feed = RecordFeed(tmp_path, rows_max=2)
    for offset in range(5):
        feed.take(0, _rows(offset))
    feed.flush()

    assert [len(rows) for rows in _fed(feed)] == [2, 2, 1]
